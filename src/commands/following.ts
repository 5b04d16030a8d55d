import type { Events, ServerEvent } from "../api/events.ts";
import { ApiError, CliError } from "../errors.ts";
import { isObject, valueAt } from "../json.ts";
import * as workflows from "../operations/workflows.ts";
import { replayFilter } from "./replay-filter.ts";
import { isEnded } from "./run-outcome.ts";
import type { Outcome } from "./run-outcome.ts";
import { shownText } from "./shown-text.ts";
import type { Context } from "./task.ts";

/** What to follow, and how far. */
export interface Following {
  /** Known from the start, or from the first event of `first`. */
  readonly runId?: string | undefined;
  /** A stream that is open already: that of `wf run`. */
  readonly first?: Events | undefined;
  /** Reconnect until the run has ended. */
  readonly reconnect: boolean;
  readonly throughPauses: boolean;
  /** Ask for the state snapshot at each connection. */
  readonly snapshot: boolean;
  /**
   * Answers the forms that the run waits for, when a connection stands that will show what follows
   * (server §15.6); says false where nobody here can, and then the run is left paused.
   */
  readonly answer?: ((forms: readonly ServerEvent[]) => Promise<boolean>) | undefined;
}

/** What happened on the way; it grows while a run is followed. */
export interface Tally {
  events: number;
  reconnects: number;
  /** Events of snapshots that had been shown before. */
  repeats: number;
  gaps: number;
}

export const newTally = (): Tally => ({ events: 0, reconnects: 0, repeats: 0, gaps: 0 });

/** How a followed run stands when nothing more is to come. */
export interface Followed {
  readonly runId: string;
  readonly outcome: Outcome;
}

/** Reconnects in a row that bring nothing new before giving up. */
const budget = 10;
const firstWait = 500;
const longestWait = 30_000;

/**
 * Events of a run, each once, across any number of cuts; returns what became of it. Where text may
 * be missing, which the server never replays (server §15.6), an event `_gap` says so, and
 * `_gap_filled` brings it at the end when the run's outputs hold it. Throws `cut` when no end could
 * be confirmed, and refusals as they are.
 */
