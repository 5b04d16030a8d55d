/** What happens to documents on a server without a request for it. */
import { isObject, own, tryParseJson } from "../../lib/json.ts";
import {
  ABANDONED,
  WORD_TABLES,
  type DocumentRow,
  type KnowledgeContext,
} from "./records/knowledge-store.ts";

const statuses: readonly unknown[] = [
  "waiting",
  "parsing",
  "cleaning",
  "splitting",
  "indexing",
  "paused",
  "error",
] satisfies DocumentRow["indexing_status"][];

const EXPECTED = `expected JSON such as {"document": "ID", "status": "indexing"}, with one of: ${statuses.join(", ")}`;

/**
 * Leaves a document in a status, with the chunks that it has, as a worker does that dies in the middle of a
 * rebuild (server §9.6): nothing continues it. Throws an Error with the reason if the JSON is invalid.
 */
function abandon({ documents }: KnowledgeContext, json: string): void {
  const given = tryParseJson(json);
  if (!isObject(given) || !statuses.includes(given["status"])) throw new Error(EXPECTED);
  const id = String(given["document"]);
  if (!documents.find({ id })) throw new Error(`there is no document ${id}`);
  const indexing_status = given["status"] as DocumentRow["indexing_status"];
  const error = indexing_status === "error" ? "The worker died." : undefined;
  documents.update({ id }, { indexing_status, error, queued_at: ABANDONED, completed_at: null });
}

/** What storage can lose, by the name that the JSON gives it. */
const losses: Readonly<Record<string, (context: KnowledgeContext, id: string) => void>> = {
  file({ documents, lostFiles }, id) {
    const { file_id } = documents.find({ id }) ?? missing("document", id);
    lostFiles.add(file_id);
  },
  chunks({ documents, segments }, id) {
    if (!documents.find({ id })) missing("document", id);
    segments.delete({ document_id: id });
  },
  keywords({ datasets, store }, id) {
    if (!datasets.find({ id })) missing("knowledge base", id);
    const rows = "SELECT rowid FROM segments WHERE dataset_id = ?";
    store.run(`DELETE FROM ${WORD_TABLES.segments} WHERE rowid IN (${rows})`, id);
  },
};

function missing(what: string, id: string): never {
  throw new Error(`there is no ${what} ${id}`);
}

/** Loses what the JSON names, without a trace in any list. Throws an Error with the reason if it is invalid. */
function lose(context: KnowledgeContext, json: string): void {
  const given = tryParseJson(json);
  const [[name, id] = ["", ""]] = Object.entries(isObject(given) ? given : {});
  const loss = own(losses, name);
  if (!loss) throw new Error(`expected one of: ${Object.keys(losses).join(", ")}, with an ID`);
  loss(context, String(id));
}

/** The kinds of damage; each throws an Error with the reason if its JSON is invalid. */
export const damages = { abandon, lose };
