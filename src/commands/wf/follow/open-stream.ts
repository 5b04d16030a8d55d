import type { EventBatches } from "../../../api/sse.ts";
import type { AnyOperation, InputOf } from "../../../operations/operation.ts";
import type { CallOptions, Context } from "../../command-spec.ts";

/** An open event stream that can be left at once, whatever it is waiting for. */
export interface EventStream {
  readonly events: EventBatches;
  /** Its events then end with an error. */
  leave(): void;
}

/** Opens an event stream. Throws as `context.open` does. */
export async function openStream<O extends AnyOperation>(
  row: O,
  input: InputOf<O>,
  context: Context,
  options: CallOptions = {},
): Promise<EventStream> {
  const left = new AbortController();
  const events = await context.open(row, input, { ...options, signal: left.signal });
  return { events, leave: () => left.abort() };
}
