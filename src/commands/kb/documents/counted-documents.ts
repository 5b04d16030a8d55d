import { newCounter, requireComplete } from "../../../api/pages.ts";
import { listDocuments } from "../../../operations/documents.ts";
import type { Document } from "../../../operations/documents.ts";
import type { Context } from "../../task/command-spec.ts";

/**
 * All documents of a knowledge base; their number is reported while the list is read. Throws failure
 * if the list is known to be incomplete.
 */
export async function* countedDocuments(
  dataset_id: string,
  context: Context,
): AsyncGenerator<Document> {
  const counter = newCounter();
  const all = context.api.rows(listDocuments, { dataset_id }, { counter });
  for await (const document of all) {
    const { shown: done, total } = counter;
    context.progress({ verb: "Reading", done, total, unit: "documents" });
    yield document;
  }
  requireComplete(counter);
}
