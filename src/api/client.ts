import type { Dispatcher, FormData } from "undici";
import { CliError } from "../errors.ts";
import type { AnyOperation, Retry } from "../operations/operation.ts";
import { abortError } from "./abort.ts";
import { networkError, unreachable } from "./network-error.ts";
import type { HttpRequest, TypedFile } from "./request.ts";
import { parseErrorBody } from "./error-body.ts";
import type { ErrorResponse } from "./error-body.ts";
import { retryAfterOf, checkBeforeRetrying, isNotStarted, apiErrorOf } from "./api-error.ts";
import { decompress } from "./decompress.ts";

/** One try as it goes out. */
export interface OutgoingRequest {
  readonly request: HttpRequest;
  /** Every header we set, the key among them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | FormData | null;
}

/** What a try brings: headers in lower case, the body still to be read. */
export interface IncomingResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** What the client needs of the world; the engine takes it from the Host. */
export interface Transport {
  dispatcher(): Promise<Dispatcher>;
  /** Stands around every try and sees what goes out and comes in. Gives what `send` gives. */
  onExchange?(
    outgoing: OutgoingRequest,
    send: () => Promise<IncomingResponse>,
  ): Promise<IncomingResponse>;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  random(): number;
  blob(file: TypedFile): Promise<Blob>;
  /** The text without the keys in use. */
  redact(text: string): string;
  /** One line for -v (1), -vv (2), -vvv (3). */
  trace(level: 1 | 2 | 3, text: string): Promise<void>;
}

/** How one request is to be sent. */
export interface SendOptions {
  readonly key: string | undefined;
  /** Absent for `api`. */
  readonly row?: AnyOperation | undefined;
  readonly retry: Retry;
  /** Repeats after the first try. */
  readonly retries: number;
  /** ms without a byte after which the server counts as dead. */
  readonly idleTimeout: number;
  /** Aborted by an interrupt or a deadline; its reason says which. */
  readonly signal: AbortSignal;
  /** Further headers, from `api --header`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** What came back; the body is a stream that is read once. */
export interface HttpResponse extends IncomingResponse {
  /** The thing was already so: a repeat found that the first try had been done. */
  readonly alreadyApplied: boolean;
}

/** Largest answer that is kept in memory, in bytes; files and event streams are not. */
const largestAnswer = 64 * 1024 * 1024;
/** Bytes of an event stream that are taken before they are read; a followed run may say much more. */
const mostUnread = 8 * 1024 * 1024;
/** As much of an error page as is worth reading, in bytes. */
const largestRefusal = 1024 * 1024;
const firstWait = 500;
const longestWait = 30_000;
/** ms; a server that asks for more is not waited for. */
const longestAsked = 300_000;

/**
 * Sends a request, repeats it where its row allows (server §20), and gives what `read` makes of
 * the answer. A body that breaks off inside `read` counts as a failed try; what `read` hands out
 * unread is never asked for again. Throws ApiError for a refusal, CliError `network`, `deadline`
 * or an interrupt otherwise.
 */
export async function sendRequest<T>(
  request: HttpRequest,
  sending: SendOptions,
  world: Transport,
  read: (answer: HttpResponse) => Promise<T>,
): Promise<T> {
  const { method } = request;
  const path = request.url.replace(/^https?:\/\/[^/]+/, "").replace(/\?.*$/s, "");
  const writes = sending.retry !== "safe";
  let mayHaveRun = false;
  for (let attempt = 0; ; attempt++) {
    if (sending.signal.aborted) throw abortError(sending.signal, writes && mayHaveRun);
    // An aborted request rejects with the signal's reason, which is no Error.
    const answer = await once(request, sending, world).catch((error: unknown) =>
      error instanceof Error ? error : new Error(String(error)),
    );
    if (!(answer instanceof Error)) {
      await deprecated(answer.headers);
      if (answer.status < 300) {
        try {
          return await read({ ...answer, alreadyApplied: false });
        } catch (error) {
          const broke = error instanceof CliError && error.kind === "network";
          if (!broke || sending.retry === "never" || attempt >= sending.retries) {
            throw writes ? perhapsDone(error) : error;
          }
          mayHaveRun = true;
          await pause(attempt, error.message);
          continue;
        }
      }
      const body = await readText(answer.body, largestRefusal).catch(() => "");
      if (mayHaveRun && answer.status === sending.row?.alreadyDoneStatus) {
        return read({ ...answer, body: nothing(), alreadyApplied: true });
      }
      const refused = withoutKeys({ ...answer, text: body }, world);
      const file = fileNameIn(request);
      const error = apiErrorOf(refused, { method, path, row: sending.row, writes, file });
      const unstarted = isNotStarted(answer.status, parseErrorBody(refused));
      const unclear = !unstarted && [502, 503, 504].includes(answer.status);
      const repeatable = unstarted || (sending.retry !== "never" && unclear);
      const asked = retryAfterOf(answer.headers);
      if (!repeatable || attempt >= sending.retries || (asked ?? 0) > longestAsked) throw error;
      mayHaveRun ||= unclear;
      await pause(attempt, `${answer.status}`, asked);
      continue;
    }
    if (sending.signal.aborted) throw abortError(sending.signal, writes);
    const failure = answer instanceof CliError ? undefined : networkError(answer);
    if (failure === undefined) throw answer;
    const repeatable = failure.unsent || sending.retry !== "never";
    if (!repeatable || failure.final || attempt >= sending.retries) {
      throw unreachable(failure, request, writes, answer);
    }
    mayHaveRun ||= !failure.unsent;
    await pause(attempt, failure.words);
  }

  /** What is to go away is said with -v (RFC 9745, RFC 8594). */
  async function deprecated({ deprecation, sunset }: IncomingResponse["headers"]): Promise<void> {
    if (deprecation === undefined && sunset === undefined) return;
    const until = sunset === undefined ? "" : `; it works until ${sunset}`;
    await world.trace(1, `the server marks ${method} ${path} as deprecated${until}`);
  }

  /** Waits as long as the server asked, or longer from try to try. */
  async function pause(attempt: number, why: string, asked?: number): Promise<void> {
    const wait = asked ?? Math.min(longestWait, firstWait * 2 ** attempt) * world.random();
    await world.trace(
      1,
      `${why}: repeat ${attempt + 1} of ${sending.retries} in ${(wait / 1000).toFixed(1)} s`,
    );
    await world.sleep(wait, sending.signal).catch(() => {
      throw abortError(sending.signal, writes);
    });
  }
}

/** The error for a write that was answered, but with what makes no sense. */
function perhapsDone(error: unknown): unknown {
  if (!(error instanceof CliError) || error.info.sideEffect !== undefined) return error;
  const { kind, message, info } = error;
  return new CliError(kind, message, { ...info, sideEffect: "unknown", hint: checkBeforeRetrying });
}

/** A server that echoes what it got must not print the key for us, nor put it into files. */
const withoutKeys = <A extends ErrorResponse>(answer: A, { redact: masked }: Transport): A => ({
  ...answer,
  text: masked(answer.text),
  headers: Object.fromEntries(
    Object.entries(answer.headers).map(([name, value]) => [name, value && masked(value)]),
  ),
});

/** One try. Rejects with undici's or the system's error when no answer came. */
async function once(request: HttpRequest, sending: SendOptions, world: Transport) {
  const dispatcher = await world.dispatcher();
  const headers: Record<string, string> = {
    accept: "*/*",
    ...request.headers,
    ...sending.headers,
    ...(sending.key !== undefined && { authorization: `Bearer ${sending.key}` }),
  };
  const body = await bodyOf(request, world);
  const { origin, pathname, search } = new URL(request.url);
  const exchange = async (): Promise<IncomingResponse> => {
    const answer = await dispatcher.request({
      origin,
      path: pathname + search,
      method: request.method as Dispatcher.HttpMethod, // undici takes any method, its type lists the common
      headers,
      body,
      signal: sending.signal,
      headersTimeout: sending.idleTimeout,
      onInfo: informed(sending.idleTimeout),
      bodyTimeout: sending.idleTimeout,
      // undici 7 stops reading a body that is not read as fast, and loses it, or dies of a failed
      // assertion, when the server closes meanwhile.
      highWaterMark: sending.row?.returns.kind === "events" ? mostUnread : largestAnswer,
    });
    const flat: Record<string, string | undefined> = {};
    for (const [name, value] of Object.entries(answer.headers)) {
      flat[name] = Array.isArray(value) ? value.join(", ") : value;
    }
    const coding = flat["content-encoding"] ?? "identity";
    const bytes = coding === "identity" ? answer.body : decompress(answer.body, coding);
    const status = answer.statusCode;
    return { status, headers: flat, body: status === 204 ? bodiless(answer.body) : bytes };
  };
  const answer = await (world.onExchange?.({ request, headers, body }, exchange) ?? exchange());
  const writes = sending.retry !== "safe";
  return { ...answer, body: guarded(answer.body, request, sending.signal, writes) };
}

/**
 * Hears 1xx responses. Each starts the time for headers anew, so a server that sends them for longer
 * than it may be silent is as good as silent: the request fails as undici's time for headers does.
 */
function informed(idle: number): () => void {
  let patience: AbortSignal | undefined;
  return () => {
    patience ??= AbortSignal.timeout(idle);
    if (!patience.aborted) return;
    throw Object.assign(new Error("1xx responses without end"), {
      code: "UND_ERR_HEADERS_TIMEOUT",
    });
  };
}

/** The name of the first file that a request sends. */
function fileNameIn({ body }: HttpRequest): string | undefined {
  if (body?.kind !== "form") return undefined;
  return body.parts.flatMap((part) => ("file" in part ? [part.file.name] : []))[0];
}

async function bodyOf(request: HttpRequest, world: Transport) {
  if (request.body === undefined) return null;
  if (request.body.kind === "json") return request.body.text;
  const { FormData } = await import("undici");
  const form = new FormData();
  for (const part of request.body.parts) {
    if ("file" in part) form.append(part.name, await world.blob(part.file), part.file.name);
    else form.append(part.name, part.text);
  }
  return form;
}

/** A body that dies while it is read throws far from `request()`: its errors become ours here. */
async function* guarded(
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
    throw failure === undefined ? error : unreachable(failure, request, writes, error, true);
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** A 204 has no body, whatever its Content-Length says: the status is the whole response. */
async function* bodiless(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body; // to its end, so that the connection can be used again
  } catch {
    // The head came whole, and there is nothing else that could be missing.
  }
}

/** The whole body as text. Throws `failure` when it is larger than `most` bytes. */
export async function readText(
  body: AsyncIterable<Uint8Array>,
  most = largestAnswer,
): Promise<string> {
  const decoder = new TextDecoder();
  const pieces: string[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > most) {
      throw new CliError(
        "failure",
        `the answer is larger than ${most / 1024 / 1024} MiB; it was not read further`,
      );
    }
    pieces.push(decoder.decode(chunk, { stream: true }));
  }
  return pieces.join("") + decoder.decode();
}
