import type { CallOptions } from "../../../api/calls.ts";
import { localClock } from "../../../lib/numbers.ts";
import { secondsIn, timeOf } from "../../../api/time-windows.ts";
import { ApiError, CliError, usage } from "../../../errors.ts";
import { readColumns } from "../../../operations/operation.ts";
import type { InputOf } from "../../../operations/operation.ts";
import { listWorkflowLogs } from "../../../operations/workflows.ts";
import type { WorkflowLog, WorkflowRun } from "../../../operations/workflows.ts";
import { parseCondition, readForm, runForms } from "../../conditions/index.ts";
import type { ConditionField, Scope } from "../../conditions/index.ts";
import { isSentStatus, logFields, statusFilter } from "./command.ts";
import type { LogFilters } from "./command.ts";
import { isEnded } from "../../../runs/outcome.ts";
import type { Context } from "../../task/command-spec.ts";
import { recordOf } from "../runs/index.ts";

/** Seconds by which a run may appear late in the log; the next read starts that much earlier. */
export const MAX_LATENESS = 60;

/** The filters of a log. */
export interface LogQuery {
  /** Filters for the server; times are whole seconds in UTC. */
  readonly sent: InputOf<typeof listWorkflowLogs>;
  /** Filters that the server does not support; undefined without any. */
  readonly keeps: ((log: WorkflowLog) => boolean) | undefined;
  /** Unix seconds, both inclusive. */
  readonly since: number | undefined;
  readonly until: number | undefined;
}

/**
 * Splits the filters into those for the server and local ones: conditions, a status that the server
 * does not support, and the end user if there is a keyword, because the server fails with both (server
 * §12). With `changing`, runs are read again once they have ended, so their status is compared locally
 * too. Throws `usage`.
 */
export function logQuery(
  input: LogFilters,
  { changing }: { readonly changing: boolean } = { changing: false },
): LogQuery {
  const { where = [], keyword, created_by_account } = input;
  const endUser = input.created_by_end_user_session_id;
  const conditions = where.map((text) => parseCondition("--where", text, logScope));
  const tests = conditions.map(
    ({ evaluate }) =>
      (log: WorkflowLog): boolean =>
        evaluate(log).passed === true,
  );
  const status = statusFilter(input);
  const sentStatus = !changing && isSentStatus(status) ? status : undefined;
  if (status !== sentStatus) tests.push((log) => log.workflow_run?.status === status);
  const endUserLocally = keyword !== undefined && endUser !== undefined;
  if (endUserLocally) tests.push((log) => log.created_by_end_user?.session_id === endUser);

  const since = secondsIn(input.created_at__after, Math.ceil);
  const until = secondsIn(input.created_at__before, Math.floor);
  if (since !== undefined && until !== undefined && since >= until) {
    throw usage(
      `--since ${timeOf(since)} is not before --until ${timeOf(until)}`,
      "a day begins at 00:00: the whole of yesterday is --since yesterday --until today",
    );
  }
  return {
    sent: {
      ...(keyword !== undefined && { keyword: asStored(keyword) }),
      ...(sentStatus !== undefined && { status: sentStatus }),
      ...(endUser !== undefined && !endUserLocally && { created_by_end_user_session_id: endUser }),
      ...(created_by_account !== undefined && { created_by_account }),
      ...(since !== undefined && { created_at__after: timeOf(since) }),
      ...(until !== undefined && { created_at__before: timeOf(until) }),
    },
    keeps: tests.length === 0 ? undefined : (log) => tests.every((test) => test(log)),
    since,
    until,
  };
}

/** Characters of a keyword that the server compares (server §12). */
const MAX_KEYWORD = 30;

/** The server compares with inputs and outputs as it stores them: JSON in ASCII (server §12). */
const asStored = (keyword: string): string =>
  keyword.replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** Warns that the server compares only the start of a long keyword. */
export async function warnIfKeywordTruncated(
  { sent: { keyword = "" } }: LogQuery,
  { notice }: Context,
): Promise<void> {
  if (keyword.length <= MAX_KEYWORD) return;
  await notice(
    `the server compares only the first ${MAX_KEYWORD} characters of a keyword (non-ASCII characters count as six), so more runs may match`,
  );
}

/** Prints the requested times, which may be relative on the command line; a terminal shows local times. */
export async function noticeTimes(
  { since, until }: Pick<LogQuery, "since" | "until">,
  { notice, options }: Context,
): Promise<void> {
  const zone = options.terminal ? options.timeZone() : undefined;
  const clock = zone === undefined ? timeOf : localClock(zone);
  const times = [
    ...(since === undefined ? [] : [`since ${clock(since)}`]),
    ...(until === undefined ? [] : [`until ${clock(until)}`]),
    ...(zone === undefined ? [] : [`(${zone})`]),
  ];
  if (since !== undefined || until !== undefined) await notice(times.join(" "));
}

