import { secondsIn } from "../api/windows.ts";
import { isObject } from "../json.ts";
import { isEnded } from "./run-outcome.ts";

/** What a row of the log tells about a run; undefined where it says nothing. */
export interface LoggedRun {
  /** By which the row is known when it comes again. */
  readonly id: string | undefined;
  readonly run: string | undefined;
  /** The server's word; `purged` where only the row is left of the run. */
  readonly status: string;
  /** Unix second of the row, by which the server filters. */
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

/** Will it change any more? */
export const isOpen = ({ status }: LoggedRun): boolean => !isEnded(status) && status !== "purged";

/**
 * A row as the API gives it, or as `wf logs` prints its columns, numbers and times as text or as
 * they are. Undefined when it is no row of a log.
 */
export function loggedRun(row: unknown): LoggedRun | undefined {
  if (!isObject(row)) return undefined;
  if (Object.hasOwn(row, "workflow_run")) return fromLog(row);
  if (!Object.hasOwn(row, "status")) return undefined;
  return {
    id: text(row["log"]) ?? text(row["run"]),
    run: text(row["run"]),
    at: seconds(row["started"]),
    version: text(row["version"]),
    user: text(row["by"]),
    ...ending(row, {
      started: row["started"],
      finished: row["finished"],
      elapsed: row["elapsed"],
      tokens: row["tokens"],
      steps: row["steps"],
    }),
  };
}

function fromLog(log: Record<string, unknown>): LoggedRun {
  const { workflow_run: run, created_by_end_user: endUser, created_by_account: account } = log;
  const fields = isObject(run) ? run : { status: "purged" };
  return {
    id: text(log["id"]),
    run: text(fields["id"]),
    at: seconds(log["created_at"]),
    version: text(fields["version"]),
    user:
      (isObject(endUser) ? text(endUser["session_id"]) : undefined) ??
      (isObject(account) ? text(account["email"]) : undefined),
    ...ending(fields, {
      started: fields["created_at"],
      finished: fields["finished_at"],
      elapsed: fields["elapsed_time"],
      tokens: fields["total_tokens"],
      steps: fields["total_steps"],
    }),
  };
}

type Measured = Record<"started" | "finished" | "elapsed" | "tokens" | "steps", unknown>;

function ending(fields: Record<string, unknown>, measured: Measured) {
  const status = text(fields["status"]) ?? "unknown";
  const ended = isEnded(status);
  return {
    status,
    ...(ended ? duration(measured) : { seconds: undefined, byClock: false }),
    tokens: ended ? number(measured.tokens) : undefined,
    steps: number(measured.steps),
    error: text(fields["error"]),
  };
}

/** Whole seconds differ from the true time by less than one; this much more is another time. */
const another = 2;

/**
 * The server's elapsed time, which is the exact one; but of a run that went on after a pause it is
 * that of the last part, where start and finish span the whole (server §13).
 */
function duration(measured: Measured): Pick<LoggedRun, "seconds" | "byClock"> {
  const elapsed = number(measured.elapsed);
  const started = seconds(measured.started);
  const finished = seconds(measured.finished);
  if (started === undefined || finished === undefined) return { seconds: elapsed, byClock: false };
  const span = finished - started;
  return elapsed === undefined || span - elapsed >= another
    ? { seconds: span, byClock: true }
    : { seconds: elapsed, byClock: false };
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

function number(value: unknown): number | undefined {
  if (typeof value === "string" && value.trim() === "") return undefined;
  const found = typeof value === "string" ? Number(value) : value;
  return typeof found === "number" && Number.isFinite(found) ? found : undefined;
}

/** Unix seconds, as they are or from ISO 8601. */
const seconds = (value: unknown): number | undefined =>
  number(value) ?? secondsIn(value, Math.floor);
