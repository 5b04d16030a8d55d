import { type Call, type Clock, HttpError, type Reply } from "../http/handler.ts";
import { newId, toSeconds, workflowId } from "../storage/ids.ts";
import { atLeast } from "../http/router.ts";
import { PING } from "./run-events.ts";
import { type Channels, endEvents, eventStream } from "../http/sse.ts";

/** What a stream needs to tell that nothing was started. */
interface Place {
  readonly channels: Channels;
  readonly clock: Clock;
  readonly random: () => number;
  readonly closing: AbortSignal;
}

/**
 * A streaming start whose inputs are refused: the server has answered 200 already, as its worker
 * looks at them. Since 1.15 the stream tells of a run that is stored nowhere; in 1.14 it tells the
 * error, and then pings (server §13). Other failures, and those of older servers, are thrown again.
 */
export function rejectedStart(
  failure: unknown,
  told: { readonly app: string; readonly inputs: unknown },
  call: Call,
  { channels, clock, random, closing }: Place,
): Reply {
  const refused = failure instanceof HttpError && failure.code === "invalid_param";
  if (!refused || !atLeast(call.version, "1.14.0")) throw failure;
  const id = newId(random);
  if (atLeast(call.version, "1.15.0")) {
    return { stream: ghost(id, told, failure.message, toSeconds(clock.now().getTime())) };
  }
  const event = { event: "error", message: failure.message, status: 500 };
  const first = [lineOf(event)];
  const subscription = channels.subscribe(id, call.version);
  const signal = AbortSignal.any([call.signal, closing]);
  return { stream: eventStream(subscription, { first, endsOn: endEvents.never }, clock, signal) };
}

const lineOf = (event: object) => `data: ${JSON.stringify(event)}\n\n`;

/** A run that begins and fails in the same moment, and that nobody can ask for later. */
async function* ghost(
  id: string,
  { app, inputs }: { readonly app: string; readonly inputs: unknown },
  error: string,
  at: number,
): AsyncGenerator<string> {
  const common = { task_id: id, workflow_run_id: id };
  const run = { id, workflow_id: workflowId(app) };
  yield PING;
  const started = { ...run, inputs, created_at: at, reason: "initial" };
  yield lineOf({ event: "workflow_started", ...common, data: started });
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
  yield lineOf({ event: "workflow_finished", ...common, data: finished });
}
