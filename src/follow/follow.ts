import type { CallOptions } from "../api/calls.ts";
import type { EventBatches } from "../api/sse.ts";
import { CliError } from "../errors.ts";
import { backoff, delays } from "../lib/backoff.ts";
import { streamRunEvents } from "../operations/workflows.ts";
import { isEnded } from "../runs/outcome.ts";
import type { Form, RunOutcome } from "../runs/outcome.ts";
import { outdatedNotice, stateOfRun, waitForRun } from "./run-state.ts";
import type { Following, RunState } from "./run-state.ts";
import { ReplayDetector, EventFilter, newFollowCounts } from "./event-filter.ts";
import type { FollowCounts } from "./event-filter.ts";
import {
  explainError,
  explainFormError,
  heldBack,
  isHeldBack,
  noRunId,
  openStream,
  reasonToReconnect,
  recordedEnd,
  streamLost,
  watchSilence,
  withResumeHint,
} from "./open-stream.ts";
import type { EventStream, SilenceWatch } from "./open-stream.ts";

export interface FollowOptions {
  /** ID of the run; by default taken from the first event of `first`. */
  readonly runId?: string | undefined;
  /** A stream that is already open: that of `wf run`. */
  readonly first?: EventStream | undefined;
  /** This program started the run, also if `first` is missing. */
  readonly isOwn?: boolean;
  /** Reconnect until the run has ended. */
  readonly reconnect: boolean;
  readonly throughPauses: boolean;
  /** Request the state snapshot on each connection. */
  readonly snapshot: boolean;
  /**
   * Submits one of the forms of a paused run, called while a connection is open that will show what
   * follows (server §15.6). Returns true if the run will continue, otherwise why it stays paused
   * (empty: by choice).
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

/**
 * Follows a run, reconnecting as needed and de-duplicating events; returns the outcome. Where text
 * may be missing, which the server never replays (server §15.6), inserts an event `_gap`, and at the
 * end `_gap_filled` with the text if the outputs hold it. Throws `cut` if the end of the run could
 * not be confirmed, and API errors unchanged.
 */
export const followRun = (
  options: FollowOptions,
  context: Following,
  counts: FollowCounts = newFollowCounts(),
): EventBatches<FollowResult> => new RunFollower(options, context, counts).follow();

interface Connection {
  hasNewEvents: boolean;
  /** Why the connection ended. */
  reason: string;
  /** Whether not even a ping was received. */
  isHeldBack?: boolean;
  /** Status in the run's record, as last read. */
  recordStatus?: string | undefined;
  /** The same if the stream was left because it did not announce it. */
  missedStatus?: string;
  /** Whether a form is being submitted: its errors are not errors of the stream. */
  isSubmitting?: boolean;
}

class RunFollower {
  private readonly options: FollowOptions;
  private readonly context: Following;
  private readonly counts: FollowCounts;
  private readonly filter: EventFilter;
  private readonly replays = new ReplayDetector();
  private stream: EventStream | undefined;
  private hasConnected = false;
  private emptyConnections = 0;
  /** State from the run's record, once that has ended or paused without its closing event. */
  private end: RunState | undefined;

