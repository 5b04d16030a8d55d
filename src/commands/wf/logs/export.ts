import { hiddenRows, timeOf } from "../../../api/time-windows.ts";
import type { AdaptiveLimit } from "../../../api/adaptive-limit.ts";
import { mapAll } from "../../../api/concurrent-map.ts";
import { CliError, usage } from "../../../errors.ts";
import { openJournal } from "../../../lib/journal.ts";
import type { Journal } from "../../../lib/journal.ts";
import { counted } from "../../../lib/text.ts";
import { listWorkflowLogs } from "../../../operations/workflows.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { applicationOf, warnIfUnlogged } from "../app/index.ts";
import type { Application } from "../app/index.ts";
import { statusFilter } from "./command.ts";
import type { logsExportParams } from "./command.ts";
import {
  completeExport,
  findLeftover,
  isSame,
  lockTarget,
  openExportJournal,
} from "./export-journal.ts";
import { exportTraces, isUnfiled, openTraces } from "./export-traces.ts";
import type { Traces } from "./export-traces.ts";
import type { ExportJournal, ExportStep, LeftoverExport } from "./export-journal.ts";
import {
  baseOf,
  checkState,
  exportTarget,
  fileFor,
  logLines,
  readState,
  relativeTo,
  stateText,
} from "./export-target.ts";
import type { ExportBase, ExportState, ExportTarget, LogLines } from "./export-target.ts";
import {
  hasEnded,
  MAX_LATENESS,
  logOf,
  runDetail,
  logQuery,
  warnIfKeywordTruncated,
  noticeTimes,
} from "./query.ts";
import type { KnownLog, LogQuery } from "./query.ts";

type ExportInput = Input<typeof logsExportParams>;

/** Unfinished runs that are requested before the results are written. */
const WAITING_BATCH = 50;

/** An export before its journal is opened. */
interface ExportSetting {
  readonly input: ExportInput;
  readonly query: LogQuery;
  readonly context: Context;
  readonly target: ExportTarget;
  readonly traces: Traces | undefined;
}

/** What holds for all parts of one export. */
interface Export extends ExportSetting {
  readonly concurrency: AdaptiveLimit;
  readonly application: Application;
  readonly options: ExportState["options"];
  /** The state of the previous export with this --state, and where it stopped in the target. */
  readonly state: ExportState | undefined;
  readonly base: ExportBase;
  readonly lines: LogLines;
  readonly journal: ExportJournal;
  /** Unix seconds; `until` only if it was requested. */
  readonly since: number;
  readonly until: number | undefined;
}

/**
 * Writes every run of a workflow to a file, without duplicates, and yields a summary. The log is read
 * in windows of time, and a journal beside the target records the progress, so that the same command
 * resumes after a kill. The export ends at the server's clock at the start; with --state the next
 * export continues from there, and unfinished runs are written once they have finished. Throws
 * `partial` if the server hides runs.
 */
export async function* run(input: ExportInput, context: Context): AsyncGenerator<unknown> {
  const query = logQuery(input, { changing: input.state !== undefined });
  if (input.state !== undefined && input.keyword !== undefined) {
    throw usage(
      "--state and --keyword cannot be used together",
      "an unfinished run has no outputs to search, so it would be missed",
    );
  }
  const traces = await openTraces(input, context);
  if (isUnfiled(input, context)) return yield* exportTraces(input, query, traces, context);
  const target = await exportTarget(input.target, context);
  const release = await lockTarget(target, context.host);
  try {
    yield* exportTo({ input, context, query, target, traces });
    await traces?.report();
  } finally {
    release();
  }
}

/** The export, while no other command writes to its target. */
async function* exportTo(setting: ExportSetting): AsyncGenerator<unknown> {
  const { context, target } = setting;
  const journalFile = await openJournal(target.journal, context.host.files);
  const leftover = findLeftover(journalFile);
  if (leftover?.ending) {
    await completeExport(target, leftover.ending, context.host);
    await context.notice("completed the previous export; run the command again for newer runs");
    const { summary } = leftover.ending;
    yield summary;
    return requireComplete(Number(summary["read"]), Number(summary["missing"]));
  }
  const whole = await begin(setting, journalFile, leftover);
  try {
    await readLog(whole);
    await readWaiting(whole);
  } catch (error) {
    throw await keepProgress(error, whole);
  }
  const summary = await finish(whole);
  await printSummary(summary, whole);
  if (summary.read === 0) await warnIfUnlogged(context);
  yield summary;
  await whole.lines.warn();
  requireComplete(summary.read, summary.missing);
}