export async function* followed(
  following: Following,
  context: Context,
  tally: Tally = newTally(),
): Events<Followed> {
  const filter = replayFilter();
  const text = shownText(following.first === undefined);
  let { runId } = following;
  let stream = following.first;
  let connected = false;
  /** May something be missing before the next event? */
  let gapOpen = false;
  /** Kind of the last event that was shown. */
  let last = "";
  /** Forms that wait, by the node that asked. */
  const forms = new Map<unknown, ServerEvent>();
  let inVain = 0;
  /** What run detail says of a run whose closing event was not seen. */
  let end: Outcome | undefined;
  for (;;) {
    let why = "the server closed the stream before the run ended";
    let news = false;
    try {
      if (stream === undefined) {
        const run = requireRun(runId);
        const pause = await unsaidPause(run);
        if (pause) return { runId: run, outcome: pause };
        stream = await connect(run);
      }
      // The server only tells what happens from now on: text of the meantime is lost.
      gapOpen = connected;
      connected = true;
      for await (const batch of stream) {
        runId ??= batch.map(idIn).find((id) => id !== undefined);
        const { fresh, outcome, paused, failed } = sifted(batch);
        if (fresh.length > 0) {
          news = true;
          yield fresh;
        }
        if (outcome) return { runId: requireRun(runId), outcome };
        if (failed) break;
        // The stream that began the run closes at a pause: what follows comes on the next one.
        if (paused && following.answer && stream !== following.first) {
          if (!(await following.answer([...forms.values()])))
            return { runId: requireRun(runId), outcome: paused };
          forms.clear();
        }
      }
    } catch (error) {
      // Nothing was ever followed: what stands in the way is not a cut.
      if (!connected && stream === undefined) throw explained(error, false, runId, context);
      why = cutOrThrow(error, connected && stream === undefined, runId, context);
    }
    stream = undefined;
    inVain = news ? 0 : inVain + 1;
    const known = runId;
    if (known === undefined) throw lost(why);
    end ??= await confirmed(known, following, context, filter.lastError());
    if (end) {
      // A connection to an ended run sends its closing event, to a paused one its form.
      if (inVain >= budget) {
        await context.notice(`the closing event of run ${known} could not be read: ${why}`);
      }
      if (inVain >= budget || filter.lastError() !== undefined)
        return { runId: known, outcome: end };
    } else if (!following.reconnect || inVain >= budget) {
      throw cut(known, why);
    } else {
      if (last !== "workflow_paused") await context.notice(`${why}; reconnecting`);
      tally.reconnects++;
    }
    // What closes after its last event was no failure.
    if (inVain === 0 && (end || last === "workflow_paused")) continue;
    const wait =
      Math.min(longestWait, firstWait * 2 ** Math.max(0, inVain - 1)) * context.host.random();
    await context.host.sleep(wait, context.signal).catch(() => {
      throw resumable(context.interrupted(), known);
    });
  }

  /** What of a batch is shown: no repeats, and nothing after the event that ends the run. */
  function sifted(batch: readonly ServerEvent[]) {
    const fresh: ServerEvent[] = [];
    let paused: Outcome | undefined;
    for (const event of batch) {
      const kind = event.event;
      if (kind === "human_input_required") forms.set(valueAt(event.data, "data.node_id"), event);
      if (kind === "human_input_form_filled" || kind === "human_input_form_timeout")
        forms.delete(valueAt(event.data, "data.node_id"));
      if (kind === "workflow_paused") paused = finalOutcome(event, false);
      if (!filter.isNew(event)) {
        tally.repeats++;
        // Nothing happened while the run waited.
        if (kind === "workflow_paused" && last === kind) gapOpen = false;
        continue;
      }
      if (gapOpen) fresh.push(gap(requireRun(runId)));
      gapOpen = false;
      tally.events++;
      text.see(event);
      const outcome = finalOutcome(event, following.throughPauses);
      if (outcome && kind === "workflow_finished") fresh.push(...filled(event));
      fresh.push(event);
      last = kind;
      if (outcome) return { fresh, outcome, paused, failed: false };
      if (kind === "error") return { fresh, outcome, paused, failed: true };
    }
    return { fresh, outcome: undefined, paused, failed: false };
  }

  /** Without its snapshot a paused run says nothing at all (server §15.3), so its detail is asked. */
  async function unsaidPause(run: string): Promise<Outcome | undefined> {
    if (following.snapshot || following.throughPauses) return undefined;
    const stands = await confirmed(run, following, context, undefined);
    return stands?.status === "paused" ? stands : undefined;
  }

  function connect(run: string) {
    return context.open(
      workflows.events,
      {
        workflow_run_id: run,
        ...(following.snapshot && { include_state_snapshot: true }),
        ...(following.throughPauses && { continue_on_pause: true }),
      },
      connected ? { retries: 0 } : {},
    );
  }

  /** What may be missing between two connections; a run that has ended does not even replay nodes. */
  function gap(run: string): ServerEvent {
    text.gap();
    tally.gaps++;
    const missing = ["text", "reasoning", "iterations", "loops", "agent logs"];
    return own("_gap", run, { missing });
  }

  /** What the outputs of the ended run hold of a text that was not shown whole. */
  function filled(finished: ServerEvent): ServerEvent[] {
    const run = idIn(finished) ?? runId ?? "";
    const found = text.missingIn(valueAt(finished.data, "data.outputs"));
    if (found?.length === 0) return [];
    // Where no gap was seen, only the outputs show that the beginning is missing.
    const announced = tally.gaps > 0 ? [] : [gap(run)];
    return [...announced, ...(found ?? []).map((data) => own("_gap_filled", run, { data }))];
  }
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

/** What an event says about the end: undefined while the run goes on. */
export function finalOutcome(event: ServerEvent, throughPauses: boolean): Outcome | undefined {
  const data = event.data["data"];
  if (event.event === "workflow_finished" && isObject(data)) {
    return {
      status: String(data["status"]),
      error: typeof data["error"] === "string" ? data["error"] : undefined,
      exceptions:
        typeof data["exceptions_count"] === "number" ? data["exceptions_count"] : undefined,
    };
  }
  if (event.event === "workflow_paused" && !throughPauses) {
    const reasons = valueAt(data, "reasons");
    const forms = (Array.isArray(reasons) ? (reasons as unknown[]) : []).flatMap(formIn);
    return { status: "paused", forms };
  }
  return undefined;
}

/** The form a pause waits for; none where it went out by e-mail (server §14). */
function formIn(reason: unknown): NonNullable<Outcome["forms"]> {
  const token = valueAt(reason, "form_token");
  const actions = valueAt(reason, "actions");
  if (typeof token !== "string") return [];
  const ids = Array.isArray(actions)
    ? actions.map((action: unknown) => String(valueAt(action, "id")))
    : [];
  const inputs = valueAt(reason, "inputs");
  const usual = valueAt(reason, "resolved_default_values");
  const names = (Array.isArray(inputs) ? (inputs as unknown[]) : [])
    .filter((input) => !valueAt(input, "default.value"))
    .map((input) => String(valueAt(input, "output_variable_name")))
    .filter((name) => !valueAt(usual, name));
  return [{ token, actions: ids, inputs: names }];
}

/** Asks run detail: an outcome when nothing more is to be followed, undefined while the run goes on. */
async function confirmed(
  runId: string,
  following: Following,
  context: Context,
  streamError: string | undefined,
): Promise<Outcome | undefined> {
  try {
    const detail = await context.call(workflows.show, { workflow_run_id: runId });
    const { status, error } = detail;
    if (isEnded(status)) return { status, error };
    if (status === "paused" && !(following.reconnect && following.throughPauses)) return { status };
    if (streamError !== undefined) return { status: "failed", error: streamError };
    return undefined;
  } catch (error) {
    if (context.signal.aborted) throw resumable(error, runId);
    const transient =
      error instanceof CliError &&
      (error.kind === "network" || error.kind === "failure" || error.told.retryable === true);
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
  if (error instanceof ApiError && error.refusal.status < 500 && !error.told.retryable) throw error;
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
  return new ApiError(error.kind, error.message, error.refusal, {
    ...error.told,
    hint: reconnecting
      ? "the run was readable before: is --user the one that started it?"
      : "a run is readable by the end user that started it (--user) with the key of its application (--app); console runs are not; check the id with `wf logs`",
  });
}

const resumable = (error: unknown, runId: string | undefined): unknown =>
  error instanceof CliError && runId !== undefined
    ? new CliError(error.kind, error.message, {
        ...error.told,
        changed: undefined,
        hint: `the run goes on; wf events ${runId} --follow shows it again`,
      })
    : error;

/** A stream that makes no sense says nothing about the run, which goes on. */
const goingOn = (error: CliError, runId: string | undefined): unknown =>
  runId === undefined
    ? new CliError(error.kind, error.message, { ...error.told, ...mayHaveStarted })
    : resumable(error, runId);

const mayHaveStarted = {
  changed: "unknown",
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
