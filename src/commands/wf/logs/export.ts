import { hiddenRows, timeOf } from "../../../api/time-windows.ts";
import type { AdaptiveLimit } from "../../../api/adaptive-limit.ts";
import { mapAll } from "../../../api/concurrent-map.ts";
import { CliError, usage } from "../../../errors.ts";
import { openJournal } from "../../../lib/journal.ts";
import type { Journal } from "../../../lib/journal.ts";
import { isObject } from "../../../lib/json.ts";
import { counted } from "../../../lib/text.ts";
import { listWorkflowLogs } from "../../../operations/workflows.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import type { Input } from "../../../operations/operation.ts";
import { applicationOf, warnIfUnlogged } from "../app/index.ts";
import type { Application } from "../app/index.ts";
import { statusFilter } from "./filters.ts";
import { checkState, readState, recentAfter, stateText, waitingAfter } from "./export-state.ts";
import type { ExportState } from "./export-state.ts";
import { baseOf, fileFor, checkNotExisting, relativeTo, exportTarget } from "./export-target.ts";
import type { ExportTarget } from "./export-target.ts";
import { completeExport, ExportJournal, findLeftover, lockTarget } from "./export-journal.ts";
import type { ExportFiles, ExportStep, LeftoverExport } from "./export-journal.ts";
import { logLines } from "./write-lines.ts";
import type { LogLines } from "./write-lines.ts";
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
import type { Context } from "../../task/command-spec.ts";
import type { logsExportParams } from "./command.ts";

type ExportInput = Input<typeof logsExportParams>;

/** Unfinished runs that are requested before the results are written. */
const WAITING_BATCH = 50;

/** Settings that hold for all parts of one export. */
interface Export {
  readonly input: ExportInput;
  readonly concurrency: AdaptiveLimit;
  readonly query: LogQuery;
  readonly context: Context;
  readonly target: ExportTarget;
  readonly application: Application;
  readonly options: ExportState["options"];
  /** The state of the previous export with this --state. */
  readonly state: ExportState | undefined;
  /** Where the previous export with this --state stopped in the target. */
  readonly base: ExportFiles["base"];
  readonly lines: LogLines;
  /** Unix seconds; `until` only if it was requested. */
  readonly since: number;
  readonly until: number | undefined;
}

type ExportParts = Pick<Export, "context" | "query" | "target">;

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
  const target = await exportTarget(input.target, context);
  const release = await lockTarget(target, context.host);
  try {
    yield* exportTo(input, { context, query, target });
  } finally {
    release();
  }
}

/** The export, while no other command writes to its target. */
async function* exportTo(input: ExportInput, parts: ExportParts): AsyncGenerator<unknown> {
  const { context, target } = parts;
  const journalFile = await openJournal(target.journal, context.host.files);
  const leftover = findLeftover(journalFile);
  if (leftover?.ending) {
    await completeExport(target, leftover.ending, context.host);
    await context.notice("completed the previous export; run the command again for newer runs");
    const { summary } = leftover.ending;
    yield summary;
    return requireComplete(Number(summary["read"]), Number(summary["missing"]));
  }
  const [whole, journal] = await begin(input, parts, journalFile, leftover);
  try {
    await readLog(whole, journal);
    if (whole.state) await readWaiting(whole, whole.state, journal);
  } catch (error) {
    throw await keepProgress(error, journal, context);
  }
  const summary = await finish(whole, journal);
  await printSummary(summary, whole, journal.done);
  if (journal.done.read === 0) await warnIfUnlogged(context);
  yield summary;
  requireComplete(summary.read, summary.missing);
}

/** Throws `partial` if the server hid runs. */
function requireComplete(read: number, missing: number): void {
  if (missing > 0) throw hiddenRows(read, missing);
}

