import type { EventBatches, EventStage } from "../../../api/sse.ts";
import { changedInJson, CliError, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { formatSeconds } from "../../../lib/numbers.ts";
import { pipe } from "../../../lib/pipe.ts";
import type { ServerEvent } from "../../../lib/server-event.ts";
import { counted } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import { raiseOutcome } from "../../../runs/outcome.ts";
import type { Context } from "../../task/command-spec.ts";
import { evaluate, readExpectations } from "../expect/index.ts";
import { followDisplayed, TextStream } from "../follow/index.ts";
import { newFollowCounts } from "../../../follow/event-filter.ts";
import type { FollowCounts } from "../../../follow/event-filter.ts";
import type { FollowResult } from "../../../follow/follow.ts";
import { traceStages } from "../otlp/index.ts";
import { checkRecord, recordTo } from "../recording/index.ts";
import type { eventsParams } from "./command.ts";

type EventsInput = Input<typeof eventsParams>;

/** Yields the events or the text of runs; throws their outcome or failed expectations. */
export async function* run(input: EventsInput, context: Context): AsyncGenerator<unknown> {
  const kinds = parseKinds(input.only);
  const runIds = [...new Set(input.workflow_run_id)];
  const [runId = "", ...others] = runIds;
  const asText = Boolean(input.text || input.reasoning);
  checkFlags(input, asText, others.length > 0, context);
  await checkRecord(input, context);
  const expectations = await readExpectations(input, context);
  const counts = newFollowCounts();
  const options = {
    reconnect: input.follow ?? false,
    throughPauses: input.through_pauses ?? false,
    snapshot: !input.no_snapshot,
  };
  const traced = await traceStages(input, context);
  const follow = (id: string) =>
    pipe(followDisplayed({ ...options, runId: id }, context, counts), traced());
  if (others.length > 0) {
    const merged = followMany(runIds, follow, context);
    yield* pipe(merged, countEvents(counts, context), filterKinds(kinds));
    return;
  }
  const evaluation = evaluate(expectations, context);
  const events = pipe(
    follow(runId),
    countEvents(counts, context),
    recordTo(input, context),
    evaluation,
    filterKinds(kinds),
  );
  const text = new TextStream({ ...input, late: true }, context);
  yield* asText ? text.read(events) : events;
  if (counts.events === 1 && !asText && options.snapshot) await context.notice(onlyFinalEvent);
  await evaluation.report();
  if (text.incomplete) throw text.incomplete;
}

/** The server sends only the last event of an ended run (server §15.3). */
const onlyFinalEvent = `the run has already ended, so the server sends no node events; record them with ${commandLine("wf run", [], { record: "FILE" })}`;

function checkFlags(
  input: EventsInput,
  asText: boolean,
  isMany: boolean,
  { options }: Context,
): void {
  if (isMany && input.record !== undefined) throw usage("--record takes a single run");
  if (isMany && (input.expect || input.junit !== undefined))
    throw usage("--expect and --junit take a single run");
  if (!asText) return;
  if (isMany) throw usage("--text and --reasoning take a single run");
  if (input.only)
    throw usage("--only filters events; it cannot be used with --text or --reasoning");
  if (options.typed !== undefined)
    throw usage("--text and --reasoning cannot be used with -o, --json or --jq");
}

/** Event kinds of `--only a,b --only c`; undefined for all kinds. */
function parseKinds(only: readonly string[] = []): ReadonlySet<string> | undefined {
  const kinds = only.flatMap((each) => each.split(",")).map((kind) => kind.trim());
  const invalid = kinds.find((kind) => !/^[a-z_]+$/.test(kind));
  if (invalid !== undefined) {
    throw usage(
      `--only: invalid event kind ${JSON.stringify(invalid)}`,
      "examples: node_finished, text_chunk, workflow_finished",
    );
  }
  return kinds.length === 0 ? undefined : new Set(kinds);
}

/** Prints a summary line when the events end, for whatever reason; none if they never began. */
function countEvents(counts: FollowCounts, context: Context): EventStage {
  const start = context.host.elapsed();
  const summarize = () => {
    const seconds = (context.host.elapsed() - start) / 1000;
    return context.notice(`${summaryOf(counts)} in ${formatSeconds(seconds)}`);
  };
  const failed = () => (counts.events === 0 ? Promise.resolve() : summarize());
  return { end: summarize, failed, abandoned: summarize };
}

/** Example: `24 events, 2 reconnects, 7 duplicates dropped, 1 gap`; zeros are not shown. */
const summaryOf = ({ events, reconnects, repeats, gaps }: FollowCounts): string =>
  [
    counted(events, "event"),
    reconnects > 0 && counted(reconnects, "reconnect"),
    repeats > 0 && `${counted(repeats, "duplicate")} dropped`,
    gaps > 0 && counted(gaps, "gap"),
  ]
    .filter(Boolean)
    .join(", ");

/** Keeps events of these kinds, and those of this program; all by default. */
const filterKinds = (kinds: ReadonlySet<string> | undefined): EventStage =>
  kinds
    ? { batch: (batch) => batch.filter(({ event }) => kinds.has(event) || event.startsWith("_")) }
    : {};

/** Streams open at once: a default server serves ten connections (server §20). */
const MAX_STREAMS = 8;

type Follow = (runId: string) => EventBatches<FollowResult>;

/**
 * Follows several runs at once, each event marked with its run; waiting runs start when others have
 * ended. Throws the worst outcome when all have ended; an interrupt stops all.
 */
async function* followMany(
  runIds: readonly string[],
  follow: Follow,
  context: Context,
): EventBatches {
  const waiting = [...runIds];
  const names = shortNames(runIds);
  const open = new Map<string, { events: EventBatches<FollowResult>; next: Promise<Step> }>();
  const errors: CliError[] = [];
  const nextStep = (runId: string, events: EventBatches<FollowResult>) =>
    readStep(runId, names.get(runId) ?? runId, events, context);
  const fill = () => {
    while (open.size < MAX_STREAMS && waiting.length > 0) {
      const runId = waiting.shift() ?? "";
      const events = follow(runId);
      open.set(runId, { events, next: nextStep(runId, events) });
    }
  };

  if (runIds.length > MAX_STREAMS) {
    await context.notice(
      `following ${MAX_STREAMS} of ${runIds.length} runs at a time: a default server allows ten connections`,
    );
  }
  fill();
  while (open.size > 0) {
    const { runId, batch, error } = await Promise.race([...open.values()].map(({ next }) => next));
    const stream = open.get(runId);
    if (batch && stream) {
      stream.next = nextStep(runId, stream.events);
      yield batch.map((event) => ({ ...event, run: names.get(runId) }));
      continue;
    }
    if (error) errors.push(error);
    open.delete(runId);
    fill();
  }
  if (errors.length > 0) throw worstOf(errors, runIds.length);
}

/** A batch of a run, or its end. */
interface Step {
  readonly runId: string;
  readonly batch?: readonly ServerEvent[];
  readonly error?: CliError;
}

async function readStep(
  runId: string,
  name: string,
  events: EventBatches<FollowResult>,
  { notice, host }: Context,
): Promise<Step> {
  try {
    const { done, value } = await events.next();
    if (!done) return { runId, batch: value };
    await raiseOutcome(runId, value.outcome, notice);
    await notice(`${name}: run ${runId} ${value.outcome.status}`);
    return { runId };
  } catch (error) {
    if (!(error instanceof CliError) || host.signal.aborted) throw error;
    await notice(`${name}: ${error.message}`);
    return { runId, error };
  }
}

/** The error that stands for all: a lost stream before a failed run before a paused one. */
function worstOf(errors: readonly CliError[], runs: number): CliError {
  const rank = ({ kind }: CliError) => ["paused", "remote-failed"].indexOf(kind) + 1 || 3;
  const [worst] = errors.toSorted((a, b) => rank(b) - rank(a));
  if (worst === undefined || runs === 1) throw worst;
  return new CliError(worst.kind, `${errors.length} of ${runs} runs: ${worst.message}`, {
    ...worst.info,
    isResult: true,
    details: { ends: errors.map(errorDetails) },
  });
}

/** An error in the details of another one; the fields are stable. */
const errorDetails = ({ kind, message, info: { isResult, sideEffect, ...info } }: CliError) => ({
  kind,
  message,
  ...info,
  ...(isResult !== undefined && { verdict: isResult }),
  ...(sideEffect && { changed: changedInJson[sideEffect] }),
});

/** Shortest prefixes that tell the IDs apart, of at least eight characters. */
function shortNames(runIds: readonly string[]): ReadonlyMap<string, string> {
  let length = 8;
  while (new Set(runIds.map((id) => id.slice(0, length))).size < runIds.length) length++;
  return new Map(runIds.map((id) => [id, id.slice(0, length)]));
}
