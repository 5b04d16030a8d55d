import { hiddenRows, timeOf } from "../../../api/time-windows.ts";
import type { ConcurrencyLimiter } from "../../../api/concurrency-limit.ts";
import { mapAll } from "../../../api/concurrent-map.ts";
import { CliError } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import { getWorkflowRun, listWorkflowLogs } from "../../../operations/workflows.ts";
import type { WorkflowLog, WorkflowRun } from "../../../operations/workflows.ts";
import { applicationOf, warnIfUnlogged } from "../application.ts";
import type { Application } from "../application.ts";
import { checkState, readState, stateText } from "./export-state.ts";
import type { ExportState } from "./export-state.ts";
import { baseOf, fileFor, refuseExisting, seenFrom, exportTarget } from "./export-target.ts";
import type { ExportTarget } from "./export-target.ts";
import { findLeftover, openExportJournal, settleExport } from "./export-journal.ts";
import type { LeftoverExport, ExportStep, ExportJournal } from "./export-journal.ts";
import type { LogFilters } from "./filters.ts";
import { logLines } from "./write-lines.ts";
import type { LogLines } from "./write-lines.ts";
import { hasEnded, lateness, logOf, logQuery, tellKeyword, tellTimes } from "./query.ts";
import type { KnownLog, LogQuery } from "./query.ts";
import type { Context } from "../../command-spec.ts";

/** Input of `wf logs export`. */
type Input = LogFilters & {
  readonly target: string;
  readonly state?: string | undefined;
  readonly overwrite?: boolean | undefined;
  readonly with_detail?: boolean | undefined;
  readonly concurrency?: number | undefined;
};

/** Requests for details at a time, where nothing is said (server §20). */
const usualLanes = 3;
/** Waiting runs that are asked for before what was found is written down. */
const waitingAtOnce = 50;

/** What holds for all parts of one export. */
interface Export {
  readonly input: Input;
  readonly lanes: ConcurrencyLimiter;
  readonly query: LogQuery;
  readonly context: Context;
  readonly target: ExportTarget;
  readonly application: Application;
  readonly options: ExportState["options"];
  /** What the last export with this --state left. */
  readonly state: ExportState | undefined;
  readonly lines: LogLines;
  /** Unix seconds; what the log is read from and, if that was said, up to. */
  readonly since: number;
  readonly until: number | undefined;
}

/**
 * Writes every run of a workflow to a file, each once, and yields a summary. The log is read in
 * windows of time that add up; nothing but the ids of the last minute is kept of them. A work file
 * beside the target holds what was read, so that the same command goes on after a kill. Runs are
 * read up to the server's clock at the start; with --state the next export goes on from there, and a
 * run that had not ended is written when it has. Throws `partial` where the server hides runs.
 */
