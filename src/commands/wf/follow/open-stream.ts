import type { CallOptions } from "../../../api/calls.ts";
import type { EventBatches } from "../../../api/sse.ts";
import type { AnyOperation, InputOf } from "../../../operations/operation.ts";
import { pipe } from "../../../lib/pipe.ts";
import type { Context } from "../../task/command-spec.ts";
import { serverEvent } from "../../../lib/server-event.ts";
import { waitForRun } from "../runs/index.ts";
import { checkStart } from "./rejected-start.ts";

/** An open event stream that can be closed at any time. */
export interface EventStream {
  readonly events: EventBatches;
  /** Closes the connection; `events` then throws. */
  close(): void;
}

/** Opens an event stream. Throws what `context.api.open` throws. */
export async function openStream<O extends AnyOperation>(
  operation: O,
  input: InputOf<O>,
  context: Context,
  options: CallOptions = {},
): Promise<EventStream> {
  const closed = new AbortController();
  const events = await context.api.open(operation, input, { ...options, signal: closed.signal });
  return { events, close: () => closed.abort() };
}

/** Opens the stream of a run or a reply that it starts; its events throw if the start is rejected. */
export async function startStream<O extends AnyOperation>(
  operation: O,
  input: InputOf<O>,
  context: Context,
): Promise<EventStream> {
  const { events, close } = await openStream(operation, input, context);
  return { events: pipe(events, checkStart()), close };
}

/** The event that ends or pauses a run, made of its record, like the one of an ended run (server §15.3). */
export function recordedEnd(
  workflow_run_id: string,
  through_pauses: boolean,
  context: Context,
): EventStream {
  async function* events(): EventBatches {
    await context.notice(
      `the events of run ${workflow_run_id} are not visible; waiting for its end`,
    );
    const { status, record } = await waitForRun({ workflow_run_id, through_pauses }, context);
    const event = status === "paused" ? "workflow_paused" : "workflow_finished";
    const data = { ...record, status };
    yield [serverEvent({ event, workflow_run_id, task_id: workflow_run_id, data })];
  }
  return { events: events(), close() {} };
}
