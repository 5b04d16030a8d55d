import { type Call, HttpError, type Reply } from "../http/handler.ts";
import { atLeast } from "../http/router.ts";
import { endEvents, eventStream } from "../http/sse.ts";
import { toSeconds, workflowId } from "../storage/ids.ts";
import { type AppContext, isStreaming } from "./context.ts";
import { dataLine, PING } from "./run-events.ts";

interface Start {
  readonly app: string;
  readonly inputs: unknown;
}

/**
 * The reply to a streaming start with invalid inputs: the server's worker checks them after the
 * status 200 was sent. Since 1.15 the stream shows a run that is stored nowhere; in 1.14 it shows
 * the error, and then pings (server §13). Rethrows any other error.
 */
export function rejectedStart(
  error: unknown,
  start: Start,
  call: Call,
  { records, channels, clock, closing }: AppContext,
): Reply {
  const isRejection = error instanceof HttpError && error.code === "invalid_param";
  if (!isRejection || !isStreaming(call) || !atLeast(call.version, "1.14.0")) throw error;
  const id = records.newId();
  if (atLeast(call.version, "1.15.0")) {
    return { stream: failedRun(id, start, error.message, toSeconds(records.now())) };
  }
  const first = [dataLine({ event: "error", message: error.message, status: 500 })];
  const subscription = channels.subscribe(id, call.version);
  const signal = AbortSignal.any([call.signal, closing]);
  return { stream: eventStream(subscription, { first, endsOn: endEvents.never }, clock, signal) };
}

/** The events of a run that starts and fails at once and cannot be queried later. */
async function* failedRun(
  id: string,
  { app, inputs }: Start,
  error: string,
  at: number,
): AsyncGenerator<string> {
  const common = { task_id: id, workflow_run_id: id };
  const run = { id, workflow_id: workflowId(app) };
  yield PING;
  const started = { ...run, inputs, created_at: at, reason: "initial" };
  yield dataLine({ event: "workflow_started", ...common, data: started });
  const finished = {
    ...run,
    status: "failed",
    outputs: null,
    error,
    elapsed_time: 0,
    total_tokens: 0,
    total_steps: 0,
    created_by: {},
    created_at: at,
    finished_at: at,
    exceptions_count: 1,
    files: [],
  };
  yield dataLine({ event: "workflow_finished", ...common, data: finished });
}
