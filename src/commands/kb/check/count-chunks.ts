/** Numbers of chunks, which a list of documents does not tell (server §9.5). */
import { newCounter } from "../../../api/pages.ts";
import { listChunks } from "../../../operations/chunks.ts";
import { getDocument } from "../../../operations/documents.ts";
import type { Document } from "../../../operations/documents.ts";
import type { InputOf } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { indexingStatusOf, isIndexed } from "../documents/index.ts";
import { isInUse } from "./findings.ts";

/** How many chunks a document has, or how many of some statuses. */
export async function countChunks(
  of: InputOf<typeof listChunks>,
  { api }: Context,
): Promise<number> {
  const counter = newCounter();
  for await (const _ of api.rows(listChunks, of, { limit: 1, counter }));
  return Math.max(counter.total ?? 0, counter.shown);
}

/** The document as its chunks show it. One that is written again has none meanwhile, so its status is read again. */
export async function recounted(
  dataset_id: string,
  document: Document,
  context: Context,
): Promise<Document> {
  if (!isIndexed(indexingStatusOf(document)) || !isInUse(document)) return document;
  const of = { dataset_id, document_id: document.id };
  if (document.word_count === 0 || (await countChunks(of, context)) > 0) return document;
  const now = await context.api.call(getDocument, { ...of, metadata: "without" });
  const isEmpty = now.indexing_status === "completed" && !now.segment_count;
  return isEmpty ? { ...document, word_count: 0 } : document;
}
