import type { EventBatches } from "../../../api/sse.ts";
import type { ServerEvent } from "../../../lib/server-event.ts";
import { CliError, usage } from "../../../errors.ts";
import { pipe } from "../../../lib/pipe.ts";
import { finalOutcome, isEnded } from "../../../runs/outcome.ts";
import { evaluate, readExpectations } from "../expect/index.ts";
import { NodeTracker } from "../../../follow/event-filter.ts";
import type { FollowResult } from "../../../follow/follow.ts";
import { markMissing, RecordingReader } from "./read.ts";
import type { RecordingInfo } from "./read.ts";
import type { RunOutcome } from "../../../runs/outcome.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { replayParams } from "./command.ts";
import { commandLine } from "../../../lib/command-line.ts";

type ReplayInput = Input<typeof replayParams>;

/** Shows a recording as `wf events` showed the run, and exits as that run ended. */
export async function* run(input: ReplayInput, context: Context): AsyncGenerator<unknown> {
  const expectations = await readExpectations(input, context);
  const evaluation = evaluate(expectations, context);
  const markTrace = ({ info }: ReplayResult) => markMissing(evaluation.trace, info);
  yield* pipe(replayEvents(input, context), { end: markTrace }, evaluation);
  await evaluation.report().catch((error: unknown) => {
    throw withTimelineHint(error, input.file);
  });
}

/** The server may not know the run, or only with another key; the recording is here. */
const withTimelineHint = (error: unknown, file: string): unknown =>
  error instanceof CliError && (error.kind === "remote-failed" || error.kind === "gate")
    ? error.with({
        hint: file === "-" ? undefined : `${commandLine("wf timeline", [file])} shows its nodes`,
      })
    : error;

interface ReplayResult extends FollowResult {
  readonly info: RecordingInfo;
}

/**
 * Yields the events of a recording at its pace, with their original times in `at`; returns the
 * outcome of the run. Throws `usage` for a file that is not a recording, and `cut` for one that ends
 * before its run.
 */
async function* replayEvents(input: ReplayInput, context: Context): EventBatches<ReplayResult> {
  const delayUntil = pacer(input, context);
  const recording = new RecordingReader(input.file, context);
  let runId: string | undefined;
  let outcome: RunOutcome | undefined;
  const nodes = new NodeTracker();
  for await (const batch of recording.read()) {
    let due: ServerEvent[] = [];
    for (const event of batch) {
      const delay = delayUntil(event.at);
      if (delay >= 1) {
        if (due.length > 0) yield due;
        due = [];
        await context.pause(delay);
      }
      due.push(event);
      runId ??= event.fields.workflow_run_id;
      nodes.add(event);
      outcome = outcomeAfter(event, outcome);
    }
    if (due.length > 0) yield due;
  }
  const { info } = recording;
  // The final event is missing if the result came from run details.
  if (!outcome && info.end && isEnded(info.end.why)) outcome = { status: info.end.why };
  if (!outcome) throw incompleteRecording(input.file, runId);
  const node = outcome.status === "failed" ? nodes.failed(outcome.error) : undefined;
  return { runId: runId ?? "of unknown id", outcome: { ...outcome, node }, info };
}

/** The outcome of the run after an event; undefined while it is active. */
function outcomeAfter(event: ServerEvent, before: RunOutcome | undefined): RunOutcome | undefined {
  if (event.event === "workflow_started") return undefined;
  if (event.event === "error") return { status: "failed", error: event.fields.message };
  return finalOutcome(event, false) ?? before;
}

const incompleteRecording = (file: string, runId: string | undefined): CliError =>
  new CliError("cut", `recording ${file} ends before the run finished`, {
    isResult: true,
    details: { run: runId ?? null },
    hint:
      runId === undefined
        ? "the recording contains no run ID"
        : `run ${commandLine("wf show", [runId])} for the result of the run`,
  });

/** Maximum delay of a timer in ms. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** Returns the ms to wait before showing an event with this time. */
function pacer({ speed, idle_limit: limit = Infinity }: ReplayInput, { host }: Context) {
  const defaultFactor = host.stdout.isTTY ? 1 : Infinity;
  const factor = speed === undefined ? defaultFactor : parseSpeed(speed);
  let last: number | undefined;
  let due = host.elapsed();
  return (at: number): number => {
    if (factor === Infinity) return 0;
    due += Math.min(at - (last ?? at), limit) / factor;
    last = at;
    return Math.min(MAX_DELAY_MS, due - host.elapsed());
  };
}

/** `5x`, `0.5x` or `max`. */
function parseSpeed(text: string): number {
  if (text === "max") return Infinity;
  const number = Number(/^(\d+(?:\.\d+)?)x?$/.exec(text)?.[1]);
  if (number > 0) return number;
  throw usage(`invalid --speed ${JSON.stringify(text)}: expected a speed such as 5x, 0.5x or max`);
}
