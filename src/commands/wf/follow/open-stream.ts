import type { EventBatches } from "../../../api/sse.ts";
import type { AnyOperation, InputOf } from "../../../operations/operation.ts";
import { pipe } from "../../../lib/pipe.ts";
import type { CallOptions, Context } from "../../command-spec.ts";
import { checkStart } from "./rejected-start.ts";

/** An open event stream that can be closed at any time. */
export interface EventStream {
  readonly events: EventBatches;
  /** Closes the connection; `events` then throws. */
  close(): void;
}

/** Opens an event stream. Throws what `context.open` throws. */
export async function openStream<O extends AnyOperation>(
  operation: O,
  input: InputOf<O>,
  context: Context,
  options: CallOptions = {},
): Promise<EventStream> {
  const closed = new AbortController();
  const events = await context.open(operation, input, { ...options, signal: closed.signal });
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
