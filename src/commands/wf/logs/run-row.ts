import type { WorkflowLog } from "../../../operations/workflows.ts";
import { isEnded } from "../../../runs/status.ts";

/** The run of a log row; fields are undefined if the row lacks them. */
export interface LoggedRun {
  readonly run: string | undefined;
  /** The server's status; `purged` if only the log row is left of the run. */
  readonly status: string;
  /** Unix second of the log row, by which the server filters. */
  readonly at: number | undefined;
  /** Duration of an ended run. */
  readonly seconds: number | undefined;
  /** Whether it is unknown, because the run was paused. */
  readonly untimed: boolean;
  readonly tokens: number | undefined;
  readonly steps: number | undefined;
  readonly error: string | undefined;
  readonly version: string | undefined;
  /** End user, or the account's e-mail address. */
  readonly user: string | undefined;
}

/** Unix seconds up to the year 2106. A file may hold any number, and periods are enumerated. */
const isTime = (second: number | null | undefined): second is number =>
  typeof second === "number" && second >= 0 && second < 2 ** 32;

type Run = NonNullable<WorkflowLog["workflow_run"]>;

/** Reads a log row; one of a file may lack any field. */
export function loggedRun(log: Partial<WorkflowLog>): LoggedRun {
  const run: Partial<Run> = log.workflow_run ?? {};
  const status = log.workflow_run === null ? "purged" : (run.status ?? "unknown");
  const ended = isEnded(status);
  return {
    run: run.id || undefined,
    status,
    at: isTime(log.created_at) ? log.created_at : undefined,
    ...(ended ? duration(run) : { seconds: undefined, untimed: false }),
    tokens: ended ? (run.total_tokens ?? undefined) : undefined,
    steps: run.total_steps ?? undefined,
    error: run.error || undefined,
    version: run.version ?? undefined,
    user: log.created_by_end_user?.session_id ?? log.created_by_account?.email,
  };
}

/** Times in whole seconds are off by less than this. */
const ROUNDING_SECONDS = 2;

/**
 * The server's elapsed time, which is exact. For a run that continued after a pause it covers only the
 * last part, and the time from start to finish also covers the wait (server §13).
 */
function duration(run: Partial<Run>): Pick<LoggedRun, "seconds" | "untimed"> {
  const { elapsed_time: elapsed, created_at: started, finished_at: finished } = run;
  const isKnown = typeof started === "number" && typeof finished === "number";
  const span = isKnown ? finished - started : undefined;
  if (typeof elapsed !== "number") return { seconds: span, untimed: false };
  const untimed = span !== undefined && span - elapsed >= ROUNDING_SECONDS;
  return { seconds: untimed ? undefined : elapsed, untimed };
}
