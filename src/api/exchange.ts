import { pipeline } from "node:stream";
import type { Duplex, Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { Dispatcher, FormData } from "undici";
import { abortError, CliError, codeOf } from "../errors.ts";
import { MAX_RESPONSE, bytePieces } from "../lib/collect.ts";
import type { AnyOperation, Retry } from "../operations/operation.ts";
import { networkError, networkFailure } from "./network-error.ts";
import type { HttpRequest, TypedFile } from "./request.ts";

/** Reports how many of the bytes of a body were given to the connection, each attempt from 0. */
export type OnSent = (sent: number, total: number) => void;

/** One attempt as it is sent. */
export interface OutgoingRequest {
  readonly request: HttpRequest;
  /** Every header that we set, including the key. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | FormData | null;
}

/** The response to one attempt; header names in lower case, the body unread. */
export interface IncomingResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** What the client needs from its environment; the engine takes it from the Host. */
export interface Transport {
  dispatcher(): Promise<Dispatcher>;
  /** Wraps every attempt to observe it. Returns the response of `send`. */
  onExchange?(
    outgoing: OutgoingRequest,
    send: () => Promise<IncomingResponse>,
  ): Promise<IncomingResponse>;
  /** Called before an attempt is sent; resolves when it may be, to what to call when it has ended. */
  onAttempt?(options: SendOptions): Promise<(end: AttemptResult) => void>;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  random(): number;
  blob(file: TypedFile): Promise<Blob>;
  /** The text without the keys in use. */
  redact(text: string): string;
  /** One line for -v (1), -vv (2), -vvv (3). */
  trace(level: 1 | 2 | 3, text: string): Promise<void>;
}

/** Whether the server took an attempt. */
export interface AttemptResult {
  /** It refused it because it is busy, or did not answer. */
  readonly refused: boolean;
}

/** How to send one request. */
export interface SendOptions {
  readonly key: string | undefined;
  /** Absent for `api`. */
  readonly row?: AnyOperation | undefined;
  /** Identifies the end user of the request, with key and server. */
  readonly endUser?: string | undefined;
  readonly retry: Retry;
  /** Attempts after the first one. */
  readonly retries: number;
  /** ms without a byte from the server. */
  readonly idleTimeout: number;
  /** Aborted by an interrupt or a deadline; its reason says which. */
  readonly signal: AbortSignal;
  readonly onSent?: OnSent | undefined;
}

/** A successful response; the body is a stream that can be read once. */
export interface HttpResponse extends IncomingResponse {
  /** A retry found that an earlier attempt had already made the change. */
  readonly alreadyApplied: boolean;
}

/** Bytes of an event stream that are received before they are read; a run may send many more. */
const MAX_UNREAD_EVENTS = 8 * 1024 * 1024;
/** Sends one attempt. Rejects with the error of undici or the system if there is no response. */
export async function sendOnce(request: HttpRequest, options: SendOptions, transport: Transport) {
  const dispatcher = await transport.dispatcher();
  const headers: Record<string, string> = {
    accept: "*/*",
    ...request.headers,
    ...(options.key !== undefined && { authorization: `Bearer ${options.key}` }),
  };
  const body = await bodyOf(request, transport);
  const { origin, pathname, search } = new URL(request.url);
  const { onSent } = options;
  const sending = onSent && body ? reportingBytes(dispatcher, body, onSent) : { dispatcher, body };
  const send = async (): Promise<IncomingResponse> => {
    const response = await sending.dispatcher.request({
      origin,
      path: pathname + search,
      method: request.method as Dispatcher.HttpMethod, // undici takes any method, its type only some
      headers: { ...headers, ...("headers" in sending && sending.headers) },
      body: sending.body,
      signal: options.signal,
      headersTimeout: options.idleTimeout,
      onInfo: limitInfoResponses(options.idleTimeout),
      bodyTimeout: options.idleTimeout,
      // undici 7 stops receiving a body that is read slowly, and loses it or dies of a failed
      // assertion if the server closes the connection in that time.
      highWaterMark: options.row?.returns.kind === "events" ? MAX_UNREAD_EVENTS : MAX_RESPONSE,
    });
    const flat: Record<string, string | undefined> = {};
    for (const [name, value] of Object.entries(response.headers)) {
      flat[name] = Array.isArray(value) ? value.join(", ") : value;
    }
    const encoding = flat["content-encoding"] ?? "identity";
    const bytes = encoding === "identity" ? response.body : decompress(response.body, encoding);
    const status = response.statusCode;
    return { status, headers: flat, body: status === 204 ? discarded(response.body) : bytes };
  };
  const response = await (transport.onExchange?.({ request, headers, body }, send) ?? send());
  const writes = options.retry !== "safe";
  return { ...response, body: withNetworkErrors(response.body, request, options.signal, writes) };
}

/**
 * Listener for 1xx responses, which throws once they have been coming for longer than the idle
 * timeout: each one restarts undici's own timeout for headers.
 */
function limitInfoResponses(idleTimeout: number): () => void {
  let expired: AbortSignal | undefined;
  return () => {
    expired ??= AbortSignal.timeout(idleTimeout);
    if (!expired.aborted) return;
    throw Object.assign(new Error("1xx responses without end"), {
      code: "UND_ERR_HEADERS_TIMEOUT",
    });
  };
}

async function bodyOf(request: HttpRequest, transport: Transport) {
  if (request.body === undefined) return null;
  if (request.body.kind === "json") return request.body.text;
  const { default: formData } = await import("undici/lib/web/fetch/formdata.js");
  const form = new formData.FormData();
  for (const part of request.body.parts) {
    if ("file" in part) form.append(part.name, await transport.blob(part.file), part.file.name);
    else form.append(part.name, part.text);
  }
  return form;
}

/** A smaller body is sent before anybody could look. */
const MIN_REPORTED = 2 ** 20;

/** The dispatcher and the body of one attempt, with the bytes that are sent reported. */
function reportingBytes(dispatcher: Dispatcher, body: string | FormData, onSent: OnSent) {
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

/** Translates errors that are thrown while the body is read. */
async function* withNetworkErrors(
  body: AsyncIterable<Uint8Array>,
  request: HttpRequest,
  signal: AbortSignal,
  writes: boolean,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    if (signal.aborted) throw abortError(signal, writes);
    if (!(error instanceof Error) || error instanceof CliError) throw error;
    const failure = networkError(error);
    if (failure === undefined) throw error;
    throw networkFailure("response truncated", failure, { request, unknown: writes, cause: error });
  }
}

/** Discards the body of a 204, which has none, whatever its Content-Length is. */
async function* discarded(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body; // to its end, so that the connection can be reused
  } catch {
    // The head is complete, so nothing else can be missing.
  }
}

/**
 * Decompresses a body. We never request compression, but HTTP allows proxies to apply it. Throws
 * `failure` for an unknown or damaged encoding, and `Z_BUF_ERROR` for a truncated body.
 */
async function* decompress(body: Readable, encoding: string): AsyncGenerator<Uint8Array> {
  const decoders: Readonly<Record<string, () => Duplex & { bytesWritten: number }>> = {
    gzip: createGunzip,
    "x-gzip": createGunzip,
    deflate: createInflate,
    br: createBrotliDecompress,
  };
  const decoder = decoders[encoding.toLowerCase()]?.();
  if (decoder === undefined) {
    body.on("error", () => {}).destroy(); // which emits an error
    throw failed(`unsupported content encoding: ${encoding}`);
  }
  try {
    yield* pipeline(body, decoder, () => {}); // its errors are thrown by the loop
  } catch (error) {
    const code = codeOf(error);
    // The response to HEAD, or a 204, is compressed in name only.
    if (code === "Z_BUF_ERROR" && decoder.bytesWritten === 0) return;
    if (!/^(Z_(?!BUF)|ERR__)/.test(code)) throw error;
    throw failed(`failed to decompress the response (${encoding})`, error);
  }
}

const failed = (message: string, cause?: unknown) =>
  new CliError("failure", message, { cause, hint: "a proxy may alter the responses" });
