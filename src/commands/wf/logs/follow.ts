import { timeOf } from "../../../api/time-windows.ts";
import { ApiError, CliError } from "../../../errors.ts";
import { listWorkflowLogs } from "../../../operations/workflows.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import { hasEnded, lateness, logOf } from "./query.ts";
import type { LogQuery } from "./query.ts";
import type { Context } from "../../command-spec.ts";

/** ms between two looks. */
const between = 2000;
/** Looks in a row that fail before giving up, and the waits after them, ms. */
const budget = 10;
const firstWait = 500;
const longestWait = 30_000;
/** Runs that go on and are older than that: how many are kept in mind, and asked for at a look. */
const mostOpen = 1000;
const openPerLook = 5;

/** A run as it was seen last; `status` is undefined for one that is not to be shown. */
interface Known {
  readonly second: number;
  readonly status: string | null | undefined;
}

/** What one look has brought. */
interface Look {
  /** Newest first. */
  readonly logs: readonly WorkflowLog[];
  /** Unix second up to which the log was read. */
  readonly to: number;
  readonly missing: number;
}

/**
 * Runs as they come, oldest first: each when it appears, and again when its status has changed.
 * Begins with the newest ones, or with all since a time. What is kept in mind does not grow with
 * time: runs of the last minute, and those that go on. Throws `cut` after ten failed looks in a row.
 */
export async function* followLogs(query: LogQuery, context: Context): AsyncGenerator<WorkflowLog> {
  if (query.sent.keyword !== undefined) {
    await context.notice(
      "runs are looked up for a minute: --keyword misses words in the outputs of longer ones",
    );
  }
  const { rows: wanted } = context.options;
  /** Runs to begin with. */
  const atFirst = query.since !== undefined && wanted.byDefault ? Infinity : wanted.limit;
  const known = new Map<string, Known>();
  /** Runs that were met and go on; the one that was asked for last stands last. */
  const open = new Map<string, WorkflowLog>();
  let from = query.since ?? 0;
  let to: number | undefined;
  let hidden = 0;
  for (let failed = 0; ;) {
    let wait = between;
    try {
      const look = to === undefined ? await firstLook() : await nextLook(to);
      failed = 0;
      if (look.missing > hidden) await context.notice(`the server hides ${look.missing} runs`);
      hidden = look.missing;
      yield* news(look, to === undefined ? atFirst : Infinity);
      to = look.to;
      forget(to);
    } catch (error) {
      if (context.signal.aborted) throw goingOn(error);
      if (to === undefined || !passes(error)) throw error;
      if (++failed >= budget) throw goingOn(gaveUp(error));
      await context.notice(`${error.message}; looking again`);
      wait = Math.min(longestWait, firstWait * 2 ** (failed - 1)) * context.host.random();
    }
    await context.host.sleep(wait, context.signal).catch(() => {
      throw goingOn(context.abortError());
    });
  }

  /** The runs to begin with, and all that the next look would take for new. */
  async function firstLook(): Promise<Look> {
    const logs: WorkflowLog[] = [];
    let end: number | undefined;
    let missing = 0;
    for await (const window of context.windows(listWorkflowLogs, query.sent)) {
      end ??= window.to;
      missing += window.missing;
      logs.push(...window.rows);
      if (logs.length >= atFirst && window.from <= end - lateness) break;
    }
    return { logs, to: end ?? from, missing };
  }

  async function nextLook(last: number): Promise<Look> {
    const logs: WorkflowLog[] = [];
    let end = last;
    let missing = 0;
    const sent = { ...query.sent, created_at__after: timeOf(from) };
    for await (const window of context.windows(listWorkflowLogs, sent, { retries: 0 })) {
      end = Math.max(end, window.to);
      missing += window.missing;
      logs.push(...window.rows);
    }
    const older = [...open.values()].filter(({ created_at }) => created_at < from);
    for (const before of older.slice(0, openPerLook)) {
      const now = await logOf(before, context, { retries: 0 });
      open.delete(before.id);
      if (now) {
        open.set(before.id, now);
        logs.push(now);
      }
    }
    return { logs, to: end, missing };
  }

  /** Remembers what a look has brought and gives what of it is news, oldest first. */
  function news({ logs }: Look, most: number): WorkflowLog[] {
    return logs
      .filter((log, index) => {
        const status = log.workflow_run?.status ?? null;
        const before = known.get(log.id);
        const silent = index >= most || (before !== undefined && before.status === undefined);
        known.set(log.id, { second: log.created_at, status: silent ? undefined : status });
        if (silent || hasEnded(log)) open.delete(log.id);
        else open.set(log.id, log);
        return !silent && before?.status !== status && (query.keeps?.(log) ?? true);
      })
      .reverse();
  }

  /** Keeps in mind only what a next look can bring again. */
  function forget(last: number): void {
    from = Math.max(query.since ?? 0, last - lateness);
    for (const id of [...open.keys()].slice(0, Math.max(0, open.size - mostOpen))) open.delete(id);
    for (const [id, { second }] of known) if (second < from && !open.has(id)) known.delete(id);
  }

  function goingOn(error: unknown): unknown {
    if (!(error instanceof CliError)) return error;
    const since = to === undefined ? "" : ` --since ${timeOf(to)}`;
    const hint = `wf logs --follow${since} goes on, with the same filters`;
    return new CliError(error.kind, error.message, { ...error.info, hint });
  }
}

/** Refuses flags that make no sense without an end. Throws usage. */
export function checkFollow({ until }: LogQuery, { options: asked }: Context): void {
  const wrong =
    asked.rows.page !== undefined
      ? "--page shows one page"
      : until !== undefined
        ? "--until ends the list"
        : asked.gathers !== undefined
          ? `${asked.gathers} waits for the last row`
          : undefined;
  if (wrong === undefined) return;
  throw new CliError("usage", `${wrong}, and --follow has no end`, { sideEffect: "none" });
}

/** Is it a failure that another look may not meet? */
const passes = (error: unknown): error is CliError =>
  error instanceof ApiError
    ? error.response.status >= 500 || error.info.retryable === true
    : error instanceof CliError && (error.kind === "network" || error.info.retryable === true);

const gaveUp = (error: CliError) =>
  new CliError("cut", `${budget} looks in a row failed: ${error.message}`, {
    cause: error,
    retryable: true,
  });
