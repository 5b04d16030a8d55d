import type { Values } from "../../api/request.ts";
import { syncFields } from "../../commands/kb/documents/index.ts";
import { CliError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { groupDigits } from "../../lib/numbers.ts";
import { counted } from "../../lib/plural.ts";
import { deleteDocument, getDocument } from "../../operations/documents.ts";
import { deleteKnowledgeBase, getKnowledgeBase } from "../../operations/knowledge.ts";
import { deleteMetadataField, listMetadataFields } from "../../operations/metadata.ts";
import { deleteTag, listTags } from "../../operations/tags.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import type { Session } from "./session.ts";

/** What is lost with a deleted object, as its prompt and its dry run say it. */
export interface Deletion {
  /** Such as `297 documents, 480,574 words`. */
  readonly size: string;
  /** Name that a prompt wants typed, where much is lost. */
  readonly type?: string | undefined;
}

type Call = (row: AnyOperation, input: Values) => Promise<unknown>;
type Read = (ids: Values, call: Call) => Promise<Deletion | undefined>;

const readers: Readonly<Record<string, Read>> = {
  [deleteKnowledgeBase.id]: async ({ dataset_id }, call) =>
    knowledgeBaseDeletion(await call(getKnowledgeBase, { dataset_id })),

  async [deleteDocument.id]({ dataset_id, document_id }, call) {
    const input = { dataset_id, document_id, metadata: "without" };
    const document = await call(getDocument, input);
    const [chunks] = partsOf(document, [["segment_count", "chunk"]]);
    return chunks === undefined ? undefined : { size: chunks };
  },

  async [deleteMetadataField.id]({ dataset_id, metadata_id }, call) {
    const fields = await call(listMetadataFields, { dataset_id });
    const field = rowWithId(fields, metadata_id);
    const [documents] = partsOf(field, [["count", "document"]]);
    if (documents === undefined) return undefined;
    const isMark = Object.values<unknown>(syncFields).includes(field?.["name"]);
    return { size: `values of ${documents}${isMark ? ", by which kb sync knows them" : ""}` };
  },

  async [deleteTag.id]({ tag_id }, call) {
    const tag = rowWithId(await call(listTags, {}), tag_id);
    // It is text in the responses of most servers (server §10).
    const bound = Number(tag?.["binding_count"] ?? 0);
    return bound > 0 ? { size: `bound to ${counted(bound, "knowledge base")}` } : undefined;
  },
};

/**
 * Reads what is lost with an object; undefined where that is only the object itself, or where the
 * server does not tell. Throws as its requests do.
 */
export const readDeletion = async (
  row: AnyOperation,
  ids: Values,
  { call }: Pick<Session, "call">,
): Promise<Deletion | undefined> => readers[row.id]?.(ids, call);

/** The same without an error: a dry run needs no server where it has IDs. */
export async function tryReadDeletion(
  row: AnyOperation,
  ids: Values,
  session: Pick<Session, "call">,
): Promise<Deletion | undefined> {
  try {
    return await readers[row.id]?.(ids, (each, input) => session.call(each, input, { retries: 0 }));
  } catch (error) {
    if (error instanceof CliError) return undefined;
    throw error;
  }
}

function knowledgeBaseDeletion(kb: unknown): Deletion | undefined {
  if (!isObject(kb) || typeof kb["document_count"] !== "number") return undefined;
  const parts = partsOf(kb, [
    ["document_count", "document"],
    ["word_count", "word"],
  ]);
  if (parts.length === 0) return { size: "no documents" };
  const [users] = partsOf(kb, [["app_count", "application"]]);
  const name = typeof kb["name"] === "string" ? kb["name"] : undefined;
  const size = [...parts, ...(users === undefined ? [] : [`used by ${users}`])].join(", ");
  return { size, type: name };
}

/** `297 documents`, `480,574 words` of the fields of an object that count something. */
function partsOf(object: unknown, counts: readonly (readonly [string, string])[]): string[] {
  if (!isObject(object)) return [];
  return counts.flatMap(([field, noun]) => {
    const count = object[field];
    if (typeof count !== "number" || count === 0) return [];
    return [`${groupDigits(count)} ${noun}${count === 1 ? "" : "s"}`];
  });
}

const rowWithId = (rows: unknown, id: unknown) =>
  Array.isArray(rows) ? rows.filter(isObject).find((row) => row["id"] === id) : undefined;
