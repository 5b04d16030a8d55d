import { hiddenRows, timeOf } from "../../../api/time-windows.ts";
import { CliError, usage } from "../../../errors.ts";
import type { FileInput } from "../../../operations/operation.ts";
import { listWorkflowLogs } from "../../../operations/workflows.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import { hasEnded, loggedRun, statusFilter } from "../logs/index.ts";
import type { LogQuery, LoggedRun, LogFilters } from "../logs/index.ts";
import type { Context } from "../../task/command-spec.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject, own } from "../../../lib/json.ts";
import { linesOf } from "../../../lib/formats/lines.ts";
import { readFileRows } from "../../../lib/formats/rows-file.ts";
import type { Mistake } from "../../../lib/formats/rows-file.ts";

/** Length of the time that is read from the log by default. */
const DEFAULT_SECONDS = 86_400;

/** Reads the runs of the file of `from`, or of the log, and passes those of the requested times on. */
export const readRuns = (
  { from, ...filters }: LogFilters & { readonly from?: FileInput | undefined },
  query: LogQuery,
  sink: RunSink,
  context: Context,
): Promise<ReadTimes> =>
  from
    ? runsFromFile({ from, ...filters }, query, sink, context)
    : runsFromServer(query, sink, context);

/** Unix seconds, both included. */
export interface TimeSpan {
  readonly since: number;
  readonly until: number;
}

/** Takes the runs of the requested time, and those of the time before if needed for comparison. */
export interface RunSink {
  now(run: LoggedRun): void;
  readonly before: ((run: LoggedRun) => void) | undefined;
}

/** The times that were read. */
export interface ReadTimes {
  /** Undefined for a file without a requested time. */
  readonly since: number | undefined;
  readonly until: number | undefined;
  readonly before: TimeSpan | undefined;
  /** The error of an incomplete read; reported after the result. */
  readonly incomplete: CliError | undefined;
}

const secondNow = ({ host }: Context): number => Math.floor(host.now().getTime() / 1000);

/** The time of the same length before this one. */
const timeBefore = ({ since, until }: TimeSpan): TimeSpan => ({
  since: since - (until - since + 1),
  until: since - 1,
});

/** Reads the log from the time of the query, or from a day before its end, then the time before it. */
async function runsFromServer(
  { sent, keeps = () => true, ...times }: LogQuery,
  sink: RunSink,
  context: Context,
): Promise<ReadTimes> {
  const since = times.since ?? (times.until ?? secondNow(context)) - DEFAULT_SECONDS;
  let incomplete: CliError | undefined;
  /** Returns the last second read, by default the server's clock. */
  const read = async (filters: LogQuery["sent"], take: RunSink["now"], note?: string) => {
    let until: number | undefined;
    let [shown, missing] = [0, 0];
    for await (const window of context.api.windows(listWorkflowLogs, filters)) {
      until ??= window.to;
      missing += window.missing;
      shown += window.rows.length;
      for (const log of window.rows) if (keeps(log)) take(loggedRun(log));
      const total = shown + window.left;
      context.progress({ verb: "Reading", done: shown, total, unit: "runs", note });
    }
    if (missing > 0) incomplete ??= hiddenRows(shown, missing);
    return until ?? since;
  };
  const until = await read({ ...sent, created_at__after: timeOf(since) }, sink.now);
  const before = sink.before && timeBefore({ since, until });
  if (before && sink.before) {
    const [from, to] = [timeOf(before.since), timeOf(before.until)];
    const filters = { ...sent, created_at__after: from, created_at__before: to };
    await context.trace(1, `reading ${from} to ${to} for comparison`);
    await read(filters, sink.before, "for comparison");
  }
  return { since, until, before, incomplete };
}

/** Maximum number of damaged lines that are reported one by one. */
const MAX_REPORTED = 5;

