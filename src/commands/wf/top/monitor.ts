import { CliError } from "../../../errors.ts";
import { getAppInfo } from "../../../operations/apps.ts";
import { listWorkflowLogs, streamRunEvents } from "../../../operations/workflows.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import type { Context } from "../../task/command-spec.ts";
import { warnIfUnlogged } from "../app/index.ts";
import { isTransient, logOf } from "../logs/index.ts";
import { loadRun } from "../runs/index.ts";
import { HOUR, isActive, topRun } from "./state.ts";
import type { TopRun, TopState, RunEvents } from "./state.ts";
import type { EventBatches } from "../../../api/sse.ts";
import type { Host } from "../../../host/host.ts";
import { finalOutcome } from "../../../runs/outcome.ts";
import type { Form } from "../../../runs/outcome.ts";
import { RunTrace } from "../../../runs/trace.ts";

/** Consecutive failed requests before giving up. */
const MAX_FAILURES = 10;
/** Rows of the log that one request returns. */
const PAGE_SIZE = 100;

/** What the monitors of several applications have in common. */
export interface MonitorPlace {
  /** Name of the application in the profile. */
  readonly app: string | undefined;
  /** Is it the only one? Then its errors are those of the command. */
  readonly isOnly: boolean;
  /** May another stream be opened? */
  mayOpen(): boolean;
  /** Called when the state has changed. */
  onChange(): void;
}

/** Reads the log and the events of active runs of one application, one request at a time. */
export class RunMonitor {
  /** The run whose events are read first. */
  preferred: string | undefined;
  readonly context: Context;
  readonly place: MonitorPlace;
  /** Has the application no log? */
  isUnlogged = false;
  /** Why it is not read any more. */
  lost: CliError | undefined;
  readonly #stopped = new AbortController();
  readonly #runs = new Map<string, TopRun>();
  readonly #watched = new Map<string, WatchedRun>();
  /** Log rows of active runs by run ID; the one that was requested last comes last. */
  readonly #active = new Map<string, WorkflowLog>();
  /** Requests before the log is read again. */
  #pending: (() => Promise<void>)[] = [];
  #isWholeHour = false;
  #problem: string | undefined;
  #failures = 0;
  #hasRead = false;

  /** Aborted by `stop` and by an interrupt. */
  readonly #signal: AbortSignal;

  constructor(context: Context, place: MonitorPlace) {
    this.context = context;
    this.place = place;
    this.#signal = AbortSignal.any([context.host.signal, this.#stopped.signal]);
  }

