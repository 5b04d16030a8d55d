import type { CallOptions } from "../api/calls.ts";
import type { EventBatches, EventStage } from "../api/sse.ts";
import { ApiError, CliError, codeOf, startRefused } from "../errors.ts";
import { commandLine } from "../lib/command-line.ts";
import { waitForRun } from "./run-state.ts";
import type { Following } from "./run-state.ts";
import { isObject } from "../lib/json.ts";
import { pipe } from "../lib/pipe.ts";
import { serverEvent } from "../lib/server-event.ts";
import type { ServerEvent } from "../lib/server-event.ts";
import type { AnyOperation, InputOf } from "../operations/operation.ts";
import { noteRun, runFinder } from "./started-run.ts";

/** An open event stream that can be closed at any time. */
export interface EventStream {
  readonly events: EventBatches;
  /** Closes the connection; `events` then throws. */
  close(): void;
  /** Looks for the run that it starts, if its events are held back. */
  readonly findRun?: (() => Promise<string | undefined>) | undefined;
}

/** Opens an event stream. Throws what `context.api.open` throws. */
export async function openStream<O extends AnyOperation>(
  operation: O,
  input: InputOf<O>,
  context: Pick<Following, "api">,
  options: CallOptions = {},
): Promise<EventStream> {
  const closed = new AbortController();
  const events = await context.api.open(operation, input, { ...options, signal: closed.signal });
  return { events, close: () => closed.abort() };
}

/** Opens the stream of a run or a reply that it starts; its events throw if the start is rejected. */
export async function startStream<O extends AnyOperation>(
  operation: O,
  input: InputOf<O>,
  context: Pick<Following, "api" | "host">,
): Promise<EventStream> {
  const findRun = runFinder(operation, input, context);
  try {
    const { events, close } = await openStream(operation, input, context);
    return { events: pipe(events, checkStart(), noteRun(context)), close, findRun };
  } catch (error) {
    if (!findRun || !isHeldBack(error)) throw error;
    return { events: failing(error), close() {}, findRun };
  }
}

async function* failing(error: unknown): EventBatches {
  yield* await Promise.reject<EventBatches>(error);
}

/** Is not even a ping received (server §15.2)? A proxy that buffers passes a stream on when it has ended. */
export const isHeldBack = (error: unknown): boolean =>
  /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(codeOf(error instanceof Error && error.cause));

/** What helps against such a proxy. */
export const heldBack =
  "a proxy may hold back its events: turn off buffering there (nginx: proxy_buffering off), or set --idle-timeout longer than the run";

/** The event that ends or pauses a run, made of its record, like the one of an ended run (server §15.3). */
export function recordedEnd(
  workflow_run_id: string,
  through_pauses: boolean,
  context: Following,
): EventStream {
  async function* events(): EventBatches {
    await context.notice(
      `the events of run ${workflow_run_id} are not visible; waiting for its end`,
    );
    const { status, record } = await waitForRun({ workflow_run_id, through_pauses }, context);
    const event = status === "paused" ? "workflow_paused" : "workflow_finished";
    const data = { ...record, status };
    yield [serverEvent({ event, workflow_run_id, task_id: workflow_run_id, data })];
  }
  return { events: events(), close() {} };
}

/**
 * Passes on the events of a run that is being started. Throws `refused` before the first event if the
 * run never began (server §13): the stream starts with an `error`, or the run failed at once and was
 * never stored.
 */
export function checkStart(): EventStage {
  /** Events of a run that may not exist. The caller needs its ID to look for it if the stream fails. */
  let held: readonly ServerEvent[] = [];
  let isConfirmed = false;
  return {
    batch(batch) {
      if (isConfirmed) return batch;
      const all = [...held, ...batch];
      held = [];
      const rejection = rejectionIn(all);
      if (rejection !== undefined) throw rejection;
      isConfirmed = !all.every(isUnconfirmedStart);
      if (isConfirmed) return all;
      held = all;
      return [];
    },
    flush: () => held,
  };
}

