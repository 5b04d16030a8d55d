import { createParser } from "eventsource-parser";
import type { EventSourceMessage } from "eventsource-parser";
import { CliError } from "../errors.ts";
import { parsedNumbers } from "./exact-numbers.ts";

/** One event of a stream: its kind, the server's own text, and that text parsed. */
export interface ServerEvent {
  /** `node_started`, `workflow_finished`, …; our own kinds start with an underscore. */
  readonly event: string;
  /** The JSON text as the server sent it, without `data: `. */
  readonly raw: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** When it came, ms since the epoch, where that is not now: in a recording. */
  readonly at?: number | undefined;
  /** Short name of its run, where several are followed together. */
  readonly run?: string | undefined;
}

/** Largest event that is kept while its end is awaited, in characters: beyond, the stream is no event stream. */
const largestEvent = 64 * 1024 * 1024;

/**
 * Events travel in the batches in which they became whole, never an empty one: handing them on one
 * by one would cost more than reading them.
 */
export type EventBatches<T = void> = AsyncGenerator<readonly ServerEvent[], T>;

/**
 * Events in a stream of bytes, as they become whole. Pings carry no data and never become events
 * (server §15.2). Throws `failure` for data that is not a JSON object, after what came before it.
 */
export async function* readEvents(bytes: AsyncIterable<Uint8Array>): EventBatches {
  const arrived: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => arrived.push(message) });
  parser.feed(""); // or it would look for a mark that the decoder has taken off
  let pending = 0;
  for await (const text of textIn(bytes)) {
    parser.feed(text);
    pending = arrived.length > 0 ? 0 : pending + text.length;
    if (pending > largestEvent) {
      throw new CliError("failure", "the stream holds an event of more than 64 MiB");
    }
    if (arrived.length === 0) continue;
    const batch: ServerEvent[] = [];
    try {
      for (const message of arrived.splice(0)) batch.push(read(message));
    } catch (error) {
      if (batch.length > 0) yield batch;
      throw error;
    }
    yield batch;
  }
}

/** The text of bytes, no piece with half a line end at its end: the parser would overlook it. */
async function* textIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let half = "";
  for await (const chunk of bytes) {
    const text = half + decoder.decode(chunk, { stream: true });
    half = text.endsWith("\r") ? "\r" : "";
    yield half === "" ? text : text.slice(0, -1);
  }
  if (half !== "") yield half + "\n";
}

/** The same events one by one, for streams that are short. */
export async function* oneByOne(events: EventBatches): AsyncGenerator<ServerEvent> {
  for await (const batch of events) yield* batch;
}

function read(message: EventSourceMessage): ServerEvent {
  try {
    const data = parsedNumbers(message.data).value;
    if (typeof data === "object" && data !== null && !Array.isArray(data)) {
      const fields = data as Record<string, unknown>; // checked in the line above
      const event = typeof fields["event"] === "string" ? fields["event"] : "message";
      // Data of several lines is one JSON text with blanks in it; a line of ours is one event.
      const raw = message.data.includes("\n") ? message.data.replaceAll("\n", " ") : message.data;
      return { event, raw, data: fields };
    }
  } catch {
    // falls through to the same refusal
  }
  throw new CliError("failure", "the stream holds an event that is not JSON", {
    details: { start: message.data.slice(0, 200) },
    hint: `it starts with: ${message.data.slice(0, 200)}`,
  });
}