/** Opens the journal of a new export, or of the unfinished one of the same command. */
async function begin(
  input: ExportInput,
  { context, query, target }: ExportParts,
  journalFile: Journal,
  leftover: LeftoverExport | undefined,
): Promise<[Export, ExportJournal]> {
  const { host, notice } = context;
  if (input.state === undefined && !input.overwrite) await checkNotExisting(target, host);
  const application = await applicationOf(context, { withId: input.state !== undefined });
  const options = optionsOf(input, target);
  const state = input.state === undefined ? undefined : await readState(input.state, host.files);
  if (state) checkState(input.state ?? "", state, application, options);
  const base =
    input.state === undefined ? undefined : await baseOf(target, input.state, state, host);
  const start = {
    application: { ...application, id: null },
    options,
    state: input.state ?? null,
    from: state?.until ?? null,
    since: query.since ?? null,
    until: query.until ?? null,
    clock: Math.floor(host.now().getTime() / 1000),
  };
  const resumed = leftover !== undefined && isSame(leftover, start) ? leftover : undefined;
  if (leftover && !resumed) await notice("discarding an unfinished export of something else");
  const times = resumed ? (resumed.start as typeof start) : start; // isSame compared them
  const lines = await logLines(target.format, input.with_detail ?? false, context.formulas);
  const files = { ...target, base, head: lines.head };
  const journal = await ExportJournal.open(files, journalFile, { start, resumed }, host);
  const since = state ? Math.max(state.since, state.until - MAX_LATENESS) : (times.since ?? 0);
  const until = times.until ?? undefined;
  await noticeTimes({ since: since || undefined, until }, context);
  await warnIfKeywordTruncated(query, context);
  if (resumed && journal.done.read > 0) {
    await notice(`resuming: ${journal.done.read} runs already read`);
  }
  const concurrency = context.api.limitConcurrency();
  const settings = { input, concurrency, query, context, target, application, options };
  return [{ ...settings, state, base, lines, since, until }, journal];
}