/** The task ID equals the run ID only in a stream whose run may not exist. */
const isUnconfirmedStart = ({ event, fields }: ServerEvent): boolean =>
  event === "workflow_started" && fields.task_id === fields.workflow_run_id;

function rejectionIn(events: readonly ServerEvent[]): CliError | undefined {
  const [first] = events;
  if (first?.event === "error" && first.fields.message_id === undefined)
    return startRejected(first.fields.message, first.data);
  const end = first && isUnconfirmedStart(first) ? events.find(isNeverStored) : undefined;
  return end && startRejected(end.fields.error, {});
}

/** The end of a run that was never stored has no creator and no steps. */
function isNeverStored({ event, fields }: ServerEvent): boolean {
  const { status, total_steps: steps, created_by: creator } = fields;
  const hasCreator = isObject(creator) && Object.keys(creator).length > 0;
  return event === "workflow_finished" && status === "failed" && !steps && !hasCreator;
}

function startRejected(
  reason = "no reason given",
  { code, status }: Readonly<Record<string, unknown>>,
): CliError {
  const codes = [status, code].filter(
    (each) => typeof each === "number" || typeof each === "string",
  );
  const suffix = codes.length > 0 ? ` (${codes.join(" ")})` : "";
  return new CliError(
    status === 429 ? "limited" : "refused",
    `failed to start the run: ${reason}${suffix}`,
    { code: startRefused, sideEffect: "none" },
  );
}

/** Returns why to reconnect. Throws errors that a new connection would not repair. */
export function reasonToReconnect(
  thrown: unknown,
  runId: string | undefined,
  context: Following,
): string {
  const error = explainError(thrown, runId, context);
  if (context.signal.aborted) throw error;
  if (error instanceof ApiError && error.response.status < 500 && !error.info.retryable)
    throw error;
  if (error instanceof CliError && (error.kind === "network" || error instanceof ApiError))
    return error.message;
  if (!(error instanceof CliError) || error.kind !== "failure") throw error;
  // An unreadable stream does not affect the run, which continues.
  throw runId === undefined
    ? new CliError(error.kind, error.message, { ...error.info, ...mayHaveStarted })
    : withResumeHint(error, runId);
}

/** Adds a hint: how to resume, or why the run was not found. */
export function explainError(
  error: unknown,
  runId: string | undefined,
  context: Following,
): unknown {
  if (context.signal.aborted) return withResumeHint(error, runId);
  return error instanceof ApiError && error.kind === "not-found"
    ? error.with({ hint: whyNotFound() })
    : error;
}

/** Four causes look alike (server §15.1). */
const whyNotFound = (): string =>
  `a run is visible only to the end user that started it (--user) with the key of its application (--app), and console runs are not visible; check the ID with ${commandLine("wf logs")}`;

/** Explains a failed form submission. */
export function explainFormError(
  error: unknown,
  runId: string | undefined,
  context: Following,
): unknown {
  if (context.signal.aborted) return withResumeHint(error, runId);
  if (!(error instanceof CliError)) return error;
  // A prompt was interrupted or had no valid reply: nothing was submitted.
  if (error.kind === "interrupted" || error.kind === "usage")
    return error.with({ details: { run: runId } });
  return error.with({
    details: { run: runId },
    hint:
      runId &&
      `run ${commandLine("wf events", [runId], { follow: true })} to see whether the run continued`,
  });
}

/** Adds how to follow the run again, which continues on the server. */
export const withResumeHint = (error: unknown, runId: string | undefined): unknown =>
  error instanceof CliError && runId !== undefined
    ? new CliError(error.kind, error.message, {
        ...error.info,
        sideEffect: undefined,
        hint: resumeHint(runId),
      })
    : error;

const resumeHint = (runId: string): string =>
  `the run continues; run ${commandLine("wf events", [runId], { follow: true })} to resume`;

