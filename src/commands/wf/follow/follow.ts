import type { EventBatches, ServerEvent } from "../../../api/sse.ts";
import { ApiError, CliError, withInfo } from "../../../errors.ts";
import { valueAt } from "../../../lib/json.ts";
import { streamRunEvents } from "../../../operations/workflows.ts";
import { openStream } from "./open-stream.ts";
import type { EventStream } from "./open-stream.ts";
import { nodeLedger } from "./lost-nodes.ts";
import { openings, newDeduplicator } from "./dedupe.ts";
import { finalOutcome, formIn } from "../../../runs/final-event.ts";
import { isEnded } from "../../../runs/outcome.ts";
import type { Form, RunOutcome } from "../../../runs/outcome.ts";
import { outdatedNotice, readRunState } from "../run-state.ts";
import type { RunState } from "../run-state.ts";
import { trackTextGaps } from "./text-gaps.ts";
import { silenceWatch } from "./silence.ts";
import type { SilenceWatch } from "./silence.ts";
import type { Context } from "../../command-spec.ts";

/** What to follow, and how far. */
export interface FollowOptions {
  /** Known from the start, or from the first event of `first`. */
  readonly runId?: string | undefined;
  /** A stream that is open already: that of `wf run`. */
  readonly first?: EventBatches | undefined;
  /** Ends `first`, whatever it is waiting for. */
  readonly leave?: (() => void) | undefined;
  /** Reconnect until the run has ended. */
  readonly reconnect: boolean;
  readonly throughPauses: boolean;
  /** Ask for the state snapshot at each connection. */
  readonly snapshot: boolean;
  /**
   * Answers one of the forms that the run waits for, when a connection stands that will show what
   * follows (server §15.6). Gives true when the run will go on, or why it is left paused.
   */
  readonly answer?: ((forms: readonly Form[]) => Promise<true | string>) | undefined;
}

/** What happened on the way; it grows while a run is followed. */
export interface FollowCounts {
  events: number;
  reconnects: number;
  /** Events of snapshots that had been shown before. */
  repeats: number;
  gaps: number;
}

export const newFollowCounts = (): FollowCounts => ({
  events: 0,
  reconnects: 0,
  repeats: 0,
  gaps: 0,
});

/** How a followed run stands when nothing more is to come. */
export interface FollowResult {
  readonly runId: string;
  readonly outcome: RunOutcome;
}

/** Reconnects in a row that bring nothing new before giving up. */
const budget = 10;
/** The same where connections stand and bring nothing but pings, though the record tells the end. */
const budgetForEnd = 3;
const firstWait = 500;
const longestWait = 30_000;

/**
 * Events of a run, each once, across any number of cuts; returns what became of it. Where text may
 * be missing, which the server never replays (server §15.6), an event `_gap` says so, and
 * `_gap_filled` brings it at the end when the run's outputs hold it. A stream that brings nothing but
 * pings has the run's record read (silenceWatch). Throws `cut` when no end could be confirmed, and
 * refusals as they are.
 */
