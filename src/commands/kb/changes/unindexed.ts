import type { CliError } from "../../../errors.ts";
import { pendingHash } from "../documents/index.ts";
import type { DocumentStatus } from "../documents/index.ts";
import { rowOf } from "./change.ts";
import type { Change, DocumentChange } from "./change.ts";
import type { SentDocument } from "./upload.ts";

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
