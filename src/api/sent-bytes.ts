import type { Readable } from "node:stream";
import type { Dispatcher, FormData } from "undici";

/** Reports how many of the bytes of a body were given to the connection, each attempt from 0. */
export type OnSent = (sent: number, total: number) => void;

/** A smaller body is sent before anybody could look. */
const MIN_REPORTED = 2 ** 20;
/** A content is sent in pieces of this size: of one piece, it is only known that it was handed over. */
const PIECE = 2 ** 18;

/** The dispatcher and the body of one attempt, with the bytes that are sent reported. */
export function reportingBytes(dispatcher: Dispatcher, body: string | FormData, onSent: OnSent) {
  const bytes = typeof body === "string" ? Buffer.from(body) : undefined;
  const total = bytes?.length ?? sizeOf(body as FormData); // a body is one of the two
  if (total < MIN_REPORTED) return { dispatcher, body };
  let sent = 0;
  const onBodySent = (chunk: string | Uint8Array) => {
    sent += chunk.length;
    onSent(Math.min(sent, total), total); // a form has a little more than its files
  };
  const dispatch: Dispatcher["dispatch"] = (options, handler) =>
    dispatcher.dispatch(options, Object.assign(handler, { onBodySent }));
  // An interceptor would get another handler, without this method.
  const reporting = Object.create(dispatcher, { dispatch: { value: dispatch } }) as Dispatcher;
  if (!bytes) return { dispatcher: reporting, body };
  // With its length, the body is not sent in the chunked encoding, which some proxies reject.
  const headers = { "content-length": String(total) };
  // undici takes any iterable, its type only some.
  return { dispatcher: reporting, body: bytePieces(bytes) as unknown as Readable, headers };
}

const sizeOf = (form: FormData): number =>
  [...form.values()].reduce((sum, part) => sum + (typeof part === "string" ? 0 : part.size), 0);

/** The bytes in pieces, each of which is reported when it is sent. */
export function* bytePieces<T extends Uint8Array>(bytes: T): Generator<T> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE) as T;
}
