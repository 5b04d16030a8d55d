import { newIdSet } from "../../../api/id-set.ts";
import { hiddenRows, timeOf } from "../../../api/time-windows.ts";
import { CliError } from "../../../errors.ts";
import type { FileInput } from "../../../operations/operation.ts";
import { listWorkflowLogs } from "../../../operations/workflows.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import { hasEnded, loggedRun, logsOfFile } from "../logs/index.ts";
import type { FiledLog, LogQuery, LoggedRun } from "../logs/index.ts";
import type { LogFilters } from "../log-filters.ts";
import type { Context } from "../../command-spec.ts";

/** Unix seconds, both included. */
export interface TimeSpan {
  readonly since: number;
  readonly until: number;
}

/** Where the runs of the time asked for go, and those of the time before, if it is wanted. */
export interface Sink {
  now(run: LoggedRun): void;
  readonly before: ((run: LoggedRun) => void) | undefined;
}

/** What was read. */
export interface LogSource {
  /** Where no time was asked for, the runs tell. */
  readonly since: number | undefined;
  readonly until: number | undefined;
  readonly before: TimeSpan | undefined;
  /** Why it is not all; a verdict. */
  readonly incomplete: CliError | undefined;
}

/** The time of the same length before this one. */
const before = ({ since, until }: TimeSpan): TimeSpan => ({
  since: since - (until - since + 1),
  until: since - 1,
});

/** Reads the log since a second, then the time before it. */
export async function fromServer(
  { sent, keeps = () => true }: LogQuery,
  since: number,
  sink: Sink,
  context: Context,
): Promise<LogSource> {
  let incomplete: CliError | undefined;
  /** Gives the second up to which it was read: without an end it is the server's now. */
  const read = async (filters: LogQuery["sent"], take: Sink["now"], note?: string) => {
    let until: number | undefined;
    let [shown, missing] = [0, 0];
    for await (const window of context.windows(listWorkflowLogs, filters)) {
      until ??= window.to;
      missing += window.missing;
      shown += window.rows.length;
      for (const log of window.rows) if (keeps(log)) take(loggedRun(log));
      context.progress({ done: shown, total: shown + window.left, unit: "runs", note });
    }
    if (missing > 0) incomplete ??= hiddenRows(shown, missing);
    return until ?? since;
  };
  const until = await read({ ...sent, created_at__after: timeOf(since) }, sink.now);
  const earlier = sink.before && before({ since, until });
  if (earlier && sink.before) {
    const [from, to] = [timeOf(earlier.since), timeOf(earlier.until)];
    const filters = { ...sent, created_at__after: from, created_at__before: to };
    await context.trace(1, `to compare, ${from} to ${to} is read`);
    await read(filters, sink.before, "to compare");
  }
  return { since, until, before: earlier, incomplete };
}

/** Damaged lines that are named one by one. */
const mostNamed = 5;

/** Reads a file once: both times, as far as it holds them. */
export async function fromFile(
  file: FileInput,
  filters: LogFilters,
  { since, until: asked, keeps = () => true }: LogQuery,
  sink: Sink,
  context: Context,
): Promise<LogSource> {
  const { keyword, status, created_by_end_user_session_id, created_by_account } = filters;
  if (keyword !== undefined) {
    throw new CliError("usage", "--keyword is looked for by the server, not in a file", {
      sideEffect: "none",
      hint: `wf logs --keyword ${JSON.stringify(keyword)} --all -o jsonl > runs.jsonl`,
    });
  }
  const until =
    asked ?? (since === undefined ? undefined : Math.floor(context.host.now().getTime() / 1000));
  const earlier =
    sink.before && since !== undefined && until !== undefined
      ? before({ since, until })
      : undefined;
  const users = [created_by_end_user_session_id, created_by_account];
  const damaged: { line: number; reason: string }[] = [];
  const counts = { read: 0, damaged: 0, again: 0, timeless: 0, earlier: 0 };
  const logs = logsOfFile(file, context, (line, reason) => {
    counts.damaged++;
    if (damaged.length < mostNamed) damaged.push({ line, reason });
  });
  for await (const log of onceEach(logs, () => counts.again++)) {
    if (++counts.read % 10_000 === 0) context.progress({ done: counts.read, unit: "runs" });
    const run = loggedRun(log);
    if (status !== undefined && run.status !== status) continue;
    if (users.some((user) => user !== undefined && user !== run.user)) continue;
    if (!keeps(log)) continue;
    if (since === undefined && until === undefined) sink.now(run);
    else if (run.at === undefined) counts.timeless++;
    else if (run.at >= (since ?? 0) && run.at <= (until ?? Infinity)) sink.now(run);
    else if (earlier && run.at >= earlier.since && run.at <= earlier.until) {
      counts.earlier++;
      sink.before?.(run);
    }
  }

  if (counts.again > 0)
    await context.notice(`entries that stand there again, counted once: ${counts.again}`);
  if (counts.timeless > 0)
    await context.notice(`entries left out because they do not say when: ${counts.timeless}`);
  for (const { line, reason } of damaged)
    await context.notice(`${file.name} line ${line}: ${reason}; left out`);
  const incomplete =
    counts.damaged === 0
      ? undefined
      : new CliError("partial", `damaged lines of ${file.name}, left out: ${counts.damaged}`, {
          isResult: true,
          details: { file: file.name, damaged: counts.damaged, first: damaged },
        });
  // A file may begin where the time asked for begins: that it has no run before says nothing.
  return { since, until, before: counts.earlier > 0 ? earlier : undefined, incomplete };
}

/**
 * Each entry once. That of a run that has not ended may stand there again, as `wf logs --follow`
 * writes it: what became of it counts, and where nothing is known of that, how it stood last.
 */
async function* onceEach(
  logs: AsyncIterable<FiledLog>,
  again: () => void,
): AsyncGenerator<WorkflowLog> {
  const seen = newIdSet();
  const open = new Map<string, WorkflowLog>();
  for await (const filed of logs) {
    const log = filed as WorkflowLog; // only what may be missing is read of it
    if (filed.id === undefined) yield log;
    else if (!hasEnded(log)) open.set(log.id, log);
    else if (seen.add(log.id)) yield log;
    else again();
  }
  for (const [id, log] of open) if (seen.add(id)) yield log;
}
