import type { Dispatcher, FormData } from "undici";
import { abortError, CliError } from "../errors.ts";
import { streamDecoder } from "../lib/utf8.ts";
import { backoff, delays } from "../lib/backoff.ts";
import type { AnyOperation, Retry } from "../operations/operation.ts";
import { networkError, networkFailure } from "./network-error.ts";
import type { HttpRequest, TypedFile } from "./request.ts";
import { parseErrorBody } from "./error-body.ts";
import type { ErrorResponse } from "./error-body.ts";
import { retryAfterOf, checkBeforeRetrying, isNotStarted, apiErrorOf } from "./api-error.ts";
import { decompress } from "./decompress.ts";

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
  /** Further headers, from `api --header`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A successful response; the body is a stream that can be read once. */
export interface HttpResponse extends IncomingResponse {
  /** A retry found that an earlier attempt had already made the change. */
  readonly alreadyApplied: boolean;
}

/** Maximum size of a response that is kept in memory, in bytes; files and event streams are not. */
const MAX_RESPONSE = 64 * 1024 * 1024;
/** Bytes of an event stream that are received before they are read; a run may send many more. */
const MAX_UNREAD_EVENTS = 8 * 1024 * 1024;
/** Maximum size of an error page that is read, in bytes. */
const MAX_ERROR_BODY = 1024 * 1024;
/** A server that requests a longer delay is not retried. */
const MAX_RETRY_AFTER_MS = 300_000;

/** Why an attempt is retried, and the delay that the server requested. */
interface RetryReason {
  readonly reason: string;
  readonly retryAfter?: number | undefined;
}

/**
 * Sends a request, retries it where its row allows (server §20), and returns the result of `read`.
 * If the body is truncated while `read` consumes it, the attempt counts as failed and may be
 * retried; a stream that `read` hands out unread is never retried. Throws ApiError for an error
 * response, otherwise CliError `network`, `deadline` or an interrupt.
 */
export async function sendRequest<T>(
  request: HttpRequest,
  options: SendOptions,
  transport: Transport,
  read: (response: HttpResponse) => Promise<T>,
): Promise<T> {
  const writes = options.retry !== "safe";
  const sending: Sending = { request, options, transport, writes, mayHaveRun: false };
  for (let attempt = 0; ; attempt++) {
    const outcome = await sendAttempt(sending, read, attempt >= options.retries).catch(
      (error: unknown) => {
        throw withEarlierAttempts(sending, error);
      },
    );
    if ("value" in outcome) return outcome.value;
    await pause(sending, attempt, outcome);
  }
}

/** A request during its attempts. */
interface Sending {
  readonly request: HttpRequest;
  readonly options: SendOptions;
  readonly transport: Transport;
  readonly writes: boolean;
  /** A failed attempt may have made the change. */
  mayHaveRun: boolean;
}

/** The error of the last attempt, which does not know what an earlier one may have changed. */
function withEarlierAttempts({ writes, mayHaveRun }: Sending, error: unknown): unknown {
  const isHarmless = error instanceof CliError && error.info.sideEffect === "none";
  return isHarmless && writes && mayHaveRun ? error.with({ sideEffect: "unknown" }) : error;
}

/** Sends the request once. Throws if it failed and `last`, or if it must not be retried. */
async function sendAttempt<T>(
  sending: Sending,
  read: (response: HttpResponse) => Promise<T>,
  last: boolean,
): Promise<{ readonly value: T } | RetryReason> {
  const { request, options, transport, writes, mayHaveRun } = sending;
  const report = await transport.onAttempt?.(options);
  if (options.signal.aborted) {
    report?.({ refused: true });
    throw abortError(options.signal, writes && mayHaveRun);
  }
  // An aborted request rejects with the signal's reason, which is not an Error.
  const response = await sendOnce(request, options, transport).catch((error: unknown) =>
    error instanceof Error ? error : new Error(String(error)),
  );
  if (response instanceof Error) {
    report?.({ refused: true });
    return onNetworkError(sending, response, last);
  }
  await traceDeprecation(sending, response.headers);
  if (response.status >= 300) {
    const text = await readText(response.body, MAX_ERROR_BODY).catch(() => "");
    const received = { ...response, text };
    report?.(busyStateOf(received));
    if (mayHaveRun && response.status === options.row?.alreadyDoneStatus) {
      return { value: await read({ ...response, body: emptyBody(), alreadyApplied: true }) };
    }
    return onErrorResponse(sending, received, last);
  }
  report?.({ refused: false });
  try {
    return { value: await read({ ...response, alreadyApplied: false }) };
  } catch (error) {
    const isTruncated = error instanceof CliError && error.kind === "network";
    if (isTruncated && !last && options.retry !== "never") {
      sending.mayHaveRun = true;
      return { reason: error.message };
    }
    // The write had a successful status and an invalid body.
    const isUnclear = writes && error instanceof CliError && error.info.sideEffect === undefined;
    throw isUnclear ? error.with({ sideEffect: "unknown", hint: checkBeforeRetrying }) : error;
  }
}