export async function* run(input: Input, context: Context): AsyncGenerator<unknown> {
  const { host, notice } = context;
  const query = logQuery(input, { changing: input.state !== undefined });
  if (input.state !== undefined && input.keyword !== undefined) {
    throw new CliError("usage", "--state and --keyword cannot be used together", {
      sideEffect: "none",
      hint: "a run that goes on has no outputs to look into, so it would be missed",
    });
  }
  const target = await exportTarget(input.target, context);
  const left = await findLeftover(target.journal, host);
  if (left?.ending) {
    await settleExport(target, left.ending, host);
    await notice(
      "an export that was all read is in place now; repeat the command for what came since",
    );
    yield left.ending.summary;
    return;
  }

  if (input.state === undefined && !input.overwrite) await refuseExisting(target, host);
  const application = await applicationOf(context, { withId: input.state !== undefined });
  const options = optionsOf(input, target);
  const state = input.state === undefined ? undefined : await readState(input.state, host.files);
  if (state) checkState(input.state ?? "", state, application, options);
  const base =
    input.state === undefined ? undefined : await baseOf(target, input.state, state, host);
  const begun = {
    application: { ...application, id: null },
    options,
    state: input.state ?? null,
    from: state?.until ?? null,
    since: query.since ?? null,
    until: query.until ?? null,
    clock: Math.floor(host.now().getTime() / 1000),
  };
  const goesOn = left !== undefined && isSame(left, begun);
  if (left !== undefined && !goesOn)
    await notice("an unfinished export of something else is dropped");
  const times = goesOn ? (left.begun as typeof begun) : begun; // isSame compared them
  const lines = await logLines(target.format, input.with_detail ?? false, context.formulas);
  const place = { ...target, base, head: lines.head };
  const work = await openExportJournal(place, begun, goesOn ? left : undefined, host);
  const whole: Export = {
    input,
    lanes: context.limitConcurrency(input.concurrency ?? usualLanes),
    query,
    context,
    target,
    application,
    options,
    state,
    lines,
    since: state ? Math.max(state.since, state.until - lateness) : (times.since ?? 0),
    until: times.until ?? undefined,
  };
  await tellTimes({ since: whole.since || undefined, until: whole.until }, context);
  await tellKeyword(query, context);
  if (goesOn && work.done.read > 0)
    await notice(`going on after ${work.done.read} runs that are read`);

  try {
    await readLog(whole, work);
    if (state) await readWaiting(whole, state, work);
  } catch (error) {
    throw await kept(error, work, context);
  }
  const withFile = work.done.rows > 0 || (target.kind === "file" && base === undefined);
  const until = work.done.until ?? 0;
  const file = withFile ? await fileFor(target, timeOf(until), host) : null;
  const summary = summaryOf(whole, work.done, file);
  await work.end(withFile, (bytes) => ({
    file,
    summary,
    state:
      input.state === undefined
        ? null
        : {
            path: input.state,
            text: stateText({
              application,
              options,
              since: state?.since ?? whole.since,
              until,
              recent: recentAfter(state, work.done),
              waiting: waitingAfter(state, work.done),
              file:
                target.kind === "folder"
                  ? null
                  : {
                      path: seenFrom(input.state, target.path, host),
                      bytes: withFile ? bytes : (base?.bytes ?? 0),
                    },
            }),
          },
  }));
  await tell(summary, whole, work.done);
  if (work.done.read === 0) await warnIfUnlogged(context);
  yield summary;
  if (work.done.missing > 0) throw hiddenRows(work.done.read, work.done.missing);
}

/** What an export asks for, under the names of its flags; times are not part of it. */
const optionsOf = (input: Input, { format }: ExportTarget): ExportState["options"] => ({
  format,
  ...(input.with_detail && { "with-detail": true }),
  ...(input.keyword !== undefined && { keyword: input.keyword }),
  ...(input.status !== undefined && { status: input.status }),
  ...(input.created_by_end_user_session_id !== undefined && {
    "end-user": input.created_by_end_user_session_id,
  }),
  ...(input.created_by_account !== undefined && { account: input.created_by_account }),
  ...(input.where !== undefined && { where: input.where }),
});

/**
 * Was the same command begun before? A time that was said as a distance has moved with the clock
 * since then; the export goes on with the times it began with.
 */
function isSame({ begun }: LeftoverExport, now: Readonly<Record<string, unknown>>): boolean {
  if (!isObject(begun)) return false;
  const elapsed = Number(now["clock"]) - Number(begun["clock"]);
  return Object.keys(now).every((name) => {
    const [before, after] = [begun[name], now[name]];
    if (name === "clock" || JSON.stringify(before) === JSON.stringify(after)) return true;
    const isTime = (name === "since" || name === "until") && before !== null && after !== null;
    return isTime && Math.abs(Number(after) - Number(before) - elapsed) <= 1;
  });
}

