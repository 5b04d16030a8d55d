import type { Baseline, HistoryRun } from "./baseline.ts";
import type { SuiteComparison } from "./comparison.ts";
import type { SuiteOutcome } from "./runs/index.ts";

/** What is reported about a run of suites. */
export interface SuiteRun extends SuiteOutcome {
  /** The chance of a false alarm. */
  readonly level: number;
  /** What is said about tests in quarantine. */
  readonly notes: readonly string[];
  /** What --baseline names, and how many comparisons it has seen with this one, if that is known. */
  readonly baseline: (Baseline & { readonly looks: number | undefined }) | undefined;
  /** With a baseline, or with what --against names. */
  readonly compared: SuiteComparison | undefined;
  /** Whether the comparison found something wrong. */
  readonly isAlarm: boolean;
  readonly serverVersion?: string | null | undefined;
  /** What is known of the calibrations of judges. */
  readonly judges: readonly string[];
  /** Earlier results of --history, in the order of time. */
  readonly history: readonly HistoryRun[];
  /** When the tests ended. */
  readonly at: Date;
}
