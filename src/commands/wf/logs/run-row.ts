import type { WorkflowLog } from "../../../operations/workflows.ts";
import { isEnded } from "../../../runs/outcome.ts";

/** What an entry of the log tells about a run; undefined where it says nothing. */
export interface LoggedRun {
  readonly run: string | undefined;
  /** The server's word; `purged` where only the entry is left of the run. */
  readonly status: string;
  /** Unix second of the entry, by which the server filters. */
  readonly at: number | undefined;
  /** How long it took, of a run that has ended. */
  readonly seconds: number | undefined;
  /** Are these seconds from start to finish, because the server's own cover only a part? */
  readonly byClock: boolean;
  readonly tokens: number | undefined;
  readonly steps: number | undefined;
  readonly error: string | undefined;
  readonly version: string | undefined;
  /** End user, or the account's e-mail address. */
  readonly user: string | undefined;
}

/** Unix seconds up to the year 2106: a file may hold anything, and time is walked through. */
const isTime = (second: number | null | undefined): second is number =>
  typeof second === "number" && second >= 0 && second < 2 ** 32;

type Run = NonNullable<WorkflowLog["workflow_run"]>;

/** Reads an entry; one of a file may lack any field. */
export function loggedRun(log: Partial<WorkflowLog>): LoggedRun {
  const run: Partial<Run> = log.workflow_run ?? {};
  const status = log.workflow_run === null ? "purged" : (run.status ?? "unknown");
  const ended = isEnded(status);
  return {
    run: run.id || undefined,
    status,
    at: isTime(log.created_at) ? log.created_at : undefined,
    ...(ended ? duration(run) : { seconds: undefined, byClock: false }),
    tokens: ended ? (run.total_tokens ?? undefined) : undefined,
    steps: run.total_steps ?? undefined,
    error: run.error || undefined,
    version: run.version ?? undefined,
    user: log.created_by_end_user?.session_id ?? log.created_by_account?.email,
  };
}

/** Whole seconds differ from the true time by less than one; this much more is another time. */
const another = 2;

/**
 * The server's elapsed time, which is the exact one; but of a run that went on after a pause it is
 * that of the last part, where start and finish span the whole (server §13).
 */
function duration(run: Partial<Run>): Pick<LoggedRun, "seconds" | "byClock"> {
  const { elapsed_time: elapsed, created_at: started, finished_at: finished } = run;
  if (typeof started === "number" && typeof finished === "number") {
    const span = finished - started;
    if (typeof elapsed !== "number" || span - elapsed >= another)
      return { seconds: span, byClock: true };
  }
  return { seconds: elapsed ?? undefined, byClock: false };
}
