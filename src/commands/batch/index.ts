/** The batch engine: what `--each` does, for operations and for runs. */
export { batch, beforeSending, formatRowCount } from "./batch.ts";
export type { BatchRow, RowAttempt, RowEnd, RowResult, Sending } from "./batch.ts";
export { withBatchFile } from "./batch-file.ts";
export type { BatchFile } from "./batch-file.ts";
export type { BatchJournal } from "./journal.ts";
export { mapRows } from "./map-rows.ts";
