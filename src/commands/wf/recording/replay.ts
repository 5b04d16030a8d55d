import type { EventBatches, ServerEvent } from "../../../api/sse.ts";
import { CliError } from "../../../errors.ts";
import { asText } from "../../../operations/operation.ts";
import { finalOutcome } from "../../../runs/final-event.ts";
import { evaluateWhileFollowing, expectationReport, readExpectations } from "../expect/index.ts";
import type { ExpectInput } from "../expect/index.ts";
import type { FollowResult } from "../follow/index.ts";
import { markUnseen, readRecording } from "./read.ts";
import type { ReadRecording } from "./read.ts";
import { isEnded } from "../../../runs/outcome.ts";
import type { RunOutcome } from "../../../runs/outcome.ts";
import type { Context } from "../../command-spec.ts";

/** Input of `wf replay`. */
interface ReplayInput extends ExpectInput {
  readonly file: string;
  readonly speed?: string | undefined;
  /** ms. */
  readonly idle_limit?: number | undefined;
}

/** Shows a recording as `wf events` showed the run, and ends as that run did. */
export async function* run(input: ReplayInput, context: Context): EventBatches {
  const expectations = await readExpectations(input, context);
  const events = evaluateWhileFollowing(replayed(input, context), expectations, context);
  try {
    const watched = yield* events;
    markUnseen(watched.trace, watched.read);
    await expectationReport(watched, expectations, context);
  } finally {
    await events.return(undefined as never); // where nobody reads on; it has ended otherwise
  }
}

/**
 * Events of a recording, each when its time has come; returns what became of the run and what is
 * known of the recording. Each carries in `at` when it came. Throws usage for a file that is no recording and cut for one that ends
 * before its run.
 */
async function* replayed(
  input: ReplayInput,
  context: Context,
): EventBatches<FollowResult & { readonly read: ReadRecording }> {
  const pace = paceOf(input, context);
  const reading = readRecording(input.file, context);
  let runId: string | undefined;
  let outcome: RunOutcome | undefined;
  for (;;) {
    const next = await reading.next();
    if (next.done) {
      const { value: read } = next;
      const { end } = read;
      // The closing event can be missing where run detail told the end.
      if (!outcome && end && isEnded(end.why)) outcome = { status: end.why };
      if (outcome) return { runId: runId ?? "of unknown id", outcome, read };
      throw cut(input.file, runId);
    }
    let due: ServerEvent[] = [];
    for (const event of next.value) {
      const wait = pace(event.at);
      if (wait >= 1) {
        if (due.length > 0) yield due;
        due = [];
        await context.host.sleep(wait, context.signal).catch(() => {
          throw context.abortError();
        });
      }
      due.push(event);
      const run = event.data["workflow_run_id"];
      if (typeof run === "string") runId ??= run;
      outcome = outcomeAfter(event, outcome);
    }
    if (due.length > 0) yield due;
  }
}

/** How the run stands after an event; undefined while it goes on. */
function outcomeAfter(event: ServerEvent, before: RunOutcome | undefined): RunOutcome | undefined {
  if (event.event === "workflow_started") return undefined;
  if (event.event === "error") return { status: "failed", error: asText(event.data["message"]) };
  return finalOutcome(event, false) ?? before;
}

const cut = (file: string, runId: string | undefined): CliError =>
  new CliError("cut", `the recording ${file} ends before its run did`, {
    isResult: true,
    details: { run: runId ?? null },
    hint:
      runId === undefined
        ? "it was cut off before the run was named"
        : `wf show ${runId} tells how it ended`,
  });

/** ms that a timer can wait. */
const longestWait = 2 ** 31 - 1;

/** Gives how many ms to wait until an event of that time is to be shown. */
function paceOf({ speed, idle_limit: limit = Infinity }: ReplayInput, { host }: Context) {
  const factor = speed === undefined ? (host.stdout.isTTY ? 1 : Infinity) : speedIn(speed);
  const begin = host.elapsed();
  let last: number | undefined;
  let due = begin;
  return (at: number): number => {
    if (factor === Infinity) return 0;
    due += Math.min(at - (last ?? at), limit) / factor;
    last = at;
    return Math.min(longestWait, due - host.elapsed());
  };
}

/** `5x`, `0.5x` or `max`. */
function speedIn(text: string): number {
  if (text === "max") return Infinity;
  const number = Number(/^(\d+(?:\.\d+)?)x?$/.exec(text)?.[1]);
  if (number > 0) return number;
  throw new CliError("usage", `--speed ${JSON.stringify(text)} is no speed`, {
    sideEffect: "none",
    hint: "speeds look like 5x, 0.5x or max",
  });
}