function requireComplete(read: number, missing: number): void {
  if (missing > 0) throw hiddenRows(read, missing);
}

/** Opens the journal of a new export, or of the unfinished one of the same command. */
async function begin(
  setting: ExportSetting,
  journalFile: Journal,
  leftover: LeftoverExport | undefined,
): Promise<Export> {
  const { input, context, query, target } = setting;
  const { host, notice } = context;
  const { state: path } = input;
  if (path === undefined && !input.overwrite) await baseOf(target, path, undefined, host);
  const application = await applicationOf(context, { withId: path !== undefined });
  const options = optionsOf(input, target);
  const state = path === undefined ? undefined : await readState(path, host.files);
  if (path !== undefined && state) checkState(path, state, application, options);
  const base = path === undefined ? undefined : await baseOf(target, path, state, host);
  const start = {
    application: { ...application, id: null },
    options,
    state: path ?? null,
    from: state?.until ?? null,
    since: query.since ?? null,
    until: query.until ?? null,
    clock: Math.floor(host.now().getTime() / 1000),
  };
  const resumed = leftover !== undefined && isSame(leftover, start) ? leftover : undefined;
  if (leftover && !resumed) await notice("discarding an unfinished export of something else");
  const times = resumed ? (resumed.start as typeof start) : start; // isSame compared them
  const lines = await logLines(target.format, input.with_detail ?? false, context);
  const files = { ...target, base, head: lines.head };
  const journal = await openExportJournal(files, journalFile, { start, resumed }, host);
  const since = state ? Math.max(state.since, state.until - MAX_LATENESS) : (times.since ?? 0);
  const until = times.until ?? undefined;
  await noticeTimes({ since: since || undefined, until }, context);
  await warnIfKeywordTruncated(query, context);
  if (resumed && journal.done().read > 0) {
    await notice(`resuming: ${journal.done().read} runs already read`);
  }
  const concurrency = context.api.limitConcurrency();
  const known = { application, options, state, base, since, until };
  return { ...setting, ...known, concurrency, lines, journal };
}

async function finish(whole: Export) {
  const { input, context, target, state, base, journal } = whole;
  const done = journal.done();
  const withFile = done.rows > 0 || (target.kind === "file" && base === undefined);
  const file = withFile ? await fileFor(target, timeOf(done.until ?? 0), context.host) : null;
  const summary = {
    rows: done.rows,
    read: done.read,
    refetched: done.refetched,
    missing: done.missing,
    waiting: waitingAfter(state, done).length,
    running: done.running,
    file,
    since: whole.since === 0 ? null : timeOf(whole.since),
    until: timeOf(done.until ?? 0),
  };
  const { state: path } = input;
  await journal.end(withFile, (bytes) => ({
    file,
    summary,
    state: path === undefined ? null : { path, text: stateText(stateAfter(path, bytes, whole)) },
  }));
  return summary;
}

/** The state for the next export; the file has that many bytes now. */
function stateAfter(path: string, bytes: number, whole: Export): ExportState {
  const { application, options, state, target, context, journal } = whole;
  const { recent, until = 0 } = journal.done();
  return {
    application,
    options,
    since: state?.since ?? whole.since,
    until,
    // An export that ends before the previous one sees only some of its last minute.
    recent: until === state?.until ? [...new Set([...state.recent, ...recent])] : recent,
    waiting: waitingAfter(state, journal.done()),
    file:
      target.kind === "directory"
        ? null
        : { path: relativeTo(path, target.path, context.host), bytes },
  };
}

/** Unfinished runs that a later export writes. */
function waitingAfter(state: ExportState | undefined, done: ExportStep): readonly KnownLog[] {
  const settled = new Set(done.settled);
  return [...(state?.waiting ?? []).filter(({ id }) => !settled.has(id)), ...done.waiting];
}

/** The options of an export by the names of its flags, without times; JSON omits undefined ones. */
const optionsOf = (input: ExportInput, { format }: ExportTarget): ExportState["options"] => ({
  format,
  "with-detail": input.with_detail || undefined,
  keyword: input.keyword,
  status: statusFilter(input),
  "end-user": input.created_by_end_user_session_id,
  account: input.created_by_account,
  where: input.where,
});