  state(): TopState {
    return {
      runs: [...this.#runs.values()],
      events: this.#watched,
      isWholeHour: this.#isWholeHour,
      problem: this.lost?.message ?? this.#problem,
    };
  }

  /** Number of streams that are open. */
  get streams(): number {
    return [...this.#watched.values()].filter(({ isOpen }) => isOpen).length;
  }

  /** Sends the next request. Throws if the first one fails, and `cut` after ten failures in a row. */
  async step(): Promise<void> {
    try {
      await (this.#pending.shift() ?? this.#readLog)();
      this.#failures = 0;
      this.#problem = undefined;
    } catch (error) {
      this.#problem = this.#problemOf(error);
    }
  }

  /** Closes the streams. */
  stop(): void {
    this.#stopped.abort();
  }

  /** What to show of an error after which reading continues; throws all others. */
  #problemOf(error: unknown): string {
    if (!this.#hasRead || this.context.host.signal.aborted || !isTransient(error)) throw error;
    if (++this.#failures < MAX_FAILURES) return `${error.message}; retrying`;
    const message = `${MAX_FAILURES} consecutive requests failed: ${error.message}`;
    throw new CliError("cut", message, { cause: error, retryable: true });
  }

  readonly #readLog = async (): Promise<void> => {
    const options = { signal: this.#signal, ...(this.#hasRead && { retries: 0 }) };
    const logs = await this.context.api.call(listWorkflowLogs, {}, options);
    const isFirst = !this.#hasRead;
    this.#hasRead = true;
    await this.#add(logs);
    const oldest = logs.at(-1)?.created_at ?? 0;
    this.#isWholeHour = logs.length < PAGE_SIZE || oldest < this.#now() - HOUR;
    this.#forgetOld();
    // The active run that was not among the newest ones for the longest time.
    const newest = new Set(logs.map(({ id }) => id));
    const stale = [...this.#active.values()].find(({ id }) => !newest.has(id));
    const unwatched = this.#runToWatch();
    this.#pending = [
      ...(isFirst && logs.length === 0 ? [this.#checkLogged] : []),
      ...(unwatched ? [() => this.#watch(unwatched)] : []),
      ...(stale ? [() => this.#readAgain(stale)] : []),
    ];
  };

  /** Chats have no log (server §12). */
  readonly #checkLogged = async (): Promise<void> => {
    if (this.place.isOnly) return warnIfUnlogged(this.context);
    const { mode } = await this.context.api.call(getAppInfo, {}, { retries: 0 });
    this.isUnlogged = mode !== undefined && mode !== "workflow";
  };

  async #add(logs: readonly WorkflowLog[]): Promise<void> {
    for (const log of logs) {
      const run = topRun(log, this.place.app);
      if (!run) continue;
      const hasFailed = run.status === "failed" && this.#runs.get(run.id)?.status !== "failed";
      this.#runs.set(run.id, run);
      if (isActive(run)) this.#active.set(run.id, log);
      else this.#active.delete(run.id);
      const watched = this.#watched.get(run.id);
      if (watched && run.status !== "paused") watched.forms = [];
      if (!hasFailed || watched) continue;
      // The node at which it failed is known if it was followed on this machine.
      const failure = (await loadRun(run.id, this.context)).failures?.at(-1);
      if (failure) this.#watched.set(run.id, new WatchedRun(run.status, failure.node));
    }
  }

  /** Ended runs are not shown after an hour. */
  #forgetOld(): void {
    for (const { id, endedAt } of this.#runs.values()) {
      if (endedAt === undefined || endedAt > this.#now() - HOUR) continue;
      this.#runs.delete(id);
      this.#watched.delete(id);
    }
  }

  async #readAgain(before: WorkflowLog): Promise<void> {
    const log = await logOf(before, this.context, { retries: 0, signal: this.#signal });
    const run = topRun(before, this.place.app);
    if (!run) return;
    this.#active.delete(run.id);
    if (log) return this.#add([log]);
    this.#runs.delete(run.id);
    this.#watched.delete(run.id);
  }

  /** The next run whose events are to be read: the preferred one, then paused ones, then the newest. */
  #runToWatch(): TopRun | undefined {
    if (!this.place.mayOpen()) return undefined;
    const rank = ({ id, status }: TopRun) =>
      id === this.preferred ? 0 : 1 + Number(status !== "paused");
    const now = this.context.host.elapsed();
    return [...this.#runs.values()]
      .filter((run) => isActive(run) && (this.#watched.get(run.id)?.isOutdated(run, now) ?? true))
      .toSorted((a, b) => rank(a) - rank(b) || b.startedAt - a.startedAt)[0];
  }

  async #watch(run: TopRun): Promise<void> {
    const { context } = this;
    const watched = new WatchedRun(run.status);
    this.#watched.set(run.id, watched);
    const input = {
      workflow_run_id: run.id,
      include_state_snapshot: true,
      ...(run.endUser !== undefined && { user: run.endUser }),
    };
    try {
      const options = { retries: 0, signal: this.#signal };
      const events = await context.api.open(streamRunEvents, input, options);
      void watched.read(events, context.host, this.place.onChange);
    } catch (error) {
      watched.endedAt = context.host.elapsed();
      if (isTransient(error) || !(error instanceof CliError) || this.#signal.aborted) throw error;
      watched.problem = error.message;
    }
  }

  #now(): number {
    return Math.floor(this.context.host.now().getTime() / 1000);
  }
}

/** ms after which a stream that was lost is opened again. */
const REOPEN_AFTER = 10_000;

/** The events of a run that are being read, or were. */
class WatchedRun implements RunEvents {
  readonly trace = new RunTrace();
  forms: readonly Form[] = [];
  problem: string | undefined;
  readonly failedNode: string | undefined;
  /** Status of the run when its stream was opened. */
  readonly #status: string;
  /** Monotonic ms at which the stream ended; undefined while it is open. */
  endedAt: number | undefined;

  /** `failedNode` is known from an earlier command; there is no stream then. */
  constructor(status: string, failedNode?: string) {
    this.#status = status;
    this.failedNode = failedNode;
    if (failedNode !== undefined) this.endedAt = 0;
  }

  get isOpen(): boolean {
    return this.endedAt === undefined;
  }

  /** Whether another stream may tell more: the run continued, or the stream was lost. */
  isOutdated({ status }: TopRun, now: number): boolean {
    if (this.endedAt === undefined || this.problem !== undefined) return false;
    const isRead = status === "paused" && this.trace.status === "paused";
    return status !== this.#status || (!isRead && now - this.endedAt > REOPEN_AFTER);
  }

  /** Reads a stream to the end of the run, its pause, or the loss of the connection. */
  async read(events: EventBatches, host: Host, onChange: () => void): Promise<void> {
    try {
      for await (const batch of events) {
        for (const event of batch) {
          this.trace.add(event, host.now().getTime());
          const outcome = finalOutcome(event, false);
          if (!outcome) continue;
          this.forms = outcome.forms ?? [];
          return;
        }
        onChange();
      }
    } catch {
      // The log shows what became of the run; its events are read again if it continues.
    } finally {
      this.endedAt = host.elapsed();
      onChange();
    }
  }
}