export async function* followRun(
  following: FollowOptions,
  context: Context,
  tally: FollowCounts = newFollowCounts(),
): EventBatches<FollowResult> {
  const filter = newDeduplicator();
  const opening = openings();
  const text = trackTextGaps(following.first === undefined);
  const nodes = nodeLedger();
  let { runId } = following;
  let line: EventStream | undefined = following.first && {
    events: following.first,
    leave: following.leave ?? (() => {}),
  };
  let connected = false;
  let reconnected = false;
  /** May something be missing before the next event? */
  let gapOpen = false;
  /** Gaps of this run. */
  let gaps = 0;
  /** Kind of the last event that was shown. */
  let last = "";
  /** Has the stream said that the run is paused, and nothing since? */
  let saysPaused = false;
  /** Forms that were announced since the run began or was resumed. */
  let forms: Form[] = [];
  let inVain = 0;
  /** What run detail says of a run whose closing event was not seen. */
  let end: RunState | undefined;
  for (;;) {
    let why = "the server closed the stream before the run ended";
    let news = false;
    /** What the record says of the run, where the stream was left because it had not said so. */
    let unsaid: string | undefined;
    /** What it said when it was last read. */
    let stands: string | undefined;
    let watch: SilenceWatch | undefined;
    try {
      if (line === undefined) {
        const run = requireRun(runId);
        const pause = await unsaidPause(run);
        if (pause) return { runId: run, outcome: pause };
        if (connected) {
          reconnected = true;
          tally.reconnects++;
        }
        line = await connect(run);
      }
      // The server only tells what happens from now on: text of the meantime is lost.
      gapOpen = connected;
      connected = true;
      opening.begin();
      saysPaused = false;
      const { events, leave } = line;
      watch = silenceWatch(
        {
          contradiction: async (signal) => contradiction((stands = await statusNow(signal))),
          leave(status) {
            unsaid = status;
            leave();
          },
          still: (seconds) =>
            context.notice(
              `no event of run ${runId ?? "not yet named"} for ${seconds} s; its record says ${stands ?? "nothing"}`,
            ),
        },
        context,
      );
      for await (const batch of events) {
        watch.hold();
        runId ??= batch.map(idIn).find((id) => id !== undefined);
        const { fresh, outcome, paused, failed } = sifted(batch);
        if (fresh.length > 0) {
          for (const event of fresh) news = opening.isNews(event) || news;
          yield fresh;
        }
        if (outcome) return { runId: requireRun(runId), outcome };
        if (failed) break;
        // The stream that began the run closes at a pause: what follows comes on the next one.
        if (paused && following.answer && events !== following.first) {
          const unanswered = await following.answer(paused.forms ?? []).catch(asAnswering);
          if (unanswered !== true)
            return { runId: requireRun(runId), outcome: { ...paused, unanswered } };
          saysPaused = false;
        }
        watch.heard();
      }
    } catch (error) {
      if (error instanceof AnsweringFailed) throw answering(error, runId, context);
      if (unsaid !== undefined && !context.signal.aborted) {
        why = `the stream brings nothing but pings, while the record of the run says ${unsaid}`;
      } else {
        // Nothing was ever followed: what stands in the way is not a cut.
        if (!connected && line === undefined) throw explained(error, false, runId, context);
        why = cutOrThrow(error, connected && line === undefined, runId, context);
      }
    } finally {
      watch?.end();
    }
    line = undefined;
    inVain = news ? 0 : inVain + 1;
    const known = runId;
    if (known === undefined) throw lost(why);
    end ??= await confirmed(known, following, context, filter.lastError());
    if (end) {
      if (end.outdated) {
        await context.notice(outdatedNotice(known, end));
        return { runId: known, outcome: end };
      }
      // A connection to an ended run sends its closing event, to a paused one its form.
      const silenced = unsaid !== undefined && isEnded(end.status);
      const enough = inVain >= (silenced ? budgetForEnd : budget);
      if (enough)
        await context.notice(`the closing event of run ${known} could not be read: ${why}`);
      if (enough || filter.lastError() !== undefined) return { runId: known, outcome: end };
    } else if (!following.reconnect || inVain >= budget) {
      throw cut(known, why);
    } else if (last !== "workflow_paused" || unsaid !== undefined) {
      await context.notice(`${why}; reconnecting`);
    }
    // What closes after its last event was no failure.
    if (inVain === 0 && (end || last === "workflow_paused")) continue;
    const wait =
      Math.min(longestWait, firstWait * 2 ** Math.max(0, inVain - 1)) * context.host.random();
    await context.host.sleep(wait, context.signal).catch(() => {
      throw resumable(context.abortError(), known);
    });
  }

  /** What of a batch is shown: no repeats, and nothing after the event that ends the run. */
  function sifted(batch: readonly ServerEvent[]) {
    const fresh: ServerEvent[] = [];
    let paused: RunOutcome | undefined;
    for (const event of batch) {
      const kind = event.event;
      saysPaused = kind === "workflow_paused";
      if (kind === "workflow_started") forms = [];
      if (kind === "human_input_required") forms.push(...formIn(event.data["data"]));
      if (saysPaused) paused = withForms(finalOutcome(event, false));
      if (!filter.isNew(event)) {
        if (reconnected) tally.repeats++;
        // Nothing happened while the run waited.
        if (kind === "workflow_paused" && last === kind) gapOpen = false;
        continue;
      }
      if (gapOpen) fresh.push(gap(requireRun(runId)));
      gapOpen = false;
      tally.events++;
      text.see(event);
      nodes.see(event);
      const outcome = withForms(finalOutcome(event, following.throughPauses));
      if (outcome && kind === "workflow_finished") fresh.push(...missing(event));
      fresh.push(event);
      last = kind;
      if (outcome) return { fresh, outcome, paused, failed: false };
      if (kind === "error") return { fresh, outcome, paused, failed: true };
    }
    return { fresh, outcome: undefined, paused, failed: false };
  }

  /** A pause whose reasons name no form is one for the forms that were announced. */
  function withForms(outcome: RunOutcome | undefined): RunOutcome | undefined {
    return outcome?.status === "paused" && outcome.forms?.length === 0
      ? { ...outcome, forms }
      : outcome;
  }

  /** What the record says; undefined where it cannot be read. */
  async function statusNow(signal: AbortSignal): Promise<string | undefined> {
    if (runId === undefined) return undefined;
    const found = await readRunState(runId, context, { retries: 0, signal }).catch(() => undefined);
    return found?.status;
  }

  /** The status, where the stream has said something else. */
  function contradiction(status: string | undefined): string | undefined {
    if (status === undefined || isEnded(status)) return status;
    if (status === "paused") return following.snapshot && !saysPaused ? status : undefined;
    return saysPaused ? status : undefined;
  }

  /** Without its snapshot a paused run says nothing at all (server §15.3), so its detail is asked. */
  async function unsaidPause(run: string): Promise<RunOutcome | undefined> {
    if (following.snapshot || following.throughPauses) return undefined;
    const stands = await confirmed(run, following, context, undefined);
    return stands?.status === "paused" ? stands : undefined;
  }

  function connect(workflow_run_id: string): Promise<EventStream> {
    const input = {
      workflow_run_id,
      ...(following.snapshot && { include_state_snapshot: true }),
      ...(following.throughPauses && { continue_on_pause: true }),
    };
    return openStream(streamRunEvents, input, context, connected ? { retries: 0 } : {});
  }

  /** What may be missing between two connections; a run that has ended does not even replay nodes. */
  function gap(run: string, ...more: readonly string[]): ServerEvent {
    text.gap();
    tally.gaps++;
    gaps++;
    const missing = [...more, "text", "reasoning", "iterations", "loops", "agent logs"];
    return own("_gap", run, { missing });
  }

  /** What is missing before the end of the run, and what its outputs hold of it. */
  function missing(finished: ServerEvent): ServerEvent[] {
    const run = idIn(finished) ?? runId ?? "";
    // Without the snapshot the ends of nodes that began before are all there is to see.
    const isTorn = gaps === 0 && following.snapshot && nodes.isTorn(finished);
    const torn = isTorn ? [gap(run, "nodes")] : [];
    const found = text.missingIn(valueAt(finished.data, "data.outputs"));
    if (found?.length === 0) return torn;
    // Where no gap was seen, only the outputs show that the beginning is missing.
    const announced = gaps > 0 ? torn : [gap(run)];
    return [...announced, ...(found ?? []).map((data) => own("_gap_filled", run, { data }))];
  }
}