const mayHaveStarted = {
  sideEffect: "unknown",
  hint: `the run may have started; check ${commandLine("wf logs")} before starting it again`,
} as const;

export const streamLost = (runId: string, reason: string): CliError =>
  new CliError("cut", `lost the event stream of run ${runId}: ${reason}`, {
    retryable: true,
    details: { run: runId },
    hint: resumeHint(runId),
  });

/** The stream of a new run ended before its first event. */
export const noRunId = (reason: string, isHeld = false): CliError =>
  new CliError("network", `lost the event stream before the run ID was received: ${reason}`, {
    ...mayHaveStarted,
    ...(isHeld && { hint: `${mayHaveStarted.hint}; ${heldBack}` }),
  });

/** ms without an event until the run's record is read; grows by half each time. */
const FIRST_CHECK = 2000;
const MAX_CHECK = 15_000;
/** ms that the stream has to catch up with the record. */
const GRACE = 1000;
/** ms of silence until the first notice; the next ones come after five times as long. */
const FIRST_NOTICE = 60_000;

interface SilenceOptions {
  /** Reads the run's record; returns its status if it contradicts the stream. */
  readonly contradiction: (signal: AbortSignal) => Promise<string | undefined>;
  /** Closes the stream. */
  readonly leave: (status: string) => void;
  /** Reports a long silence that nothing contradicts. */
  readonly report: (seconds: number) => Promise<void>;
}

/** The watch of a stream: call `pause` while events are processed, `resume` to wait for the next one. */
export type SilenceWatch = ReturnType<typeof watchSilence>;

/**
 * Watches a stream for silence. Pings are no sign of life: on some servers, a listener that leaves a
 * run silences all others, which then receive only pings although the run continues and ends (server
 * §15.7). So after two seconds without an event the run's record is read, then less and less often,
 * at least every 15 s. The stream is left only when the record contradicts it (the run has ended, is
 * paused, or has resumed) and no such event arrives within a second.
 *
 * While the stream and the record agree, the stream is kept: a slow node looks the same, and leaving
 * would silence other listeners, including those of the next connection, and lose text. What a
 * silenced stream misses comes with a snapshot when the server closes it after five minutes, or with
 * the end of the run; either way a gap is announced.
 */
export function watchSilence(
  { contradiction, leave, report }: SilenceOptions,
  host: Following["host"],
) {
  const stopped = new AbortController();
  const { signal } = stopped;
  let lastEventAt = host.elapsed();
  let isPaused = false;
  let wake = () => {};
  const watch = async (): Promise<void> => {
    let since = NaN;
    let [interval, checkAt, suspected, noticeAfter] = [0, 0, false, 0];
    while (!signal.aborted) {
      if (isPaused) await new Promise<void>((resolve) => (wake = resolve));
      if (lastEventAt !== since) {
        since = lastEventAt;
        interval = FIRST_CHECK;
        checkAt = since + interval;
        suspected = false;
        noticeAfter = FIRST_NOTICE;
      }
      const remaining = checkAt - host.elapsed();
      if (remaining > 0) {
        await host.sleep(remaining, signal);
        continue;
      }
      const status = await contradiction(signal);
      if (signal.aborted || isPaused || lastEventAt !== since) continue;
      if (status !== undefined && suspected) return leave(status);
      suspected = status !== undefined;
      interval = Math.min(MAX_CHECK, interval * 1.5);
      checkAt = host.elapsed() + (suspected ? GRACE : interval);
      const silence = host.elapsed() - since;
      if (suspected || silence < noticeAfter) continue;
      noticeAfter *= 5;
      await report(Math.round(silence / 1000));
    }
  };
  // Fails only when the stream is closed or the process is interrupted, which the stream reports.
  watch().catch(() => {});
  return {
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      lastEventAt = host.elapsed();
      wake();
    },
    stop() {
      stopped.abort();
      wake();
    },
  };
}
