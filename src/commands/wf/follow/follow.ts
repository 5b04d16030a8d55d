import type { EventBatches } from "../../../api/sse.ts";
import { CliError } from "../../../errors.ts";
import { streamRunEvents } from "../../../operations/workflows.ts";
import { isEnded } from "../../../runs/outcome.ts";
import type { Form, RunOutcome } from "../../../runs/outcome.ts";
import type { Context } from "../../command-spec.ts";
import { outdatedNotice, readRunState } from "../run-state.ts";
import type { RunState } from "../run-state.ts";
import { ReplayDetector } from "./dedupe.ts";
import { EventFilter, newFollowCounts } from "./event-filter.ts";
import type { FollowCounts } from "./event-filter.ts";
import {
  explainError,
  explainFormError,
  FormError,
  noRunId,
  reasonToReconnect,
  streamLost,
  withResumeHint,
} from "./follow-errors.ts";
import { openStream } from "./open-stream.ts";
import type { EventStream } from "./open-stream.ts";
import { SilenceWatch } from "./silence.ts";

export interface FollowOptions {
  /** ID of the run; by default taken from the first event of `first`. */
  readonly runId?: string | undefined;
  /** A stream that is already open: that of `wf run`. */
  readonly first?: EventStream | undefined;
  /** Reconnect until the run has ended. */
  readonly reconnect: boolean;
  readonly throughPauses: boolean;
  /** Request the state snapshot on each connection. */
  readonly snapshot: boolean;
  /**
   * Submits one of the forms of a paused run, called while a connection is open that will show what
   * follows (server §15.6). Returns true if the run will continue, otherwise why it stays paused.
   */
  readonly answer?: ((forms: readonly Form[]) => Promise<true | string>) | undefined;
}

/** How a followed run ended or paused. */
export interface FollowResult {
  readonly runId: string;
  readonly outcome: RunOutcome;
}

/** Connections in a row without a new event before giving up. */
const MAX_EMPTY_CONNECTIONS = 10;
/** The same when the run has ended, but connections bring nothing but pings. */
const MAX_SILENT_CONNECTIONS = 3;
const FIRST_DELAY = 500;
const MAX_DELAY = 30_000;

/**
 * Follows a run, reconnecting as needed and de-duplicating events; returns the outcome. Where text
 * may be missing, which the server never replays (server §15.6), inserts an event `_gap`, and at the
 * end `_gap_filled` with the text if the outputs hold it. Throws `cut` if the end of the run could
 * not be confirmed, and API errors unchanged.
 */
export const followRun = (
  options: FollowOptions,
  context: Context,
  counts: FollowCounts = newFollowCounts(),
): EventBatches<FollowResult> => new RunFollower(options, context, counts).follow();

/** One connection to the event stream. */
interface Connection {
  hasNewEvents: boolean;
  /** Why the connection ended. */
  reason: string;
  /** Status in the run's record, if the stream was left because it did not announce it. */
  missedStatus?: string;
}

class RunFollower {
  private readonly options: FollowOptions;
  private readonly context: Context;
  private readonly counts: FollowCounts;
  private readonly filter: EventFilter;
  private readonly replays = new ReplayDetector();
  private stream: EventStream | undefined;
  private hasConnected = false;
  private emptyConnections = 0;
  /** State from the run's record, once that has ended or paused without its closing event. */
  private end: RunState | undefined;

  constructor(options: FollowOptions, context: Context, counts: FollowCounts) {
    const { runId, first } = options;
    this.options = options;
    this.context = context;
    this.counts = counts;
    this.filter = new EventFilter(runId, { ...options, late: first === undefined }, counts);
    this.stream = first;
  }

  async *follow(): EventBatches<FollowResult> {
    for (;;) {
      const connection: Connection = { hasNewEvents: false, reason: "stream closed" };
      const result = (yield* this.readEvents(connection)) ?? (await this.checkEnd(connection));
      if (result) return result;
    }
  }

