import { CliError } from "../../../errors.ts";
import { getDocument, getIndexingStatus, listDocuments } from "../../../operations/documents.ts";
import { waitForIndexing, isIndexed, standingOf } from "./indexing-status.ts";
import type { DocumentProgress } from "./indexing-status.ts";
import type { Context } from "../../command-spec.ts";

/** Input of `kb doc wait`. */
interface WaitInput {
  readonly dataset_id: string;
  readonly document_id?: readonly string[] | undefined;
  readonly batch?: string | undefined;
}

/**
 * Waits until documents are indexed: those named, those of a batch, or every one of the knowledge
 * base. Yields how each ended. Throws remote-failed when one ended in error, with the server's text.
 */
export async function* run(input: WaitInput, context: Context): AsyncGenerator<DocumentProgress> {
  const failed: DocumentProgress[] = [];
  let count = 0;
  for await (const standing of waitForIndexing(() => look(input, context), context)) {
    count++;
    if (!isIndexed(standing)) failed.push(standing);
    yield standing;
  }
  const [first] = failed;
  if (first === undefined) return;
  const why = first.error ?? `it is ${first.indexing_status}`;
  throw new CliError(
    "remote-failed",
    `${failed.length} of ${count} documents were not indexed; ${first.name}: ${why}`,
    {
      isResult: true,
      details: { failed },
      hint: "a document in error is replaced by adding it again under the same name",
    },
  );
}

async function look(input: WaitInput, context: Context): Promise<DocumentProgress[]> {
  const { dataset_id, document_id, batch } = input;
  const found: DocumentProgress[] = [];
  if (document_id !== undefined) {
    for (const id of document_id) {
      const document = await context.call(getDocument, { dataset_id, document_id: id });
      found.push(standingOf(document));
    }
    return found;
  }
  if (batch !== undefined) {
    const inBatch = await context.call(getIndexingStatus, { dataset_id, batch });
    for (const each of inBatch) {
      const { id, indexing_status, error, completed_segments, total_segments } = each;
      const chunks = [completed_segments, total_segments] as const;
      if (indexing_status === "completed" && total_segments === 0) {
        const document = await context.call(getDocument, { dataset_id, document_id: id });
        found.push({ ...standingOf(document), chunks });
      } else found.push({ id, name: id, indexing_status, error, chunks });
    }
    return found;
  }
  for await (const document of context.each(listDocuments, { dataset_id }))
    found.push(standingOf(document));
  return found;
}
