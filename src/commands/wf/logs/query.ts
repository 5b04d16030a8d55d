import { secondsIn, timeOf } from "../../../api/time-windows.ts";
import { CliError } from "../../../errors.ts";
import { valueAt } from "../../../lib/json.ts";
import { wideOnly } from "../../../operations/operation.ts";
import type { Column, InputOf } from "../../../operations/operation.ts";
import { listWorkflowLogs } from "../../../operations/workflows.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import { evaluateCondition, parseCondition } from "../../condition.ts";
import { logFields } from "../log-filters.ts";
import type { LogFilters } from "../log-filters.ts";
import { isEnded } from "../../../runs/outcome.ts";
import type { CallOptions, Context } from "../../command-spec.ts";

/** Seconds for which a run may be late in the log: whoever goes on reading goes back that far. */
export const lateness = 60;

/** What of a log is wanted. */
export interface LogQuery {
  /** What the server is asked for; times are whole seconds in UTC. */
  readonly sent: InputOf<typeof listWorkflowLogs>;
  /** What it cannot be asked for; undefined where it can do all. */
  readonly keeps: ((log: WorkflowLog) => boolean) | undefined;
  /** Unix seconds, both included. */
  readonly since: number | undefined;
  readonly until: number | undefined;
}

/**
 * Parts the filters into what the server does and what is left to do here: conditions, and one of
 * two that it cannot take together (server §12). With `changing`, runs are looked at again when they
 * have ended, so their status is compared here as well. Throws usage.
 */
export function logQuery(
  input: LogFilters,
  { changing }: { readonly changing: boolean } = { changing: false },
): LogQuery {
  const {
    where = [],
    status,
    keyword,
    created_by_end_user_session_id: endUser,
    created_by_account,
  } = input;
  const conditions = where.map((text) => parseCondition("--where", text, logFields));
  const tests: ((log: WorkflowLog) => boolean)[] = conditions.map(
    (condition) => (log) => evaluateCondition(condition, cellOf(log, condition.field)),
  );
  const statusHere = changing && status !== undefined;
  if (statusHere) tests.push((log) => log.workflow_run?.status === status);
  const endUserHere = keyword !== undefined && endUser !== undefined;
  if (endUserHere) tests.push((log) => log.created_by_end_user?.session_id === endUser);

  const since = secondsIn(input.created_at__after, Math.ceil);
  const until = secondsIn(input.created_at__before, Math.floor);
  if (since !== undefined && until !== undefined && since > until) {
    throw new CliError("usage", `--since ${timeOf(since)} is after --until ${timeOf(until)}`, {
      sideEffect: "none",
    });
  }
  return {
    sent: {
      ...(keyword !== undefined && { keyword: asStored(keyword) }),
      ...(status !== undefined && !statusHere && { status }),
      ...(endUser !== undefined && !endUserHere && { created_by_end_user_session_id: endUser }),
      ...(created_by_account !== undefined && { created_by_account }),
      ...(since !== undefined && { created_at__after: timeOf(since) }),
      ...(until !== undefined && { created_at__before: timeOf(until) }),
    },
    keeps: tests.length === 0 ? undefined : (log) => tests.every((test) => test(log)),
    since,
    until,
  };
}

/** Characters of a keyword that the server looks for (server §12). */
const longestKeyword = 30;

/** The server compares with inputs and outputs as it stores them: JSON in ASCII (server §12). */
const asStored = (keyword: string): string =>
  keyword.replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** Says what of a keyword the server does not look at. */
export async function tellKeyword(
  { sent: { keyword = "" } }: LogQuery,
  { notice }: Context,
): Promise<void> {
  if (keyword.length <= longestKeyword) return;
  await notice(
    `the server looks for the first ${longestKeyword} characters of a keyword alone, of which a non-ASCII one takes six: more runs may match`,
  );
}

/** Says which time was understood, where one was given. */
export async function tellTimes(
  { since, until }: Pick<LogQuery, "since" | "until">,
  { notice }: Context,
): Promise<void> {
  const times = [
    ...(since === undefined ? [] : [`since ${timeOf(since)}`]),
    ...(until === undefined ? [] : [`until ${timeOf(until)}`]),
  ];
  if (times.length > 0) await notice(times.join(" "));
}

/** Has the run of this entry ended? One that was purged, or is not told, will not change any more. */
export const hasEnded = ({ workflow_run: run }: WorkflowLog): boolean =>
  !run || run.status === null || isEnded(run.status) || run.finished_at !== null;

/** As much of an entry as is needed to find it again. */
export interface KnownLog {
  readonly id: string;
  readonly workflow_run: { readonly id: string } | null;
  readonly created_at: number;
}

/** The entry as it is now, asked for by its run; undefined when the log does not hold it any more. */
export async function logOf(
  { id, created_at, workflow_run }: KnownLog,
  context: Context,
  options?: CallOptions,
): Promise<WorkflowLog | undefined> {
  const second = timeOf(created_at);
  // Other filters are left out: with that of the end user the server fails (server §12).
  const filters = {
    keyword: workflow_run?.id,
    created_at__after: second,
    created_at__before: second,
  };
  const logs = await context.call(listWorkflowLogs, filters, options);
  return logs.find((log) => log.id === id);
}

/** The columns of `wf logs`, in their order. */
export const logColumns = (
  listWorkflowLogs.returns as { readonly columns: readonly Column<WorkflowLog>[] }
).columns // their rows are logs: the operation says so where it declares them
  .filter((column) => column !== wideOnly)
  .map((column) =>
    typeof column === "string"
      ? { label: column, value: (log: WorkflowLog): unknown => valueAt(log, column) }
      : { label: column[0], value: column[1] },
  );

function cellOf(log: WorkflowLog, label: string): unknown {
  return logColumns.find((column) => column.label === label)?.value(log);
}
