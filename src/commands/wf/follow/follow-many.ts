import type { EventBatches, ServerEvent } from "../../../api/sse.ts";
import { CliError } from "../../../errors.ts";
import type { FollowResult } from "./follow.ts";
import { raiseOutcome } from "../../../runs/outcome.ts";
import type { Context } from "../../command-spec.ts";

/** Lines open at once: a stock server serves ten connections (server §20). */
const most = 8;

/**
 * Events of several runs as they come, each marked with its run; the runs beyond eight begin when
 * others have ended. Throws the gravest of their ends when all are over, and stops all on an
 * interrupt.
 */
export async function* followMany(
  runs: readonly string[],
  follow: (runId: string) => EventBatches<FollowResult>,
  context: Context,
): EventBatches {
  const waiting = [...runs];
  const names = shortNames(runs);
  const open = new Map<string, { events: EventBatches<FollowResult>; next: Promise<Step> }>();
  const ends: CliError[] = [];

  const step = async (runId: string, events: EventBatches<FollowResult>): Promise<Step> => {
    try {
      const { done, value } = await events.next();
      if (!done) return { runId, batch: value };
      await raiseOutcome(runId, value.outcome, context.notice);
      await context.notice(`${names.get(runId)}: run ${runId} ${value.outcome.status}`);
      return { runId };
    } catch (error) {
      if (!(error instanceof CliError) || context.signal.aborted) throw error;
      await context.notice(`${names.get(runId)}: ${error.message}`);
      return { runId, error };
    }
  };
  const fill = () => {
    for (let run = waiting.shift(); run !== undefined; run = waiting.shift()) {
      const events = follow(run);
      open.set(run, { events, next: step(run, events) });
      if (open.size >= most) return;
    }
  };

  if (runs.length > most) {
    await context.notice(
      `${most} of ${runs.length} runs are followed at once, the others when one has ended: a stock server serves ten connections`,
    );
  }
  fill();
  while (open.size > 0) {
    const { runId, batch, error } = await Promise.race([...open.values()].map(({ next }) => next));
    const line = open.get(runId);
    if (batch && line) {
      line.next = step(runId, line.events);
      yield batch.map((event) => ({ ...event, run: names.get(runId) }));
      continue;
    }
    if (error) ends.push(error);
    open.delete(runId);
    if (waiting.length > 0) fill();
  }
  if (ends.length > 0) throw gravest(ends, runs.length);
}

interface Step {
  readonly runId: string;
  readonly batch?: readonly ServerEvent[];
  readonly error?: CliError;
}

/** The error that is told for all: what could not be read before what failed before what waits. */
function gravest(ends: readonly CliError[], runs: number): CliError {
  const rank = ({ kind }: CliError) => ["paused", "remote-failed"].indexOf(kind) + 1 || 3;
  const [worst] = ends.toSorted((a, b) => rank(b) - rank(a));
  if (worst === undefined || runs === 1) throw worst;
  return new CliError(worst.kind, `${ends.length} of ${runs} runs: ${worst.message}`, {
    ...worst.info,
    isResult: true,
    details: { ends: ends.map(({ kind, message, info }) => ({ kind, message, ...info })) },
  });
}

/** As many characters of the ids as tell them apart, at least eight. */
function shortNames(runs: readonly string[]): ReadonlyMap<string, string> {
  let length = 8;
  while (new Set(runs.map((run) => run.slice(0, length))).size < runs.length) length++;
  return new Map(runs.map((run) => [run, run.slice(0, length)]));
}
