/** How far a long command is. */
export interface ProgressStep {
  readonly done: number;
  /** Undefined if the total is unknown. */
  readonly total?: number | undefined;
  /** The counted items: `documents`. */
  readonly unit: string;
  /** What is done to them: `Indexing` (default: the verb of the command). */
  readonly verb?: string;
  /** Items that failed; they count as done. */
  readonly failed?: number | undefined;
  /** A further count: `12 of 40 chunks`. */
  readonly note?: string | undefined;
  /** The item that was done last. */
  readonly current?: string | undefined;
}