  /** Passes on the events of one connection; returns the result if they end the run. */
  private async *readEvents(connection: Connection): EventBatches<FollowResult | undefined> {
    let silence: SilenceWatch | undefined;
    try {
      if (this.stream === undefined) {
        const pause = await this.unannouncedPause();
        if (pause) return this.resultOf(pause);
        if (this.hasConnected) this.counts.reconnects++;
        this.stream = await this.connect();
      }
      const { stream } = this;
      this.filter.startConnection(this.hasConnected);
      this.replays.startConnection();
      this.hasConnected = true;
      silence = this.watch(stream, connection);
      for await (const batch of stream.events) {
        silence.pause();
        const { newEvents, outcome, pause, failed } = this.filter.filterBatch(batch);
        if (newEvents.length > 0) {
          const replayed = newEvents.map((event) => this.replays.isReplayed(event));
          connection.hasNewEvents ||= replayed.includes(false);
          yield newEvents;
        }
        if (outcome) return this.resultOf(outcome);
        if (failed) return undefined;
        // The stream that started the run closes at a pause; the next one shows what follows.
        if (pause && stream !== this.options.first) {
          const unanswered = await this.submitForm(pause.forms ?? []);
          if (unanswered !== undefined) return this.resultOf({ ...pause, unanswered });
        }
        silence.resume();
      }
    } catch (error) {
      connection.reason = this.reasonOf(error, connection);
    } finally {
      silence?.stop();
    }
    return undefined;
  }

  private connect(): Promise<EventStream> {
    const { snapshot, throughPauses } = this.options;
    const input = {
      workflow_run_id: this.runId(),
      ...(snapshot && { include_state_snapshot: true }),
      ...(throughPauses && { continue_on_pause: true }),
    };
    const options = this.hasConnected ? { retries: 0 } : {};
    return openStream(streamRunEvents, input, this.context, options);
  }

  /** Without its snapshot a paused run sends nothing (server §15.3), so its record is read. */
  private async unannouncedPause(): Promise<RunOutcome | undefined> {
    const runId = this.runId();
    if (this.options.snapshot || this.options.throughPauses) return undefined;
    const state = await this.readFinalState(runId, undefined);
    return state?.status === "paused" ? state : undefined;
  }

  private watch(stream: EventStream, connection: Connection): SilenceWatch {
    let status: string | undefined;
    return new SilenceWatch(
      {
        contradiction: async (signal) => {
          status = await this.readStatus(signal);
          return this.contradicts(status) ? status : undefined;
        },
        leave(missedStatus) {
          connection.missedStatus = missedStatus;
          stream.close();
        },
        report: (seconds) =>
          this.context.notice(
            `no events from run ${this.filter.runId ?? "(no ID yet)"} for ${seconds}s; its status is ${status ?? "unknown"}`,
          ),
      },
      this.context.host,
    );
  }

  /** The status in the run's record; undefined if it cannot be read. */
  private async readStatus(signal: AbortSignal): Promise<string | undefined> {
    const { runId } = this.filter;
    if (runId === undefined) return undefined;
    const options = { retries: 0, signal };
    const state = await readRunState(runId, this.context, options).catch(() => undefined);
    return state?.status;
  }

  /** Returns whether the record contradicts the stream. */
  private contradicts(status: string | undefined): boolean {
    if (status === undefined) return false;
    if (isEnded(status)) return true;
    const { isPaused } = this.filter;
    return status === "paused" ? this.options.snapshot && !isPaused : isPaused;
  }

  /** Submits a form of a paused run; returns why the run stays paused. */
  private async submitForm(forms: readonly Form[]): Promise<string | undefined> {
    if (!this.options.answer) return undefined;
    const result = await this.options.answer(forms).catch((cause: unknown) => {
      throw new FormError("", { cause });
    });
    if (result !== true) return result;
    this.filter.isPaused = false;
    return undefined;
  }

