/** The batch engine: what `--each` does, for operations and for runs. */
export { batch, beforeSending, formatRowCount, readBatchFile } from "./batch.ts";
export type { BatchFile, BatchRow, RowAttempt, RowEnd, Sending } from "./batch.ts";
export type { BatchJournal } from "./journal.ts";
