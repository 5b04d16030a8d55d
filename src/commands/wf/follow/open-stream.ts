import type { EventBatches } from "../../../api/sse.ts";
import type { AnyOperation, InputOf } from "../../../operations/operation.ts";
import type { CallOptions, Context } from "../../command-spec.ts";

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
