import type { Events } from "../api/events.ts";
import type { AnyOperation, InputOf } from "../operations/operation.ts";
import type { CallOptions, Context } from "./task.ts";

/** An open event stream that can be left at once, whatever it is waiting for. */
export interface Line {
  readonly events: Events;
  /** Its events then end with an error. */
  leave(): void;
}

/** Opens an event stream. Throws as `context.open` does. */
export async function openLine<O extends AnyOperation>(
  row: O,
  input: InputOf<O>,
  context: Context,
  options: CallOptions = {},
): Promise<Line> {
  const left = new AbortController();
  const events = await context.open(row, input, { ...options, signal: left.signal });
  return { events, leave: () => left.abort() };
}