/** Reads the requested time and the time before it from a file. */
async function runsFromFile(
  { from: file, ...filters }: LogFilters & { readonly from: FileInput },
  { since, until: requested, keeps = () => true }: LogQuery,
  sink: RunSink,
  context: Context,
): Promise<ReadTimes> {
  const matches = fileFilter(filters);
  const { notice } = context;
  const until = requested ?? (since === undefined ? undefined : secondNow(context));
  const before =
    sink.before && since !== undefined && until !== undefined && timeBefore({ since, until });
  const first: { readonly line: number; readonly reason: string }[] = [];
  const counts = { read: 0, damaged: 0, duplicates: 0, timeless: 0, before: 0 };
  const logs = logsOfFile(file, context, ({ line, problem: reason }) => {
    if (++counts.damaged <= MAX_REPORTED) first.push({ line, reason });
  });
  for await (const log of withoutDuplicates(logs, () => counts.duplicates++)) {
    if (++counts.read % 10_000 === 0)
      context.progress({ verb: "Reading", done: counts.read, unit: "runs" });
    const run = loggedRun(log);
    if (!matches(run) || !keeps(log)) continue;
    if (since === undefined && until === undefined) sink.now(run);
    else if (run.at === undefined) counts.timeless++;
    else if (run.at >= (since ?? 0) && run.at <= (until ?? Infinity)) sink.now(run);
    else if (before && run.at >= before.since && run.at <= before.until) {
      counts.before++;
      sink.before?.(run);
    }
  }

  if (counts.duplicates > 0) await notice(`duplicate rows skipped: ${counts.duplicates}`);
  if (counts.timeless > 0) await notice(`rows without a start time skipped: ${counts.timeless}`);
  for (const { line, reason } of first)
    await notice(`${file.name} line ${line}: ${reason}; skipped`);
  const message = `damaged lines of ${file.name} skipped: ${counts.damaged}`;
  const details = { file: file.name, damaged: counts.damaged, first };
  return {
    since,
    until,
    // A file may start with the requested time, so no runs before it do not mean 0 runs.
    before: before && counts.before > 0 ? before : undefined,
    incomplete:
      counts.damaged === 0
        ? undefined
        : new CliError("partial", message, { isResult: true, details }),
  };
}

/** The filters that the server would apply. Throws usage for one that only the server can. */
function fileFilter(filters: LogFilters): (run: LoggedRun) => boolean {
  const { keyword, created_by_end_user_session_id, created_by_account } = filters;
  if (keyword !== undefined) {
    throw usage(
      "--keyword cannot be used with a file: only the server can search",
      `write a file of such runs: ${commandLine("wf logs", [], { keyword, all: true, o: "jsonl" })}`,
    );
  }
  const status = statusFilter(filters);
  const users = [created_by_end_user_session_id, created_by_account];
  return (run) =>
    (status === undefined || run.status === status) &&
    users.every((user) => user === undefined || user === run.user);
}

/**
 * Each row once. The output of `wf logs --follow` has a row per status of a run: the row of its end
 * counts, or else the last one.
 */
async function* withoutDuplicates(
  logs: AsyncIterable<FiledLog>,
  onDuplicate: () => void,
): AsyncGenerator<WorkflowLog> {
  const seen = new Set<string>();
  const isNew = (id: string) => seen.size < seen.add(id).size;
  const open = new Map<string, WorkflowLog>();
  for await (const filed of logs) {
    const log = filed as WorkflowLog; // its readers allow for missing fields
    if (filed.id === undefined) yield log;
    else if (!hasEnded(log)) open.set(log.id, log);
    else if (isNew(log.id)) yield log;
    else onDuplicate();
  }
  for (const [id, log] of open) if (isNew(id)) yield log;
}

/** A row of the log; any field may be missing. */
type FiledLog = Partial<WorkflowLog>;

/**
 * Streams the rows of a file of JSON Lines written by `wf logs` or `wf logs export`. Reports and skips
 * damaged lines. Throws `usage` if no line is valid.
 */
async function* logsOfFile(
  { path, name }: FileInput,
  context: Context,
  onMistake: (mistake: Mistake) => void,
): AsyncGenerator<FiledLog> {
  const { files, stdin } = context.host;
  let [first, used] = [undefined as Mistake | undefined, false];
  const onDamage = (mistake: Mistake) => {
    first ??= mistake;
    onMistake(mistake);
  };
  const notLog = (line: number, problem: string) =>
    usage(
      `${name} line ${line}: ${problem}`,
      `--from takes the output of ${commandLine("wf logs", [], { all: true, o: "jsonl" })}`,
    );
  const bytes = path === "-" ? stdin.bytes() : files.bytes(path);
  const lines = linesOf(bytes, (line) => notLog(line, "line too long"), context);
  for await (const { rows, columns } of readFileRows(name, lines, onDamage)) {
    if (columns) throw notLog(1, "expected JSON Lines, not CSV");
    for (const { line, values } of rows) {
      const isRow = isLog(values);
      used ||= isRow;
      if (isRow) yield values;
      else onDamage({ line, problem: "not a log row" });
    }
  }
  if (!used && first) throw notLog(first.line, first.problem);
}

const numbers = ["elapsed_time", "total_tokens", "total_steps", "created_at", "finished_at"];
const texts = ["id", "status", "error", "version"];

/** Whether the fields that are computed with are numbers, and those that are shown texts. */
function isLog(row: Readonly<Record<string, unknown>>): row is FiledLog {
  const run = own(row, "workflow_run");
  if (!(run === null || isObject(run)) || !isOptional("number", row.created_at)) return false;
  const isEach = (kind: "number" | "string", names: readonly string[]) =>
    names.every((name) => isOptional(kind, run?.[name]));
  return isEach("number", numbers) && isEach("string", texts);
}

const isOptional = (kind: "number" | "string", value: unknown): boolean =>
  value === undefined || value === null || typeof value === kind;
