import {
  archiveDocuments,
  disableDocuments,
  listDocuments,
} from "../../../operations/documents.ts";
import { indexingStatusOf, isDone, waitForIndexing } from "../documents/index.ts";
import type { DocumentStatus, RateLimitWaiter } from "../documents/index.ts";
import type { SentDocument } from "./upload.ts";
import type { Context } from "../../task/command-spec.ts";

/** The statuses of the documents with these IDs. */
export async function statusesOf(
  ids: Pick<ReadonlySet<string>, "has" | "size">,
  dataset_id: string,
  context: Context,
): Promise<DocumentStatus[]> {
  const statuses: DocumentStatus[] = [];
  // The newest come first, so a first sync finds all of its documents early in the list.
  for await (const document of context.api.rows(listDocuments, { dataset_id })) {
    if (ids.has(document.id)) statuses.push(indexingStatusOf(document));
    if (statuses.length === ids.size) break;
  }
  return statuses;
}

/** Waits for documents that are being indexed: they cannot be changed meanwhile (server §9.4). */
export async function waitUntilEditable(
  updates: readonly SentDocument[],
  dataset_id: string,
  context: Context,
): Promise<void> {
  const busy = updates.filter(({ change }) => change.document && !isDone(change.document));
  const ids = new Set(busy.map(({ id }) => id));
  if (ids.size === 0) return;
  for await (const _ of waitForIndexing(() => statusesOf(ids, dataset_id, context), context)) {
    // any status will do
  }
}

/** Disables and archives documents like those of the export; only indexed ones can be. */
export async function setStatus(
  sent: readonly SentDocument[],
  dataset_id: string,
  waiter: RateLimitWaiter,
  context: Context,
): Promise<void> {
  for (const [operation, flag, value] of [
    [disableDocuments, "enabled", false],
    [archiveDocuments, "archived", true],
  ] as const) {
    const document_ids = sent
      .filter(({ change }) => change.source?.exported?.[flag] === value)
      .map(({ id }) => id);
    if (document_ids.length > 0)
      await waiter(() => context.api.call(operation, { dataset_id, document_ids }));
  }
}