/** Reads the log window by window, from where an earlier run came to. */
async function readLog(whole: Export, work: ExportJournal): Promise<void> {
  const { query, context, state, since } = whole;
  if (work.done.next === null) return;
  const known = new Set([...(state?.recent ?? []), ...(state?.waiting ?? []).map(({ id }) => id)]);
  const sent = {
    ...query.sent,
    ...(since > 0 && { created_at__after: timeOf(since) }),
    ...(whole.until !== undefined && { created_at__before: timeOf(whole.until) }),
  };
  for await (const window of context.windows(listWorkflowLogs, sent, { last: work.done.next })) {
    const until = work.done.until ?? Math.max(window.to, state?.until ?? 0);
    const rows = window.rows.filter(({ id }) => !known.has(id));
    const isRecent = ({ created_at }: WorkflowLog) => created_at >= until - lateness;
    const { text, step } = await written(rows, whole);
    await work.add(text, {
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
    const { read } = work.done;
    context.progress({ done: read, total: read + window.left, unit: "runs" });
  }
  await work.add("", { next: null });
}

/** Asks for the runs that had not ended when the last export was made. */
async function readWaiting(whole: Export, state: ExportState, work: ExportJournal): Promise<void> {
  const { context, lanes } = whole;
  const settled = new Set(work.done.settled);
  const open = state.waiting.filter(({ id }) => !settled.has(id));
  for (let at = 0; at < open.length; at += waitingAtOnce) {
    const asked = open.slice(at, at + waitingAtOnce);
    const found = await mapAll(asked, lanes, (log) => logOf(log, context));
    const logs = found.filter((log) => log !== undefined);
    const ended = logs.filter(hasEnded);
    const goOn = new Set(logs.filter((log) => !hasEnded(log)).map(({ id }) => id));
    const { text, step } = await written(ended, whole);
    await work.add(text, {
      ...step,
      read: ended.length,
      refetched: goOn.size,
      gone: asked.length - logs.length,
      settled: asked.map(({ id }) => id).filter((id) => !goOn.has(id)),
    });
  }
}

/** The lines of those rows that are to be written, and what becomes of the others. */
async function written(
  rows: readonly WorkflowLog[],
  { input, lanes, query, context, lines }: Export,
): Promise<{ readonly text: string; readonly step: Partial<ExportStep> }> {
  const waits = (log: WorkflowLog) => input.state !== undefined && !hasEnded(log);
  const logs = rows.filter((log) => !waits(log) && (query.keeps?.(log) ?? true));
  const details = input.with_detail
    ? await mapAll(logs, lanes, (log) => detailOf(log, context))
    : [];
  return {
    text: logs.map((log, at) => lines.line({ log, detail: details[at] })).join(""),
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

/** The run behind an entry; null where the server has none any more. */
async function detailOf(
  { workflow_run }: WorkflowLog,
  context: Context,
): Promise<WorkflowRun | null> {
  if (!workflow_run) return null;
  try {
    return await context.call(getWorkflowRun, { workflow_run_id: workflow_run.id });
  } catch (error) {
    if (error instanceof CliError && error.kind === "not-found") return null;
    throw error;
  }
}

/** The ids of the last minute. An export that ends before the last one did sees only some of them. */
const recentAfter = (state: ExportState | undefined, { until, recent }: ExportStep) =>
  until === state?.until ? [...new Set([...(state?.recent ?? []), ...recent])] : recent;

function waitingAfter(state: ExportState | undefined, done: ExportStep): readonly KnownLog[] {
  const settled = new Set(done.settled);
  return [...(state?.waiting ?? []).filter(({ id }) => !settled.has(id)), ...done.waiting];
}

/** Writes down what was read before an error ends the command, and says how to go on. */
async function kept(
  error: unknown,
  work: ExportJournal,
  { signal, notice }: Context,
): Promise<unknown> {
  if (error instanceof CliError && error.info.code === "disk") return error;
  await work.flush().catch(() => {}); // the first error is the one to tell
  const hint = `${work.done.read} runs are read and kept; the same command goes on from there`;
  if (signal.aborted && error instanceof CliError) {
    return new CliError(error.kind, error.message, { ...error.info, hint });
  }
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

async function tell(
  { rows, refetched, waiting, running, file }: ReturnType<typeof summaryOf>,
  { query, state, context }: Export,
  { read, gone, undetailed }: ExportStep,
): Promise<void> {
  const runs = (count: number) => (count === 1 ? "1 run" : `${count} runs`);
  const written = state ? `${runs(rows)} more` : runs(rows);
  const notOver = (count: number) => `${runs(count)} had not ended`;
  const said = [
    file === null ? written : `${written} in ${file}`,
    ...(query.keeps ? [`${rows} of ${read} match; filtered here, not by the server`] : []),
    ...(refetched > 0 ? [`${refetched} rows were fetched again`] : []),
    ...(running > 0 ? [`${notOver(running)}, written as they stood`] : []),
    ...(waiting > 0 ? [`${notOver(waiting)}, written by the export after they have`] : []),
    ...(gone > 0 ? [`${runs(gone)} left the log before the end`] : []),
    ...(undetailed > 0 ? [`${runs(undetailed)} without a detail`] : []),
  ];
  await context.notice(said.join("; "));
}