function onNetworkError(sending: Sending, error: Error, last: boolean): RetryReason {
  const { request, writes } = sending;
  const { signal, retry } = sending.options;
  if (signal.aborted) throw abortError(signal, writes);
  const failure = error instanceof CliError ? undefined : networkError(error);
  if (failure === undefined) throw error;
  const retryable = !failure.final && (failure.unsent || retry !== "never");
  if (!retryable || last) {
    const unknown = writes && !failure.unsent;
    throw networkFailure("no response", failure, { request, unknown, cause: error });
  }
  sending.mayHaveRun ||= !failure.unsent;
  return { reason: failure.words };
}

/** The statuses of a proxy that has no answer of the server. */
const noAnswer: readonly number[] = [502, 503, 504];

/** Whether an error response means that the server has too much to do. */
const busyStateOf = (response: ErrorResponse): AttemptResult => ({
  refused:
    noAnswer.includes(response.status) || isNotStarted(response.status, parseErrorBody(response)),
});

function onErrorResponse(sending: Sending, received: ErrorResponse, last: boolean): RetryReason {
  const { request, writes, transport } = sending;
  const { row, retry } = sending.options;
  const response = withoutKeys(received, transport);
  const { status } = response;
  const notStarted = isNotStarted(status, parseErrorBody(response));
  const unclear = !notStarted && noAnswer.includes(status);
  const retryable = notStarted || (retry !== "never" && unclear);
  const retryAfter = retryAfterOf(received.headers);
  if (!retryable || last || (retryAfter ?? 0) > MAX_RETRY_AFTER_MS) {
    const { method } = request;
    const file = fileNameIn(request);
    throw apiErrorOf(response, { method, path: pathOf(request), row, writes, file });
  }
  sending.mayHaveRun ||= unclear;
  return { reason: `${status}`, retryAfter };
}

/** Traces responses marked as deprecated (RFC 9745, RFC 8594). */
async function traceDeprecation(
  { request, transport }: Sending,
  { deprecation, sunset }: IncomingResponse["headers"],
): Promise<void> {
  if (deprecation === undefined && sunset === undefined) return;
  const until = sunset === undefined ? "" : `; it works until ${sunset}`;
  const route = `${request.method} ${pathOf(request)}`;
  await transport.trace(1, `the server marks ${route} as deprecated${until}`);
}

/** Waits as long as the server requested, otherwise with exponential backoff and full jitter. */
async function pause(
  { options: { retries, signal }, transport, writes }: Sending,
  attempt: number,
  { reason, retryAfter }: RetryReason,
): Promise<void> {
  const delay = retryAfter ?? backoff(attempt, delays.retry) * transport.random();
  const seconds = (delay / 1000).toFixed(1);
  await transport.trace(1, `${reason}: retry ${attempt + 1} of ${retries} in ${seconds} s`);
  await transport.sleep(delay, signal).catch(() => {
    throw abortError(signal, writes);
  });
}

const pathOf = ({ url }: HttpRequest): string =>
  url.replace(/^https?:\/\/[^/]+/, "").replace(/\?.*$/s, "");

/** A server may echo the key: it must not reach the terminal or files. */
const withoutKeys = (response: ErrorResponse, { redact }: Transport): ErrorResponse => ({
  ...response,
  text: redact(response.text),
  headers: Object.fromEntries(
    Object.entries(response.headers).map(([name, value]) => [name, value && redact(value)]),
  ),
});

/** Sends one attempt. Rejects with the error of undici or the system if there is no response. */
async function sendOnce(request: HttpRequest, options: SendOptions, transport: Transport) {
  const dispatcher = await transport.dispatcher();
  const headers: Record<string, string> = {
    accept: "*/*",
    ...request.headers,
    ...options.headers,
    ...(options.key !== undefined && { authorization: `Bearer ${options.key}` }),
  };
  const body = await bodyOf(request, transport);
  const { origin, pathname, search } = new URL(request.url);
  const send = async (): Promise<IncomingResponse> => {
    const response = await dispatcher.request({
      origin,
      path: pathname + search,
      method: request.method as Dispatcher.HttpMethod, // undici takes any method, its type only some
      headers,
      body,
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

/** The name of the first file in a request. */
function fileNameIn({ body }: HttpRequest): string | undefined {
  if (body?.kind !== "form") return undefined;
  return body.parts.flatMap((part) => ("file" in part ? [part.file.name] : []))[0];
}

async function bodyOf(request: HttpRequest, transport: Transport) {
  if (request.body === undefined) return null;
  if (request.body.kind === "json") return request.body.text;
  const { FormData } = await import("undici");
  const form = new FormData();
  for (const part of request.body.parts) {
    if ("file" in part) form.append(part.name, await transport.blob(part.file), part.file.name);
    else form.append(part.name, part.text);
  }
  return form;
}

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

async function* emptyBody(): AsyncGenerator<Uint8Array> {}

/** Discards the body of a 204, which has none, whatever its Content-Length is. */
async function* discarded(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body; // to its end, so that the connection can be reused
  } catch {
    // The head is complete, so nothing else can be missing.
  }
}

/** The whole body as text. Throws `failure` if it is larger than `maxBytes`. */
export async function readText(
  body: AsyncIterable<Uint8Array>,
  maxBytes = MAX_RESPONSE,
): Promise<string> {
  const decode = streamDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) {
      throw new CliError("failure", `response is larger than ${maxBytes / 1024 / 1024} MiB`);
    }
    text += decode(chunk);
  }
  return text + decode();
}