/** An answer to a form that failed, which says nothing about the stream. */
class AnsweringFailed extends Error {}

const asAnswering = (cause: unknown): never => {
  throw new AnsweringFailed("", { cause });
};

/** What became of our own answer to a form, and where to look for the run. */
function answering(
  { cause }: AnsweringFailed,
  runId: string | undefined,
  context: Context,
): unknown {
  if (context.signal.aborted) return resumable(cause, runId);
  if (!(cause instanceof CliError)) return cause;
  return withInfo(cause, {
    details: { run: runId },
    hint: `wf events ${runId} --follow shows whether the run continues, or its form`,
  });
}

/** An event of ours, in the envelope of the server's. */
const own = (event: string, workflow_run_id: string, more: object): ServerEvent => {
  const data = { event, workflow_run_id, ...more };
  return { event, raw: JSON.stringify(data), data };
};

const requireRun = (runId: string | undefined): string => {
  if (runId === undefined) throw lost("the stream named no run");
  return runId;
};

const idIn = ({ data }: ServerEvent): string | undefined =>
  typeof data["workflow_run_id"] === "string" ? data["workflow_run_id"] : undefined;

/** Asks run detail: an outcome when nothing more is to be followed, undefined while the run goes on. */
async function confirmed(
  runId: string,
  following: FollowOptions,
  context: Context,
  streamError: string | undefined,
): Promise<RunState | undefined> {
  try {
    const found = await readRunState(runId, context);
    const { status } = found;
    if (isEnded(status)) return found;
    if (status === "paused" && !(following.reconnect && following.throughPauses)) return found;
    if (streamError !== undefined) return { ...found, status: "failed", error: streamError };
    return undefined;
  } catch (error) {
    if (context.signal.aborted) throw resumable(error, runId);
    const transient =
      error instanceof CliError &&
      (error.kind === "network" || error.kind === "failure" || error.info.retryable === true);
    if (!transient || !following.reconnect) throw error;
    return undefined;
  }
}

