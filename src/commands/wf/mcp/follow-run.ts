import type { EventBatches, EventStage } from "../../../api/sse.ts";
import { pipe, resultOfStream } from "../../../lib/pipe.ts";
import type { ServerEvent } from "../../../lib/server-event.ts";
import type { RunOutcome } from "../../../runs/outcome.ts";
import type { Context } from "../../task/command-spec.ts";
import type { ClientRequest } from "../../shared/mcp/index.ts";
import { ReplyCollector } from "../chat/index.ts";

/** ms between two signs of life of a run without events. */
const HEARTBEAT = 5000;

/** The end of a run that was watched: its reply, its outputs and how it ended or paused. */
export interface FollowedRun {
  readonly reply: ReplyCollector;
  readonly outputs: unknown;
  readonly runId: string | undefined;
  /** Undefined if there is no run behind the reply. */
  readonly outcome: RunOutcome | undefined;
}

/**
 * Reads the events of a run to their end and reports its progress: the seconds since its start, with the
 * node that runs.
 */
export async function watchRun<R extends { readonly outcome?: RunOutcome | undefined }>(
  events: EventBatches<R>,
  { progress }: Pick<ClientRequest, "progress">,
  { host }: Context,
): Promise<FollowedRun> {
  const reply = new ReplyCollector();
  const start = host.elapsed();
  let outputs: unknown;
  let nodes = 0;
  let current: string | undefined;
  const report = () => {
    const done = (host.elapsed() - start) / 1000;
    const note = `${nodes} ${nodes === 1 ? "node" : "nodes"} finished`;
    progress({ verb: "Running for", done, unit: "s", note, current });
  };
  const read = ({ event, fields }: ServerEvent) => {
    if (event === "node_started") current = fields.title ?? current;
    if (event === "node_finished") nodes++;
    if (event === "workflow_finished") outputs = fields.outputs;
  };
  const watch: EventStage<R> = {
    batch(batch) {
      for (const event of batch) {
        reply.add(event);
        read(event);
      }
      report();
      return batch;
    },
  };
  const ended = new AbortController();
  void heartbeat(report, host, ended.signal);
  try {
    const { outcome } = await resultOfStream(pipe(events, watch));
    return { reply, outputs, runId: reply.id("workflow_run_id"), outcome };
  } finally {
    ended.abort();
  }
}

/** A client that hears nothing for a minute gives up. */
async function heartbeat(report: () => void, host: Context["host"], end: AbortSignal) {
  while (!end.aborted) {
    await host.sleep(HEARTBEAT, end).catch(() => {});
    if (!end.aborted) report();
  }
}
