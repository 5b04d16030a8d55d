import { newCounter } from "../../../api/pages.ts";
import { timeOf } from "../../../api/time-windows.ts";
import { CliError, usage } from "../../../errors.ts";
import { backoff, delays } from "../../../lib/backoff.ts";
import { commandLine } from "../../../lib/command-line.ts";
import type { Input } from "../../../operations/operation.ts";
import { listWorkflowLogs } from "../../../operations/workflows.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import type { Context } from "../../task/command-spec.ts";
import { matchingRows, noticeRowCount } from "../../task/row-counts.ts";
import { warnIfUnlogged } from "../app/index.ts";
import type { logsParams } from "./command.ts";
import {
  hasEnded,
  isTransient,
  logOf,
  logQuery,
  MAX_LATENESS,
  noticeTimes,
  warnIfKeywordTruncated,
} from "./query.ts";
import type { LogQuery } from "./query.ts";

/** Lists runs of the workflow, newest first; with `follow` oldest first, then new ones. */
export async function* run(
  input: Input<typeof logsParams>,
  context: Context,
): AsyncGenerator<WorkflowLog> {
  const query = logQuery(input, { changing: input.follow ?? false });
  if (input.follow) checkFollow(query, context);
  await noticeTimes(query, context);
  await warnIfKeywordTruncated(query, context);
  if (input.follow) yield* followLogs(query, context);
  else if (query.keeps) yield* matchingRows(listWorkflowLogs, query.sent, query.keeps, context);
  else {
    const counter = newCounter();
    yield* context.api.rows(listWorkflowLogs, query.sent, { ...context.options.rows, counter });
    if (counter.shown === 0) await warnIfUnlogged(context);
    await noticeRowCount(counter, context);
  }
}

/** Rejects flags that need an end of the list. */
function checkFollow({ until }: LogQuery, { options }: Context): void {
  const fail = (reason: string) => {
    throw usage(`${reason}, and --follow has no end`);
  };
  if (options.rows.page !== undefined) fail("--page shows one page");
  if (until !== undefined) fail("--until ends the list");
  if (options.gathers !== undefined) fail(`${options.gathers} waits for the last row`);
}

/** Consecutive failed polls before giving up. */
const MAX_FAILURES = 10;
/** Unfinished runs older than the overlap: how many are remembered, and requested per poll. */
const MAX_OPEN = 1000;
const OPEN_PER_POLL = 5;

/**
 * Yields runs as they appear, oldest first, and again when their status changes. Starts with the
 * newest ones, or with all since a time. Memory does not grow with time: it holds the runs of the
 * last minute and unfinished ones. Throws `cut` after ten consecutive failed polls.
 */
async function* followLogs(query: LogQuery, context: Context): AsyncGenerator<WorkflowLog> {
  if (query.sent.keyword !== undefined) {
    await context.notice(
      "new runs are polled for a minute, so --keyword misses words in the outputs of longer ones",
    );
  }
  const follower = new LogFollower(query, context);
  for (let failures = 0; ;) {
    let delay = backoff(0, delays.logs);
    try {
      yield* await follower.poll();
      failures = 0;
    } catch (error) {
      if (context.host.signal.aborted) throw follower.withResumeHint(error);
      if (!follower.started || !isTransient(error)) throw error;
      if (++failures >= MAX_FAILURES) throw follower.withResumeHint(gaveUp(error));
      await context.notice(`${error.message}; retrying`);
      delay = backoff(failures - 1, delays.retry) * context.host.random();
    }
    await context.pause(delay).catch((error: unknown) => {
      throw follower.withResumeHint(error);
    });
  }
}

class LogFollower {
  private readonly query: LogQuery;
  private readonly context: Context;
  /** Unix second and last known status of runs; the status is undefined if the run is not shown. */
  private readonly known = new Map<string, readonly [number, string | null | undefined]>();
  /** Unfinished runs; the one that was requested last comes last. */
  private readonly open = new Map<string, WorkflowLog>();
  private from: number;
  /** The Unix second up to which the log was read. */
  private to: number | undefined;
  private missing = 0;

  constructor(query: LogQuery, context: Context) {
    this.query = query;
    this.context = context;
    this.from = query.since ?? 0;
  }

  get started(): boolean {
    return this.to !== undefined;
  }

  /** Reads the log once. Returns new runs and changed ones, oldest first. */
  async poll(): Promise<readonly WorkflowLog[]> {
    const { rows } = this.context.options;
    const first = this.query.since !== undefined && rows.byDefault ? Infinity : rows.limit;
    const count = this.started ? Infinity : first;
    const { logs, to, missing } = await this.read(count);
    if (missing > this.missing) await this.context.notice(`the server hides ${missing} runs`);
    this.missing = missing;
    const changed = this.changedRuns(logs, count);
    this.to = to;
    this.forget(to);
    return changed;
  }

  /**
   * Reads the runs since the last poll and unfinished ones, newest first; at first `count` runs, and all
   * others that the next poll would take for new.
   */
  private async read(count: number) {
    const { context, from, open, query, started } = this;
    const sent = started ? { ...query.sent, created_at__after: timeOf(from) } : query.sent;
    const options = started ? { retries: 0 } : {};
    const logs: WorkflowLog[] = [];
    let to = this.to ?? from;
    let missing = 0;
    for await (const window of context.api.windows(listWorkflowLogs, sent, options)) {
      to = Math.max(to, window.to);
      missing += window.missing;
      logs.push(...window.rows);
      if (!started && logs.length >= count && window.from <= to - MAX_LATENESS) break;
    }
    const older = [...open.values()].filter(({ created_at }) => created_at < from);
    for (const before of older.slice(0, OPEN_PER_POLL)) {
      const now = await logOf(before, context, { retries: 0 });
      open.delete(before.id);
      if (now) {
        open.set(before.id, now);
        logs.push(now);
      }
    }
    return { logs, to, missing };
  }

  /** Remembers the runs of a poll. Returns those to show, at most the `max` newest, oldest first. */
  private changedRuns(logs: readonly WorkflowLog[], max: number): WorkflowLog[] {
    return logs
      .filter((log, index) => {
        const status = log.workflow_run?.status ?? null;
        const before = this.known.get(log.id);
        const hidden = index >= max || (before !== undefined && before[1] === undefined);
        this.known.set(log.id, [log.created_at, hidden ? undefined : status]);
        if (hidden || hasEnded(log)) this.open.delete(log.id);
        else this.open.set(log.id, log);
        return !hidden && before?.[1] !== status && (this.query.keeps?.(log) ?? true);
      })
      .reverse();
  }

  /** Forgets runs that the next poll cannot return again. */
  private forget(last: number): void {
    const { known, open } = this;
    this.from = Math.max(this.query.since ?? 0, last - MAX_LATENESS);
    const surplus = Math.max(0, open.size - MAX_OPEN);
    for (const id of [...open.keys()].slice(0, surplus)) open.delete(id);
    for (const [id, [second]] of known) {
      if (second < this.from && !open.has(id)) known.delete(id);
    }
  }

  withResumeHint(error: unknown): unknown {
    if (!(error instanceof CliError)) return error;
    const since = this.to === undefined ? undefined : timeOf(this.to);
    const hint = `resume with ${commandLine("wf logs", [], { follow: true, since })} and the same filters`;
    return error.with({ hint });
  }
}

const gaveUp = (error: CliError) =>
  new CliError("cut", `${MAX_FAILURES} consecutive polls failed: ${error.message}`, {
    cause: error,
    retryable: true,
  });