/** Puts the file and the state in place. */
async function finish(whole: Export, journal: ExportJournal) {
  const { input, context, target, application, options, state, base } = whole;
  const { done } = journal;
  const withFile = done.rows > 0 || (target.kind === "file" && base === undefined);
  const until = done.until ?? 0;
  const file = withFile ? await fileFor(target, timeOf(until), context.host) : null;
  const summary = summaryOf(whole, done, file);
  const stateAfter = (path: string, bytes: number): ExportState => ({
    application,
    options,
    since: state?.since ?? whole.since,
    until,
    recent: recentAfter(state, done),
    waiting: waitingAfter(state, done),
    file:
      target.kind === "directory"
        ? null
        : { path: relativeTo(path, target.path, context.host), bytes },
  });
  await journal.end(withFile, (bytes) => ({
    file,
    summary,
    state:
      input.state === undefined
        ? null
        : { path: input.state, text: stateText(stateAfter(input.state, bytes)) },
  }));
  return summary;
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

/**
 * Whether an unfinished export is of the same command. A relative time has moved with the clock; the
 * export resumes with the times it started with.
 */
function isSame({ start }: LeftoverExport, now: Readonly<Record<string, unknown>>): boolean {
  if (!isObject(start)) return false;
  const elapsed = Number(now["clock"]) - Number(start["clock"]);
  return Object.keys(now).every((name) => {
    const [before, after] = [start[name], now[name]];
    if (name === "clock" || JSON.stringify(before) === JSON.stringify(after)) return true;
    const isTime = (name === "since" || name === "until") && before !== null && after !== null;
    return isTime && Math.abs(Number(after) - Number(before) - elapsed) <= 1;
  });
}

/** Reads the log window by window, from where an interrupted export stopped. */
async function readLog(whole: Export, journal: ExportJournal): Promise<void> {
  const { query, context, state, since } = whole;
  if (journal.done.next === null) return;
  const known = new Set([...(state?.recent ?? []), ...(state?.waiting ?? []).map(({ id }) => id)]);
  const sent = {
    ...query.sent,
    ...(since > 0 && { created_at__after: timeOf(since) }),
    ...(whole.until !== undefined && { created_at__before: timeOf(whole.until) }),
  };
  for await (const window of context.api.windows(listWorkflowLogs, sent, {
    last: journal.done.next,
  })) {
    const until = journal.done.until ?? Math.max(window.to, state?.until ?? 0);
    const rows = window.rows.filter(({ id }) => !known.has(id));
    const isRecent = ({ created_at }: WorkflowLog) => created_at >= until - MAX_LATENESS;
    const { text, step } = await formatRows(rows, whole);
    await journal.add(text, {
      ...step,
      until,
      next: window.from - 1,
      read: rows.length,
      refetched: window.again + window.rows.length - rows.length,
      missing: window.missing,
      ...(whole.input.state !== undefined && {
        recent: window.rows.filter(isRecent).map(({ id }) => id),
      }),
    });
    const { read } = journal.done;
    context.progress({ done: read, total: read + window.left, unit: "runs" });
  }
  await journal.add("", { next: null });
}

/** Requests the runs that were unfinished at the previous export. */
async function readWaiting(
  whole: Export,
  state: ExportState,
  journal: ExportJournal,
): Promise<void> {
  const { context, concurrency } = whole;
  const settled = new Set(journal.done.settled);
  const open = state.waiting.filter(({ id }) => !settled.has(id));
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
  { input, concurrency, query, context, lines }: Export,
): Promise<{ readonly text: string; readonly step: Partial<ExportStep> }> {
  const waits = (log: WorkflowLog) => input.state !== undefined && !hasEnded(log);
  const logs = rows.filter((log) => !waits(log) && (query.keeps?.(log) ?? true));
  const details = input.with_detail
    ? await mapAll(logs, concurrency, (log) => runDetail(log, context))
    : [];
  return {
    text: lines.of(logs.map((log, at) => ({ log, detail: details[at] }))),
    step: {
      rows: logs.length,
      running: logs.filter((log) => !hasEnded(log)).length,
      undetailed: details.filter((detail) => detail === null).length,
      waiting: rows.filter(waits).map(known),
    },
  };
}

const known = ({ id, workflow_run, created_at }: WorkflowLog): KnownLog => ({
  id,
  workflow_run: workflow_run && { id: workflow_run.id },
  created_at,
});

/** Saves the progress before an error ends the command, and adds how to resume. */
async function keepProgress(
  error: unknown,
  journal: ExportJournal,
  { signal, notice }: Context,
): Promise<unknown> {
  if (error instanceof CliError && error.info.code === "disk") return error;
  await journal.flush().catch(() => {}); // the first error is the one to report
  const hint = `${journal.done.read} runs are saved; run the same command to resume`;
  if (signal.aborted && error instanceof CliError) return error.with({ hint });
  await notice(hint);
  return error;
}

const summaryOf = ({ state, since }: Export, done: ExportStep, file: string | null) => ({
  rows: done.rows,
  read: done.read,
  refetched: done.refetched,
  missing: done.missing,
  waiting: waitingAfter(state, done).length,
  running: done.running,
  file,
  since: since === 0 ? null : timeOf(since),
  until: timeOf(done.until ?? 0),
});

async function printSummary(
  { rows, refetched, waiting, running, file }: ReturnType<typeof summaryOf>,
  { query, state, context }: Export,
  { read, gone, undetailed }: ExportStep,
): Promise<void> {
  const runs = (count: number) => counted(count, "run");
  const count = state ? counted(rows, "more run") : runs(rows);
  const unfinished = (count: number) => counted(count, "unfinished run");
  const parts = [
    file === null ? count : `${count} in ${file}`,
    ...(query.keeps ? [`${rows} of ${read} match (filtered locally)`] : []),
    ...(refetched > 0 ? [`${counted(refetched, "row")} fetched again`] : []),
    ...(running > 0 ? [`${unfinished(running)} written in their current state`] : []),
    ...(waiting > 0 ? [`${unfinished(waiting)} left for a later export`] : []),
    ...(gone > 0 ? [`${runs(gone)} removed from the log before finishing`] : []),
    ...(undetailed > 0 ? [`${runs(undetailed)} without details`] : []),
  ];
  await context.notice(parts.join("; "));
}
