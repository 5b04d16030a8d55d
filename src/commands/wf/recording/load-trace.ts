import { CliError, usage } from "../../../errors.ts";
import { RunTrace } from "../../../runs/trace.ts";
import { pipe, resultOfStream } from "../../../lib/pipe.ts";
import { isIdPrefix, isUuid } from "../../../lib/text.ts";
import { followRun } from "../follow/index.ts";
import type { FollowResult } from "../follow/index.ts";
import { markMissing, RecordingReader } from "./read.ts";
import { endingOf } from "../../../runs/outcome.ts";
import { isEnded } from "../../../runs/status.ts";
import type { Context } from "../../task/command-spec.ts";
import { traceEvents } from "../expect/index.ts";

/** The trace of a recorded or active run. */
export interface LoadedTrace {
  /** The recording or the run ID from the command line. */
  readonly source: string;
  readonly trace: RunTrace;
  /** Whether times are those at which events arrived, not whole seconds of the server. */
  readonly timed: boolean;
  /** The error that stopped following before the run ended; reported after the result. */
  readonly problem: CliError | undefined;
}

/**
 * Loads the trace of a recording, or follows the run with this ID until it ends or is waiting for
 * human input. The server does not keep the node events of ended runs (server §15.3).
 */
export async function loadTrace(source: string, context: Context): Promise<LoadedTrace> {
  if (isUuid(source)) return traceOfRun(source, context);
  const isFile = !isIdPrefix(source) || (await context.host.files.stat(source)) !== null;
  return isFile
    ? traceOfRecording(source, context)
    : traceOfRun(await context.resolveId("run", source), context);
}

async function traceOfRecording(path: string, context: Context): Promise<LoadedTrace> {
  const trace = new RunTrace();
  const recording = new RecordingReader(path, context);
  for await (const batch of recording.read()) {
    for (const event of batch) {
      const { workflow_run_id: run = trace.runId } = event.fields;
      if (run !== (trace.runId ?? run)) throw mixedRuns(path, trace);
      trace.add(event, event.at);
    }
  }
  const { info } = recording;
  // The final event is missing if the result came from run details.
  if (info.end && trace.status === "running" && isEnded(info.end.why)) trace.status = info.end.why;
  trace.status = endingOf(trace);
  markMissing(trace, info);
  return { source: path, trace, timed: info.timed, problem: undefined };
}

const mixedRuns = (path: string, { runId = "" }: RunTrace): CliError =>
  usage(
    `${path} contains events of several runs`,
    `select one run: jq -c 'select(.workflow_run_id == "${runId}")'`,
  );

async function traceOfRun(runId: string, context: Context): Promise<LoadedTrace> {
  const trace = new RunTrace();
  const following = { runId, reconnect: true, throughPauses: false, snapshot: true };
  let problem: CliError | undefined;
  try {
    const end = ({ outcome }: FollowResult) => {
      trace.status = endingOf(outcome);
    };
    const events = followRun(following, context);
    await resultOfStream(pipe(events, traceEvents(trace, context), { end }));
  } catch (error) {
    // The nodes received so far are still worth showing.
    if (!(error instanceof CliError) || trace.nodes.length === 0) throw error;
    problem = error.with({ isResult: true });
  }
  return { source: runId, trace, timed: true, problem };
}
