import { CliError } from "../../../errors.ts";
import { counted } from "../../../lib/text.ts";
import { getDocument, getIndexingStatus } from "../../../operations/documents.ts";
import type { Input } from "../../../operations/operation.ts";
import {
  documentStatuses,
  indexingStatusOf,
  isIndexed,
  waitForIndexing,
} from "./indexing-status.ts";
import type { DocumentStatus } from "./indexing-status.ts";
import type { Context } from "../../task/command-spec.ts";
import type { waitParams } from "./command.ts";

type WaitInput = Input<typeof waitParams>;

/**
 * Waits until documents are indexed: the given ones, those of a batch, or all of the knowledge base.
 * Yields the final status of each. Throws remote-failed with the server's error if one failed.
 */
export async function* run(input: WaitInput, context: Context): AsyncGenerator<DocumentStatus> {
  const failed: DocumentStatus[] = [];
  let count = 0;
  for await (const status of waitForIndexing(() => statusesOf(input, context), context)) {
    count++;
    if (!isIndexed(status)) failed.push(status);
    yield status;
  }
  const [first] = failed;
  if (first === undefined) return context.summary(`indexed ${counted(count, "document")}`);
  const why = first.error ?? `status is ${first.indexing_status}`;
  throw new CliError(
    "remote-failed",
    `failed to index ${failed.length} of ${count} documents: ${first.name}: ${why}`,
    {
      isResult: true,
      details: { failed },
      hint: "to replace a failed document, add it again under the same name",
    },
  );
}

async function statusesOf(input: WaitInput, context: Context): Promise<DocumentStatus[]> {
  const { dataset_id, document_id, batch } = input;
  if (batch !== undefined) return batchStatuses(dataset_id, batch, context);
  if (document_id === undefined) return documentStatuses(dataset_id, () => true, context);
  const statuses: DocumentStatus[] = [];
  for (const id of document_id) {
    const document = await context.api.call(getDocument, { dataset_id, document_id: id });
    statuses.push(indexingStatusOf(document));
  }
  return statuses;
}

async function batchStatuses(
  dataset_id: string,
  batch: string,
  context: Context,
): Promise<DocumentStatus[]> {
  const statuses: DocumentStatus[] = [];
  for (const each of await context.api.call(getIndexingStatus, { dataset_id, batch })) {
    const { id, indexing_status, error, completed_segments, total_segments } = each;
    const chunks = [completed_segments, total_segments] as const;
    if (indexing_status === "completed" && total_segments === 0) {
      const document = await context.api.call(getDocument, { dataset_id, document_id: id });
      statuses.push({ ...indexingStatusOf(document), chunks });
    } else statuses.push({ id, name: id, indexing_status, error: error ?? null, chunks });
  }
  return statuses;
}
