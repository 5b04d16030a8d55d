import { CliError, notFound } from "../../../errors.ts";
import type { RunState } from "../../../follow/run-state.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { valueAt } from "../../../lib/json.ts";
import { counted } from "../../../lib/text.ts";
import { isEnded } from "../../../runs/outcome.ts";
import { spansOf } from "../../../runs/spans.ts";
import { countSteps } from "../../../runs/trace.ts";
import type { RunTrace } from "../../../runs/trace.ts";
import type { Context } from "../../task/command-spec.ts";
import { nodesIn, savedRecordings } from "../recording/index.ts";
import { readRunState } from "../runs/index.ts";

/**
 * Yields the nodes of a run whose events this machine has. Throws not-found if it has none, and `partial` if
 * they are not whole.
 */
export async function* nodesOfRun(runId: string, context: Context): AsyncGenerator<unknown> {
  const state = await readRunState(runId, context).catch(async (error: unknown) => {
    if (!(error instanceof CliError) || error.kind !== "not-found") throw error;
    await context.notice(`${error.message}; its nodes are those that this machine has`);
    return undefined;
  });
  const loaded = await (await savedRecordings(context)).load(runId);
  if (!loaded)
    throw notFound(
      `the events of run ${runId} are not on this machine`,
      `the server has no nodes of ended runs; ${commandLine("wf run", [], { record: "FILE" })} records a run, KB_REMEMBER_RUNS=30d remembers each`,
    );
  yield* nodesIn(spansOf(loaded.trace).top);
  const missing = missingIn(loaded.trace, state);
  if (missing === undefined) return;
  throw new CliError("partial", `the events of run ${runId} here are not whole: ${missing}`, {
    isResult: true,
  });
}

/** What the events of a run lack, by themselves and by the server's record; undefined if they are whole. */
function missingIn(trace: RunTrace, state: RunState | undefined): string | undefined {
  const { status = trace.status, record } = state ?? {};
  const isAtEnd = trace.status === status && (isEnded(status) || status === "paused");
  if (!isAtEnd && trace.status === status) return `the run is ${status}`;
  if (!isAtEnd) return `they end while it is ${trace.status}, the run is ${status}`;
  const steps = countSteps(trace);
  const all = Number(valueAt(record, "total_steps"));
  if (all > steps) return `they have ${counted(steps, "step")} of ${all}`;
  return trace.gaps > 0 || trace.nodesMissing ? "some were lost" : undefined;
}
