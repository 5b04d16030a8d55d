import type { EventStage } from "../../../api/sse.ts";
import { CliError } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import type { Input } from "../../../operations/operation.ts";
import { endingOf } from "../../../runs/outcome.ts";
import { RunTrace } from "../../../runs/trace.ts";
import type { ExportedRun } from "../../../runs/otlp.ts";
import type { Context } from "../../task/command-spec.ts";
import { traceEvents } from "../expect/index.ts";
import type { FollowResult } from "../../../follow/follow.ts";
import { local } from "../../../operations/operation.ts";

export const otlpParams = {
  otlp: local.text("Also send traces to the OpenTelemetry collector at this URL (OTLP over HTTP)", {
    placeholder: "url",
    length: [1, 2048],
  }),
};

/**
 * Makes stages, one for each run that is followed, which send its trace to the collector of --otlp when the
 * following ends. What fails there is a notice: the run alone decides the exit code. Throws `usage` for a URL
 * that cannot be used.
 */
export async function traceStages(
  { otlp }: Input<typeof otlpParams>,
  context: Context,
): Promise<() => EventStage<FollowResult>> {
  if (otlp === undefined) return () => ({});
  const { traceSender } = await import("./send.ts");
  const send = traceSender(otlp, context);
  const { notice, host } = context;
  return () => {
    const trace = new RunTrace();
    const finish = async () => {
      const run = runOfTrace(trace);
      if (!run) return;
      if (trace.nodesMissing || trace.unwatched)
        await notice(`the trace of run ${run.id} may lack nodes: not all of its events were seen`);
      try {
        if (host.signal.aborted) throw new CliError("failure", "the trace was not sent");
        await send([run]);
      } catch (error) {
        if (!(error instanceof CliError)) throw error;
        const again = commandLine("wf logs export", [], { otlp, keyword: run.id });
        await notice(`${error.message}; send the run again with ${again}`);
      }
    };
    return {
      ...traceEvents(trace, context),
      end({ outcome }) {
        trace.status = endingOf(outcome);
        trace.error ??= outcome.error ?? undefined;
        return finish();
      },
      failed: finish,
      abandoned: finish,
    };
  };
}

/** The run that a trace is of; undefined if it has no events of one. */
function runOfTrace(trace: RunTrace): ExportedRun | undefined {
  const { runId: id, status, error, tokens, steps, startedAt, lastAt } = trace;
  if (id === undefined || startedAt === undefined || lastAt === undefined) return undefined;
  return { id, status, error, tokens, steps, startedAt, endedAt: lastAt, trace };
}

/** What writes and sends traces, which only commands with such a flag load. */
export const traceTools = () => import("./send.ts");