  constructor(options: FollowOptions, context: Following, counts: FollowCounts) {
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
    const { answer, first } = this.options;
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
          const hasNew = this.replays.hasNew(newEvents);
          connection.hasNewEvents ||= hasNew;
          yield newEvents;
        }
        if (outcome) return this.resultOf(outcome);
        if (failed) return undefined;
        // The stream that started the run closes at a pause; the next one shows what follows.
        if (pause && answer && stream !== first) {
          connection.isSubmitting = true;
          const result = await answer(pause.forms ?? []);
          connection.isSubmitting = false;
          if (result !== true) return this.resultOf({ ...pause, unanswered: result });
          this.filter.isPaused = false;
        }
        silence.resume();
      }
    } catch (error) {
      connection.isHeldBack = isHeldBack(error);
      connection.reason = this.reasonOf(error, connection);
    } finally {
      silence?.stop();
    }
    return undefined;
  }

  private async connect(): Promise<EventStream> {
    const { snapshot, throughPauses, answer, isOwn = this.hasConnected } = this.options;
    const input = {
      workflow_run_id: this.runId(),
      ...(snapshot && { include_state_snapshot: true }),
      ...(throughPauses && { continue_on_pause: true }),
    };
    const options = this.hasConnected ? { retries: 0 } : {};
    try {
      return await openStream(streamRunEvents, input, this.context, options);
    } catch (error) {
      if (isHeldBack(error) && this.options.reconnect) return this.openReleased(options);
      // It belongs to another end user of the same name; its record can be read (server §2.1).
      if (!isOwn || !(error instanceof CliError) || error.kind !== "not-found") throw error;
      return recordedEnd(this.runId(), throughPauses && answer === undefined, this.context);
    }
  }

  /** Opens the stream when the server closes it after its events, so that no proxy holds it back. */
  private async openReleased(calls: CallOptions): Promise<EventStream> {
    const { context, options } = this;
    const workflow_run_id = this.runId();
    // Each further connection may be held back as long as this one, unless it brings something.
    const left = MAX_EMPTY_CONNECTIONS - MAX_SILENT_CONNECTIONS;
    this.emptyConnections = Math.max(this.emptyConnections, left);
    await context.notice(`no events from run ${workflow_run_id}; waiting for its end: ${heldBack}`);
    const through_pauses = options.throughPauses && options.answer === undefined;
    await waitForRun({ workflow_run_id, through_pauses }, context);
    const input = { workflow_run_id, include_state_snapshot: true };
    return openStream(streamRunEvents, input, context, calls);
  }

  /** Without its snapshot a paused run sends nothing (server §15.3), so its record is read. */
  private async unannouncedPause(): Promise<RunOutcome | undefined> {
    const runId = this.runId();
    if (this.options.snapshot || this.options.throughPauses) return undefined;
    const state = await this.readFinalState(runId, undefined);
    return state?.status === "paused" ? state : undefined;
  }

  private watch(stream: EventStream, connection: Connection): SilenceWatch {
    const { context, filter } = this;
    return watchSilence(
      {
        contradiction: (signal) => this.readContradiction(connection, signal),
        leave(status) {
          connection.missedStatus = status;
          stream.close();
        },
        report: (seconds) =>
          context.notice(
            `no events from run ${filter.runId ?? "(no ID yet)"} for ${seconds}s; its status is ${connection.recordStatus ?? "unknown"}`,
          ),
      },
      context.host,
    );
  }

  /** Reads the run's record; returns its status if it contradicts the stream. */
  private async readContradiction(
    connection: Connection,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { context, filter, options } = this;
    if (filter.runId === undefined) return undefined;
    const { status } =
      (await stateOfRun(filter.runId, context, { retries: 0, signal }).catch(() => {})) ?? {};
    connection.recordStatus = status;
    if (status === undefined || isEnded(status)) return status;
    const contradicts =
      status === "paused" ? options.snapshot && !filter.isPaused : filter.isPaused;
    return contradicts ? status : undefined;
  }

  /** Returns why the connection ended; throws what does not warrant another one. */
  private reasonOf(error: unknown, { missedStatus, isSubmitting }: Connection): string {
    const { context, filter, hasConnected } = this;
    if (isSubmitting) throw explainFormError(error, filter.runId, context);
    if (missedStatus !== undefined && !context.signal.aborted)
      return `the stream sends only pings, but the run's status is ${missedStatus}`;
    const isOpening = this.stream === undefined;
    // The first connection failed: nothing was followed yet.
    if (!hasConnected && isOpening) throw explainError(error, filter.runId, context);
    return reasonToReconnect(error, filter.runId, context);
  }

  /** After a connection ended: returns the result if the run has ended, or waits to reconnect. */
  private async checkEnd({
    hasNewEvents,
    reason,
    missedStatus,
    isHeldBack: isHeld = false,
  }: Connection): Promise<FollowResult | undefined> {
    const { context, filter } = this;
    this.stream = undefined;
    this.emptyConnections = hasNewEvents ? 0 : this.emptyConnections + 1;
    if (isHeld)
      filter.runId ??= await this.options.first?.findRun?.().catch((error: unknown) => {
        if (context.signal.aborted) throw error;
        return undefined;
      });
    const { runId, lastKind, streamError } = filter;
    if (runId === undefined) throw noRunId(reason, isHeld);
    const end = (this.end ??= await this.readFinalState(runId, streamError));
    if (end?.outdated) {
      await context.notice(outdatedNotice(runId, end));
      return { runId, outcome: end };
    }
    const isSilenced = missedStatus !== undefined && end !== undefined && isEnded(end.status);
    const limit = isSilenced ? MAX_SILENT_CONNECTIONS : MAX_EMPTY_CONNECTIONS;
    const gaveUp = this.emptyConnections >= limit;
    if (end) {
      // Another connection would send the closing event of an ended run, or the form of a paused one.
      if (gaveUp)
        await context.notice(`failed to read the closing event of run ${runId}: ${reason}`);
      if (gaveUp || streamError !== undefined) return { runId, outcome: end };
    } else if (gaveUp || !this.options.reconnect) {
      throw streamLost(runId, reason);
    } else if (lastKind !== "workflow_paused" || missedStatus !== undefined) {
      await context.notice(`${reason}; reconnecting`);
    }
    // A stream that closed after its last event did not fail: reconnect at once.
    if (this.emptyConnections === 0 && (end || lastKind === "workflow_paused")) return undefined;
    const delay = backoff(Math.max(0, this.emptyConnections - 1), delays.retry);
    await context.pause(delay * context.host.random()).catch((error: unknown) => {
      throw withResumeHint(error, runId);
    });
    return undefined;
  }

  /** Reads the run's record; undefined if there is more to follow. */
  private async readFinalState(
    runId: string,
    streamError: string | undefined,
  ): Promise<RunState | undefined> {
    const { reconnect, throughPauses } = this.options;
    try {
      const state = await stateOfRun(runId, this.context);
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
