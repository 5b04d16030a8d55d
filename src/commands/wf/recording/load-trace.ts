import { CliError } from "../../../errors.ts";
import { runTrace } from "../../../runs/trace.ts";
import type { RunTrace } from "../../../runs/trace.ts";
import { followRun } from "../follow/index.ts";
import { markUnseen, readRecording } from "./read.ts";
import { endingOf, isEnded } from "../../../runs/outcome.ts";
import type { Context } from "../../command-spec.ts";

/** What is known of a run. */
export interface LoadedTrace {
  /** The recording or the run, as it was typed. */
  readonly place: string;
  readonly trace: RunTrace;
  /** Are times those at which events came, or whole seconds of the server? */
  readonly timed: boolean;
  /** What ended the following of a run before the run itself ended; a verdict. */
  readonly problem: CliError | undefined;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * What a recording tells of its run, or, for a run id, what the run tells until it has ended or
 * waits for a person. Of a run that is over no server keeps the events of its nodes (server §15.3).
 */
export const loadTrace = (place: string, context: Context): Promise<LoadedTrace> =>
  uuid.test(place) ? ofRun(place, context) : ofRecording(place, context);

async function ofRecording(place: string, context: Context): Promise<LoadedTrace> {
  const { add, trace } = runTrace();
  const reading = readRecording(place, context);
  for (;;) {
    const next = await reading.next();
    if (next.done) {
      const { timed, end } = next.value;
      // The closing event can be missing where run detail told the end.
      if (end && trace.status === "running" && isEnded(end.why)) trace.status = end.why;
      settle(trace);
      markUnseen(trace, next.value);
      return { place, trace, timed, problem: undefined };
    }
    for (const event of next.value) {
      const run = event.data["workflow_run_id"];
      if (typeof run === "string" && run !== (trace.runId ?? run)) throw several(place, trace);
      add(event, event.at);
    }
  }
}

const settle = (trace: RunTrace) => {
  trace.status = endingOf(trace);
};

const several = (place: string, { runId = "" }: RunTrace): CliError =>
  new CliError("usage", `${place} holds the events of several runs`, {
    sideEffect: "none",
    hint: `jq -c 'select(.workflow_run_id == "${runId}")' leaves those of one`,
  });

async function ofRun(runId: string, context: Context): Promise<LoadedTrace> {
  const { add, trace } = runTrace();
  const following = { runId, reconnect: true, throughPauses: false, snapshot: true };
  let problem: CliError | undefined;
  try {
    const events = followRun(following, context);
    for (;;) {
      const next = await events.next();
      if (next.done) {
        trace.status = next.value.outcome.status;
        settle(trace);
        break;
      }
      const now = context.host.now().getTime();
      for (const event of next.value) add(event, now);
    }
  } catch (error) {
    // What was seen until then is still of use.
    if (!(error instanceof CliError) || trace.nodes.length === 0) throw error;
    problem = new CliError(error.kind, error.message, { ...error.info, isResult: true });
  }
  return { place: runId, trace, timed: true, problem };
}