/** Reads the log window by window, from where an interrupted export stopped. */
async function readLog(whole: Export): Promise<void> {
  const { input, query, context, state, since, until: end, journal } = whole;
  const { next: last } = journal.done();
  if (last === null) return;
  const known = new Set([...(state?.recent ?? []), ...(state?.waiting ?? []).map(({ id }) => id)]);
  const sent = {
    ...query.sent,
    ...(since > 0 && { created_at__after: timeOf(since) }),
    ...(end !== undefined && { created_at__before: timeOf(end) }),
  };
  for await (const window of context.api.windows(listWorkflowLogs, sent, { last })) {
    const until = journal.done().until ?? Math.max(window.to, state?.until ?? 0);
    const rows = window.rows.filter(({ id }) => !known.has(id));
    const isRecent = ({ created_at }: WorkflowLog) => created_at >= until - MAX_LATENESS;
    const recent = input.state === undefined ? [] : window.rows.filter(isRecent);
    const { text, step } = await formatRows(rows, whole);
    await journal.add(text, {
      ...step,
      until,
      next: window.from - 1,
      read: rows.length,
      refetched: window.again + window.rows.length - rows.length,
      missing: window.missing,
      recent: recent.map(({ id }) => id),
    });
    const { read } = journal.done();
    context.progress({ done: read, total: read + window.left, unit: "runs" });
  }
  await journal.add("", { next: null });
}

/** Requests the runs that were unfinished at the previous export. */
async function readWaiting(whole: Export): Promise<void> {
  const { state, context, concurrency, journal } = whole;
  const open = waitingAfter(state, { ...journal.done(), waiting: [] });
  for (let at = 0; at < open.length; at += WAITING_BATCH) {
    const batch = open.slice(at, at + WAITING_BATCH);
    const results = await mapAll(batch, concurrency, (log) => logOf(log, context));
    const logs = results.filter((log) => log !== undefined);
    const ended = logs.filter(hasEnded);
    const unfinished = new Set(logs.filter((log) => !hasEnded(log)).map(({ id }) => id));
    const { text, step } = await formatRows(ended, whole);
    await journal.add(text, {
      ...step,
      read: ended.length,
      refetched: unfinished.size,
      gone: batch.length - logs.length,
      settled: batch.map(({ id }) => id).filter((id) => !unfinished.has(id)),
    });
  }
}

/** The lines of the rows to write, and the counts of the others. */
async function formatRows(
  rows: readonly WorkflowLog[],
  { input, concurrency, query, context, lines, target, traces }: Export,
): Promise<{ readonly text: string; readonly step: Partial<ExportStep> }> {
  const waits = (log: WorkflowLog) => input.state !== undefined && !hasEnded(log);
  const logs = rows.filter((log) => !waits(log) && (query.keeps?.(log) ?? true));
  const detailed = input.with_detail ? logs : [];
  const details = await mapAll(detailed, concurrency, (log) => runDetail(log, context));
  const traced = (await traces?.take(logs)) ?? "";
  const isTraces = target.format === "otlp";
  return {
    text: isTraces ? traced : lines.of(logs.map((log, at) => ({ log, detail: details[at] }))),
    step: {
      rows: logs.length,
      running: logs.filter((log) => !hasEnded(log)).length,
      undetailed: details.filter((detail) => detail === null).length,
      waiting: rows.filter(waits).map(({ id, workflow_run: run, created_at }) => ({
        id,
        workflow_run: run && { id: run.id },
        created_at,
      })),
    },
  };
}

/** Saves the progress before an error ends the command, and adds how to resume. */
async function keepProgress(
  error: unknown,
  { journal, context: { host, notice } }: Export,
): Promise<unknown> {
  if (error instanceof CliError && error.info.code === "disk") return error;
  await journal.flush().catch(() => {}); // the first error is the one to report
  const hint = `${journal.done().read} runs are saved; run the same command to resume`;
  if (host.signal.aborted && error instanceof CliError) return error.with({ hint });
  await notice(hint);
  return error;
}

async function printSummary(
  { rows, read, refetched, waiting, running, file }: Awaited<ReturnType<typeof finish>>,
  { query, state, context, journal }: Export,
): Promise<void> {
  const { gone, undetailed } = journal.done();
  const count = counted(rows, state ? "more run" : "run");
  const unfinished = (count: number) => counted(count, "unfinished run");
  const parts = [
    file === null ? count : `${count} in ${file}`,
    ...(query.keeps ? [`${rows} of ${read} match (filtered locally)`] : []),
    ...(refetched > 0 ? [`${counted(refetched, "row")} fetched again`] : []),
    ...(running > 0 ? [`${unfinished(running)} written in their current state`] : []),
    ...(waiting > 0 ? [`${unfinished(waiting)} left for a later export`] : []),
    ...(gone > 0 ? [`${counted(gone, "run")} removed from the log before finishing`] : []),
    ...(undetailed > 0 ? [`${counted(undetailed, "run")} without details`] : []),
  ];
  await context.notice(parts.join("; "));
}