/** A cut is a reason to reconnect; a refusal, an interrupt and a deadline are not. */
function cutOrThrow(
  thrown: unknown,
  reconnecting: boolean,
  runId: string | undefined,
  context: Context,
): string {
  const error = explained(thrown, reconnecting, runId, context);
  if (context.signal.aborted) throw error;
  if (error instanceof ApiError && error.response.status < 500 && !error.info.retryable)
    throw error;
  if (error instanceof CliError && (error.kind === "network" || error instanceof ApiError))
    return error.message;
  throw error instanceof CliError && error.kind === "failure" ? goingOn(error, runId) : error;
}

/** The error with what this command knows about it: how to go on, or why a run is not readable. */
function explained(
  error: unknown,
  reconnecting: boolean,
  runId: string | undefined,
  context: Context,
): unknown {
  if (context.signal.aborted) return resumable(error, runId);
  const hidden = error instanceof ApiError && error.kind === "not-found";
  return hidden ? strangersRun(error, reconnecting) : error;
}

/** Four causes look alike (server §15.1). */
function strangersRun(error: ApiError, reconnecting: boolean): CliError {
  return new ApiError(error.kind, error.message, error.response, {
    ...error.info,
    hint: reconnecting
      ? "the run was readable before: is --user the one that started it?"
      : "a run is readable by the end user that started it (--user) with the key of its application (--app); console runs are not; check the id with `wf logs`",
  });
}

const resumable = (error: unknown, runId: string | undefined): unknown =>
  error instanceof CliError && runId !== undefined
    ? new CliError(error.kind, error.message, {
        ...error.info,
        sideEffect: undefined,
        hint: `the run goes on; wf events ${runId} --follow shows it again`,
      })
    : error;

/** A stream that makes no sense says nothing about the run, which goes on. */
const goingOn = (error: CliError, runId: string | undefined): unknown =>
  runId === undefined
    ? new CliError(error.kind, error.message, { ...error.info, ...mayHaveStarted })
    : resumable(error, runId);

const mayHaveStarted = {
  sideEffect: "unknown",
  hint: "the run may have started: `wf logs` shows it; do not start it again before looking",
} as const;

const cut = (runId: string, why: string) =>
  new CliError("cut", `the stream of run ${runId} ended without a confirmed end: ${why}`, {
    retryable: true,
    details: { run: runId },
    hint: `wf events ${runId} --follow goes on`,
  });

const lost = (why: string) =>
  new CliError(
    "network",
    `the stream ended before the server named the run: ${why}`,
    mayHaveStarted,
  );
