import { CliError, isFatal } from "../../../errors.ts";
import {
  archiveDocuments,
  disableDocuments,
  listDocuments,
} from "../../../operations/documents.ts";
import type { Context } from "../../task/command-spec.ts";
import { indexingStatusOf, isDone, pendingHash, waitForIndexing } from "../documents/index.ts";
import type { DocumentStatus, RateLimitWaiter } from "../documents/index.ts";
import { rowOf } from "./change.ts";
import type { Change, DocumentChange } from "./change.ts";
import type { SentDocument } from "./upload.ts";

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
    // To disable a document again would lock it again (server §9.7): it could never be archived.
    const isSet = ({ document, action }: DocumentChange) =>
      document?.[flag] === value && action !== "chunks";
    const document_ids = sent
      .filter(({ change }) => change.source?.exported?.[flag] === value && !isSet(change))
      .map(({ id }) => id);
    if (document_ids.length > 0)
      await waiter(() => context.api.call(operation, { dataset_id, document_ids }));
  }
}

/** A document whose indexing failed. */
export interface Unindexed {
  readonly sent: SentDocument;
  readonly status: DocumentStatus;
}

/** Does a new document of its name replace it and no other one (server §9.1)? */
export const isReplaceable = ({ sent: { change } }: Unindexed): boolean => {
  const { source, document } = change;
  const isEditable = document === undefined || (document.enabled && !document.archived);
  return isEditable && !source?.exported?.sharesName;
};

/** The hash of content that will be sent or is not indexed yet. */
export const pendingOf = ({ hash }: SentDocument): string => pendingHash(hash);

/** The row of a change that failed, or was not made because of a rate limit. */
export const failed = (change: DocumentChange, { kind, message }: CliError): Change =>
  rowOf(change, { action: kind === "limited" ? "left" : "failed", note: message });

/** Is it complete but for chunks, which it gets from elsewhere? */
export const mayGetChunks = (
  { indexing_status }: DocumentStatus,
  { giveChunks }: { readonly giveChunks?: unknown },
): boolean => giveChunks !== undefined && indexing_status === "completed";

/** Can requests for other documents still succeed? After a rate limit, the results say what is left. */
export function isRecoverable(error: unknown, signal: AbortSignal): error is CliError {
  if (!(error instanceof CliError) || signal.aborted) return false;
  if (error.kind === "limited") return true;
  // All of these requests are for one knowledge base.
  return !isFatal(error) && error.kind !== "auth" && error.kind !== "not-found";
}