  /** Returns why the connection ended; throws what does not warrant another one. */
  private reasonOf(error: unknown, { missedStatus }: Connection): string {
    const { context, filter, hasConnected } = this;
    if (error instanceof FormError) throw explainFormError(error, filter.runId, context);
    if (missedStatus !== undefined && !context.signal.aborted)
      return `the stream sends only pings, but the run's status is ${missedStatus}`;
    const isOpening = this.stream === undefined;
    // The first connection failed: nothing was followed yet.
    if (!hasConnected && isOpening) throw explainError(error, false, filter.runId, context);
    return reasonToReconnect(error, isOpening, filter.runId, context);
  }

  /** After a connection ended: returns the result if the run has ended, or waits to reconnect. */
  private async checkEnd({
    hasNewEvents,
    reason,
    missedStatus,
  }: Connection): Promise<FollowResult | undefined> {
    const { runId, lastKind, streamError } = this.filter;
    this.stream = undefined;
    this.emptyConnections = hasNewEvents ? 0 : this.emptyConnections + 1;
    if (runId === undefined) throw noRunId(reason);
    this.end ??= await this.readFinalState(runId, streamError);
    if (this.end) {
      const isSilenced = missedStatus !== undefined && isEnded(this.end.status);
      const limit = isSilenced ? MAX_SILENT_CONNECTIONS : MAX_EMPTY_CONNECTIONS;
      if (await this.isFinal(this.end, limit, reason)) return this.resultOf(this.end);
    } else if (!this.options.reconnect || this.emptyConnections >= MAX_EMPTY_CONNECTIONS) {
      throw streamLost(runId, reason);
    } else if (lastKind !== "workflow_paused" || missedStatus !== undefined) {
      await this.context.notice(`${reason}; reconnecting`);
    }
    // A stream that closed after its last event did not fail: reconnect at once.
    const closedAtEnd = this.end !== undefined || lastKind === "workflow_paused";
    if (this.emptyConnections > 0 || !closedAtEnd) await this.delay(runId);
    return undefined;
  }

  /** A further connection would send the closing event of an ended run, or the form of a paused one. */
  private async isFinal(end: RunState, limit: number, reason: string): Promise<boolean> {
    const { runId, streamError } = this.filter;
    if (end.outdated) {
      await this.context.notice(outdatedNotice(this.runId(), end));
      return true;
    }
    const gaveUp = this.emptyConnections >= limit;
    if (gaveUp)
      await this.context.notice(`failed to read the closing event of run ${runId}: ${reason}`);
    return gaveUp || streamError !== undefined;
  }

  /** Waits with exponential backoff and jitter. */
  private async delay(runId: string): Promise<void> {
    const { host, signal } = this.context;
    const delay = Math.min(MAX_DELAY, FIRST_DELAY * 2 ** Math.max(0, this.emptyConnections - 1));
    await host.sleep(delay * host.random(), signal).catch(() => {
      throw withResumeHint(this.context.abortError(), runId);
    });
  }

  /** Reads the run's record; undefined if there is more to follow. */
  private async readFinalState(
    runId: string,
    streamError: string | undefined,
  ): Promise<RunState | undefined> {
    const { reconnect, throughPauses } = this.options;
    try {
      const state = await readRunState(runId, this.context);
      if (isEnded(state.status)) return state;
      if (state.status === "paused" && !(reconnect && throughPauses)) return state;
      if (streamError !== undefined) return { ...state, status: "failed", error: streamError };
      return undefined;
    } catch (error) {
      if (this.context.signal.aborted) throw withResumeHint(error, runId);
      if (!isTransient(error) || !reconnect) throw error;
      return undefined;
    }
  }

  private resultOf(outcome: RunOutcome): FollowResult {
    return { runId: this.runId(), outcome };
  }

  private runId(): string {
    if (this.filter.runId === undefined) throw noRunId("events have no run ID");
    return this.filter.runId;
  }
}

const isTransient = (error: unknown): boolean =>
  error instanceof CliError &&
  (error.kind === "network" || error.kind === "failure" || error.info.retryable === true);
