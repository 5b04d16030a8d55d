import { createParser } from "eventsource-parser";
import { CliError } from "../errors.ts";
import { attempt, isObject, valueAt, parseJson } from "../lib/json.ts";
import type { Stage } from "../lib/pipe.ts";
import { serverEvent, type ServerEvent } from "../lib/server-event.ts";
import { streamDecoder } from "../lib/text.ts";

/** Maximum size of an event, in characters; a larger one is not an event stream. */
const MAX_EVENT = 64 * 1024 * 1024;

/**
 * Events in the batches in which they were received, never an empty one: passing them on one by one
 * costs more than parsing them.
 */
export type EventBatches<T = void> = AsyncGenerator<readonly ServerEvent[], T>;

/** A stage of a stream of events, which returns a result of this type. */
export type EventStage<Result = unknown> = Stage<readonly ServerEvent[], Result>;

/**
 * Parses an event stream. Pings have no data and are not events (server §15.2), nor is JSON without fields,
 * such as `null`, which `onSkipped` gets. Throws `failure` for other data, after the events before it.
 */
export async function* readEvents(
  bytes: AsyncIterable<Uint8Array>,
  onSkipped: (text: string) => Promise<void> = () => Promise.resolve(),
): EventBatches {
  const parse = eventParser();
  const arrived: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => arrived.push(data) });
  parser.feed(""); // skips its check for a byte order mark, which the decoder removes
  let pending = 0;
  for await (const text of textIn(bytes)) {
    parser.feed(text);
    pending = arrived.length > 0 ? 0 : pending + text.length;
    if (pending > MAX_EVENT) {
      throw new CliError("failure", "invalid event stream: event larger than 64 MiB");
    }
    if (arrived.length === 0) continue;
    const batch: ServerEvent[] = [];
    try {
      for (const text of arrived.splice(0)) {
        const event = read(text, parse);
        if (event) batch.push(event);
        else await onSkipped(text);
      }
    } catch (error) {
      if (batch.length > 0) yield batch;
      throw error;
    }
    if (batch.length > 0) yield batch;
  }
}

/** Bytes that are parsed at once: those of all events of a batch are in memory. */
const MAX_PIECE = 64 * 1024;

/** Decodes bytes to text. No piece ends inside a CRLF, which the parser would miss. */
async function* textIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decode = streamDecoder();
  let half = "";
  for await (const chunk of bytes) {
    // A slow reader gets all that was received in the meantime at once.
    for (let at = 0; at < chunk.length; at += MAX_PIECE) {
      const text = half + decode(chunk.subarray(at, at + MAX_PIECE));
      half = text.endsWith("\r") ? "\r" : "";
      yield half === "" ? text : text.slice(0, -1);
    }
  }
  if (half !== "") yield half + "\n";
}

/** The events one by one, for short streams. */
export async function* eachEvent(events: EventBatches): AsyncGenerator<ServerEvent> {
  for await (const batch of events) yield* batch;
}

function read(text: string, parse: (json: string) => unknown): ServerEvent | undefined {
  try {
    const data = parse(text);
    if (!isObject(data)) return undefined;
    // Data of several lines is one JSON text; we write one event per line.
    return serverEvent(data, text.includes("\n") ? text.replaceAll("\n", " ") : text);
  } catch {
    throw new CliError("failure", "invalid event stream: event is not JSON", {
      details: { start: text.slice(0, 200) },
      hint: `the event starts with: ${text.slice(0, 200)}`,
    });
  }
}

/** An event with a piece of text: up to its first quote, the piece, and from its last quote on. */
const withPiece = /^(.*?"(?:text|answer)": ?")((?:[^"\\]|\\.)*)(".*)$/s;

/** Characters of an event that may have a form: longer ones are rare. */
const MAX_FORM = 2000;

/** What the events with a piece of text have in common. */
interface Form {
  readonly before: string;
  readonly after: string;
  /** The event with this piece. */
  readonly valueOf: (piece: string) => unknown;
}

/**
 * Returns a function that parses the events of a stream as `parseJson` does. Most of them differ from the
 * one before only in their piece of text: of these only the piece is parsed, in a third of the time.
 */
export function eventParser(): (json: string) => unknown {
  let form: Form | undefined;
  return (json) => {
    const piece = form && pieceIn(json, form);
    if (form && piece !== undefined) return form.valueOf(piece);
    const value = parseJson(json);
    form = formOf(json, value) ?? form;
    return value;
  };
}

/** The piece of text in an event of this form; undefined if it has another one. */
function pieceIn(json: string, { before, after }: Form): string | undefined {
  const end = json.length - after.length;
  // `startsWith` and `endsWith` compare unit by unit, this several at once.
  const isAlike = json.slice(0, before.length) === before && json.slice(end) === after;
  if (!isAlike || end < before.length) return undefined;
  // From quote to quote this is one string of JSON, or else invalid by itself.
  return attempt(() => JSON.parse(json.slice(before.length - 1, end + 1)) as string);
}

/** The form of an event; undefined for one without a piece of text. */
function formOf(json: string, value: unknown): Form | undefined {
  if (json.length > MAX_FORM) return undefined;
  const [, before, piece, after] = withPiece.exec(json) ?? [];
  if (before === undefined || after === undefined) return undefined;
  const longer: unknown = parseJson(`${before}${piece}.${after}`);
  // A key may be there twice, or elsewhere: the field is the piece if it grows with it.
  const isPiece = (path: string) => valueAt(longer, path) === `${String(valueAt(value, path))}.`;
  const event = value as Record<string, unknown>; // it has a key
  const { data } = event;
  if (isPiece("answer")) return { before, after, valueOf: (answer) => ({ ...event, answer }) };
  return isPiece("data.text")
    ? { before, after, valueOf: (text) => ({ ...event, data: { ...(data as object), text } }) }
    : undefined;
}