/** Whether the run of this row has ended. A purged or unknown run does not change any more. */
export const hasEnded = ({ workflow_run: run }: WorkflowLog): boolean =>
  !run?.status || isEnded(run.status) || run.finished_at !== null;

/** Whether a later request may succeed. */
export function isTransient(error: unknown): error is CliError {
  if (!(error instanceof CliError)) return false;
  if (error.info.retryable === true) return true;
  return error instanceof ApiError ? error.response.status >= 500 : error.kind === "network";
}

/** The fields needed to find a log row again. */
export interface KnownLog {
  readonly id: string;
  readonly workflow_run?: { readonly id: string } | null | undefined;
  readonly created_at: number;
}

/** Requests the current state of a log row by its run; undefined if it left the log. */
export async function logOf(
  { id, created_at, workflow_run }: KnownLog,
  context: Context,
  options?: CallOptions,
): Promise<WorkflowLog | undefined> {
  const second = timeOf(created_at);
  // The server fails for a keyword with the end user filter, so there are no other filters (server §12).
  const filters = {
    keyword: workflow_run?.id,
    created_at__after: second,
    created_at__before: second,
  };
  const logs = await context.api.call(listWorkflowLogs, filters, options);
  return logs.find((log) => log.id === id);
}

/** The run of a log row; null if the server no longer has it. */
export async function runDetail(
  { workflow_run }: WorkflowLog,
  context: Context,
): Promise<WorkflowRun | null> {
  return (workflow_run && (await recordOf(workflow_run.id, context))) ?? null;
}

/** The columns of `wf logs`, in their order. */
export const logColumns = readColumns(listWorkflowLogs.returns.columns);

/** By the label of the column, and by the name of its value in JSON. */
const fields = Object.fromEntries(
  Object.entries(logFields).flatMap(([name, kind]) => {
    const column = logColumns.find(({ label }) => label === name);
    const valueOf = (log: WorkflowLog) => column?.value(log) ?? undefined;
    const read = (log: WorkflowLog) =>
      ({ value: valueOf(log), missing: "differs", actual: "" }) as const;
    return [name, column?.path ?? name].map((each) => [each, { kind, read }] as const);
  }),
) as Readonly<Record<keyof typeof logFields, ConditionField<WorkflowLog>>>; // a field for each key

/** What conditions of --where can be about: the columns of a row. */
const logScope: Scope<WorkflowLog> = {
  fields,
  sentences: { run: (reader) => readForm(reader, runForms, undefined)(fields) },
};

/** The run of a log row; fields are undefined if the row lacks them. */
export type LoggedRun = ReturnType<typeof loggedRun>;

/** Unix seconds up to the year 2106. A file may hold any number, and periods are enumerated. */
const isTime = (second: number | null | undefined): second is number =>
  typeof second === "number" && second >= 0 && second < 2 ** 32;

type Run = NonNullable<WorkflowLog["workflow_run"]>;

/** Times in whole seconds are off by less than this. */
const ROUNDING_SECONDS = 2;

/** Reads a log row; one of a file may lack any field. */
export function loggedRun(log: Partial<WorkflowLog>) {
  const run: Partial<Run> = log.workflow_run ?? {};
  // Only the log row is left of a purged run.
  const status: string = log.workflow_run === null ? "purged" : (run.status ?? "unknown");
  const ended = isEnded(status);
  const { elapsed_time: elapsed, created_at: started, finished_at: finished } = run;
  const isKnown = typeof started === "number" && typeof finished === "number";
  const span = isKnown ? finished - started : undefined;
  const measured = typeof elapsed === "number" ? elapsed : undefined;
  // The server's time is exact, but that of a run which continued after a pause covers only the last
  // part, and the time from start to finish covers the wait, too (server §13).
  const untimed =
    ended && span !== undefined && measured !== undefined && span - measured >= ROUNDING_SECONDS;
  return {
    run: run.id || undefined,
    status,
    /** Unix second of the log row, by which the server filters. */
    at: isTime(log.created_at) ? log.created_at : undefined,
    /** Duration of an ended run. */
    seconds: ended && !untimed ? (measured ?? span) : undefined,
    /** Whether it is unknown, because the run was paused. */
    untimed,
    tokens: ended ? (run.total_tokens ?? undefined) : undefined,
    steps: run.total_steps ?? undefined,
    error: run.error || undefined,
    version: run.version ?? undefined,
    /** End user, or the account's e-mail address. */
    user: log.created_by_end_user?.session_id ?? log.created_by_account?.email,
  };
}
