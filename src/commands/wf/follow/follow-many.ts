import type { EventBatches } from "../../../api/sse.ts";
import type { ServerEvent } from "../../../lib/server-event.ts";
import { changedInJson, CliError } from "../../../errors.ts";
import type { FollowResult } from "./follow.ts";
import { raiseOutcome } from "../../../runs/outcome.ts";
import type { Context } from "../../task/command-spec.ts";

/** Streams open at once: a default server serves ten connections (server §20). */
const MAX_STREAMS = 8;

type Follow = (runId: string) => EventBatches<FollowResult>;

/**
 * Follows several runs at once, each event marked with its run; waiting runs start when others have
 * ended. Throws the worst outcome when all have ended; an interrupt stops all.
 */
export async function* followMany(
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
  { notice, signal }: Context,
): Promise<Step> {
  try {
    const { done, value } = await events.next();
    if (!done) return { runId, batch: value };
    await raiseOutcome(runId, value.outcome, notice);
    await notice(`${name}: run ${runId} ${value.outcome.status}`);
    return { runId };
  } catch (error) {
    if (!(error instanceof CliError) || signal.aborted) throw error;
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
