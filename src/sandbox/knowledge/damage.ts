/** What happens to documents on a server without a request for it. */
import { isObject, tryParseJson } from "../../lib/json.ts";
import { ABANDONED, type DocumentRow, type KnowledgeContext } from "./records/knowledge-store.ts";

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
export function abandonDocument({ documents }: KnowledgeContext, json: string): void {
  const given = tryParseJson(json);
  if (!isObject(given) || !statuses.includes(given["status"])) throw new Error(EXPECTED);
  const id = String(given["document"]);
  if (!documents.find({ id })) throw new Error(`there is no document ${id}`);
  const indexing_status = given["status"] as DocumentRow["indexing_status"];
  const error = indexing_status === "error" ? "The worker died." : undefined;
  documents.update({ id }, { indexing_status, error, queued_at: ABANDONED, completed_at: null });
}
