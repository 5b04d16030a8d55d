import { formatBytes, sum } from "../../../lib/numbers.ts";
import { counted } from "../../../lib/text.ts";
import type { Action, DocumentChange } from "./change.ts";

/** Planned changes of one kind, and those that were made or failed. */
export interface ChangeCount {
  readonly total: number;
  done: number;
  failed: number;
  /** What they cost: those that have ended, and all. */
  readonly work: { done: number; readonly total: number };
  /** The shares of those under way that were sent. */
  readonly sent: Map<DocumentChange, number>;
}

/** Bytes that take as long to send as a request. */
const BYTES_PER_REQUEST = 2 ** 18;
/** A file of more bytes is named while it is sent. */
const LARGE = 2 ** 20;

/** The cost of a change, in requests. */
const workOf = ({ source, action }: DocumentChange): number =>
  1 + (uploadActions.includes(action) ? (source?.size ?? 0) / BYTES_PER_REQUEST : 0);

/** The count of changes of which none is made. */
export const countOf = (changes: readonly DocumentChange[]): ChangeCount => ({
  total: changes.length,
  done: 0,
  failed: 0,
  work: { done: 0, total: changes.reduce((sum, change) => sum + workOf(change), 0) },
  sent: new Map(),
});

/** How far the changes are; of those under way, their bytes count when they are sent. */
export const progressOf = ({ total, done, failed, work, sent }: ChangeCount) => {
  const underWay = [...sent].map(([change, share]) => share * (workOf(change) - 1));
  return {
    total,
    done: done + failed,
    failed,
    work: { total: work.total, done: work.done + sum(underWay) },
  };
};

/** Counts a change that has ended with this action; one that was skipped is not counted. */
export function countEnded(count: ChangeCount, change: DocumentChange, action: Action): void {
  count.sent.delete(change);
  if (action === change.action) count.done++;
  else if (action === "failed") count.failed++;
  else return;
  count.work.done += workOf(change);
}

/** Counts the bytes of a change under way; returns its name with them: `huge.md, 3.2 MiB of 15.0 MiB`. */
export function countSent(
  count: ChangeCount,
  change: DocumentChange,
  { sent, total }: { readonly sent: number; readonly total: number },
): string {
  count.sent.set(change, sent / total);
  return `${change.name}, ${formatBytes(sent)} of ${formatBytes(total)}`;
}

/** `huge.md, 15.0 MiB` for a file that takes long to send. */
export const largeFile = ({ source, name }: DocumentChange): string | undefined =>
  source && source.size > LARGE ? `${name}, ${formatBytes(source.size)}` : undefined;

/** What a run has done so far, which is also known if it ends early. */
export interface RunTally {
  readonly noun: "file" | "document" | "row";
  readonly uploads: ChangeCount;
  /** Changes of values or status only. */
  readonly updates: ChangeCount;
  readonly deletes: ChangeCount;
  /** Uploaded documents that are known to be indexed. */
  indexed: number;
  /** Writes that were sent and have no response. */
  unknown: number;
  /** Is nothing under way but reading? */
  isIdle: boolean;
}

export const uploadActions: readonly Action[] = ["create", "update"];
export const updateActions: readonly Action[] = ["adopt", "metadata", "chunks"];
export const deleteActions: readonly Action[] = ["delete"];
export const withoutRequest: readonly Action[] = ["skip", "conflict", "failed"];

/** The tally of changes of which none is made. */
export function newTally(changes: readonly DocumentChange[], noun: RunTally["noun"]): RunTally {
  const count = (actions: readonly Action[]): ChangeCount =>
    countOf(changes.filter(({ action }) => actions.includes(action)));
  return {
    noun,
    uploads: count(uploadActions),
    updates: count(updateActions),
    deletes: count(deleteActions),
    indexed: 0,
    unknown: 0,
    isIdle: false,
  };
}

/** `6 of 18 files uploaded (5 indexed), 2 documents deleted, 3 more changes may have been made`. */
export function tallyText({ noun, uploads, updates, deletes, indexed, unknown }: RunTally): string {
  const parts: string[] = [];
  if (uploads.total > 0) {
    const isIndexed = indexed > 0 ? ` (${indexed} indexed)` : "";
    parts.push(`${uploads.done} of ${counted(uploads.total, noun)} uploaded${isIndexed}`);
  }
  if (updates.done > 0) parts.push(`${counted(updates.done, "document")} updated`);
  if (deletes.done > 0) parts.push(`${counted(deletes.done, "document")} deleted`);
  if (unknown > 0) parts.push(`${counted(unknown, "more change")} may have been made`);
  return parts.join(", ");
}
