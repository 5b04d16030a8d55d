/** The batch engine: what `--each` does, for operations and for runs; and several things in one command. */
export { batch, beforeSending, formatRowCount, forEachItem } from "./batch.ts";
export { isRowError } from "./batch-run.ts";
export type { Batch } from "./batch.ts";
export type { BatchRow, RowAttempt, RowResult, Sending } from "./batch-run.ts";
export { withBatchFile } from "./batch-file.ts";
export type { BatchFile } from "./batch-file.ts";
export type { BatchJournal } from "./journal.ts";
