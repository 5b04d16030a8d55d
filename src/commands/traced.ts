import { CliError } from "../errors.ts";
import { followed } from "./following.ts";
import { readRecording } from "./recording.ts";
import { runTrace } from "../run-trace.ts";
import type { RunTrace } from "../run-trace.ts";
import type { Context } from "./task.ts";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * What a recording tells of its run, or what a run that goes on tells until it has ended. Throws
 * unsupported for a run that is over: no server keeps the events of its nodes (server §15.3).
 */
export async function traced(place: string, context: Context): Promise<RunTrace> {
  const tracing = runTrace();
  if ((await context.host.files.stat(place)) === null && uuid.test(place)) {
    const following = { runId: place, reconnect: true, throughPauses: false, snapshot: true };
    for await (const batch of followed(following, context)) {
      const now = context.host.now().getTime();
      for (const event of batch) tracing.see(event, now);
    }
  } else {
    for await (const { at, event } of readRecording(place, context)) tracing.see(event, at);
  }
  if (tracing.trace.nodes.length > 0) return tracing.trace;
  throw new CliError("unsupported", `${place} holds no events of nodes`, {
    changed: "nothing",
    hint: "no server keeps them once a run is over: record it with wf run --record FILE",
  });
}
