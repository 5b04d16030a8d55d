import type { Dispatcher } from "undici";
import { CliError } from "../errors.ts";
import type { AnyOperation, FileInput, Retry } from "../operations/operation.ts";
import { interrupted } from "./interrupted.ts";
import type { HttpRequest } from "./request.ts";
import { notStarted, refusalOf, saidBy } from "./refusal.ts";

/** What the client needs of the world; the engine takes it from the Host. */
export interface World {
  dispatcher(): Promise<Dispatcher>;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  random(): number;
  blob(file: FileInput): Promise<Blob>;
  /** One line for -v (1), -vv (2), -vvv (3). */
  trace(level: 1 | 2 | 3, text: string): Promise<void>;
}

/** How one request is to be sent. */
export interface Sending {
  readonly key: string | undefined;
  /** Absent for `api`. */
  readonly row?: AnyOperation | undefined;
  readonly retry: Retry;
  /** Repeats after the first try. */
  readonly retries: number;
  /** ms without a byte after which the server counts as dead. */
  readonly idle: number;
  /** Aborted by an interrupt or a deadline; its reason says which. */
  readonly signal: AbortSignal;
  /** Further headers, from `api --header`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** What came back: headers in lower case, the body as a stream that is read once. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
  /** The thing was already so: a repeat found that the first try had been done. */
  readonly already: boolean;
}

/** Largest JSON answer that is kept in memory, in bytes. */
const largestAnswer = 256 * 1024 * 1024;
/** As much of an error page as is worth reading, in bytes. */
const largestRefusal = 1024 * 1024;
const firstWait = 500;
const longestWait = 30_000;

/**
 * Sends a request, repeats it where its row allows (server §20), and gives what `read` makes of
 * the answer. A body that breaks off inside `read` counts as a failed try; what `read` hands out
 * unread is never asked for again. Throws ApiError for a refusal, CliError `network`, `deadline`
 * or an interrupt otherwise.
 */
export async function send<T>(
  request: HttpRequest,
  sending: Sending,
  world: World,
  read: (answer: HttpAnswer) => Promise<T>,
): Promise<T> {
  const { method } = request;
  const path = request.url.replace(/^https?:\/\/[^/]+/, "").replace(/\?.*$/s, "");
  const writes = sending.retry !== "safe";
  let mayHaveRun = false;
  for (let attempt = 0; ; attempt++) {
    // An aborted request rejects with the signal's reason, which is no Error.
    const answer = await once(request, sending, world).catch((error: unknown) =>
      error instanceof Error ? error : new Error(String(error)),
    );
    if (!(answer instanceof Error)) {
      if (answer.status < 300) {
        try {
          return await read({ ...answer, already: false });
        } catch (error) {
          const broke = error instanceof CliError && error.kind === "network";
          if (!broke || sending.retry === "never" || attempt >= sending.retries) throw error;
          await pause(attempt, error.message);
          continue;
        }
      }
      const body = await textOf(answer.body, largestRefusal).catch(() => "");
      // A server that echoes what it got must not print the key for it.
      const text = sending.key === undefined ? body : body.replaceAll(sending.key, "****");
      if (mayHaveRun && answer.status === sending.row?.done) {
        return read({ ...answer, body: nothing(), already: true });
      }
      const refused = { ...answer, text };
      const error = refusalOf(refused, { method, path, row: sending.row, writes });
      const repeatable =
        notStarted(answer.status, saidBy(refused)) ||
        (sending.retry !== "never" && [502, 503, 504].includes(answer.status));
      if (!repeatable || attempt >= sending.retries) throw error;
      mayHaveRun ||= [502, 503, 504].includes(answer.status);
      await pause(attempt, `${answer.status}`, answer.headers["retry-after"]);
      continue;
    }
    if (sending.signal.aborted) throw interrupted(sending.signal, writes);
    if (answer instanceof CliError || !isNetwork(answer)) throw answer;
    const failure = networkFailure(answer);
    const repeatable = failure.unsent || sending.retry !== "never";
    if (!repeatable || failure.final || attempt >= sending.retries) {
      throw unreachable(failure, request, writes, answer);
    }
    mayHaveRun ||= !failure.unsent;
    await pause(attempt, failure.words);
  }

  async function pause(attempt: number, why: string, retryAfter?: string): Promise<void> {
    const named = Number(retryAfter); // seconds; the date form is not used by this service
    const backoff = Math.min(longestWait, firstWait * 2 ** attempt) * world.random();
    const wait = retryAfter && Number.isFinite(named) ? Math.min(named, 300) * 1000 : backoff;
    await world.trace(
      1,
      `${why}: repeat ${attempt + 1} of ${sending.retries} in ${(wait / 1000).toFixed(1)} s`,
    );
    await world.sleep(wait, sending.signal).catch(() => {
      throw interrupted(sending.signal, writes);
    });
  }
}

/** One try. Rejects with undici's or the system's error when no answer came. */
async function once(request: HttpRequest, sending: Sending, world: World) {
  const dispatcher = await world.dispatcher();
  const headers: Record<string, string> = {
    accept: "*/*",
    ...request.headers,
    ...sending.headers,
    ...(sending.key !== undefined && { authorization: `Bearer ${sending.key}` }),
  };
  await world.trace(2, `> ${request.method} ${request.url}`);
  const { origin, pathname, search } = new URL(request.url);
  const answer = await dispatcher.request({
    origin,
    path: pathname + search,
    method: request.method as Dispatcher.HttpMethod, // undici takes any method, its type lists the common
    headers,
    body: await bodyOf(request, world),
    signal: sending.signal,
    headersTimeout: sending.idle,
    bodyTimeout: sending.idle,
  });
  const flat: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(answer.headers)) {
    flat[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  await world.trace(
    2,
    `< ${answer.statusCode}${flat["x-version"] ? ` (server ${flat["x-version"]})` : ""}`,
  );
  const writes = sending.retry !== "safe";
  return {
    status: answer.statusCode,
    headers: flat,
    body: guarded(answer.body, request, sending.signal, writes),
  };
}

async function bodyOf(request: HttpRequest, world: World) {
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
    if (signal.aborted) throw interrupted(signal, writes);
    if (!(error instanceof Error) || !isNetwork(error)) throw error;
    const failure = networkFailure(error);
    throw unreachable({ ...failure, unsent: false, cut: true }, request, writes, error);
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** The whole body as text. Throws `failure` when it is larger than `most` bytes. */
export async function textOf(
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

interface NetworkFailure {
  readonly words: string;
  /** The request had not been read: any row may be repeated. */
  readonly unsent: boolean;
  /** Repeating cannot help. */
  readonly final: boolean;
  readonly hint?: string;
  /** The answer broke off. */
  readonly cut?: boolean;
}

/** Errors of sockets, of undici and of its parser; anything else that is thrown is no matter of the network. */
const isNetwork = (error: Error): boolean =>
  /^(E[A-Z0-9]+|UND_ERR_\w+|HPE_\w+)$/.test(codeOf(error)) || certificate.test(codeOf(error));

const certificate = /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|DEPTH_ZERO|HOSTNAME_MISMATCH|ALTNAME/;

/** What an error of the network means, in plain words. */
function networkFailure(error: Error): NetworkFailure {
  const code = codeOf(error);
  const unsent = true;
  if (code === "ECONNREFUSED") {
    return {
      words: "nothing listens there (connection refused)",
      unsent,
      final: false,
      hint: "is the server running, and the base URL right?",
    };
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return {
      words: "the host name is not known (DNS)",
      unsent,
      final: code === "ENOTFOUND",
      hint: "check the base URL and the network",
    };
  }
  if (code === "UND_ERR_CONNECT_TIMEOUT" || code === "ETIMEDOUT") {
    return {
      words: "no connection in time",
      unsent,
      final: false,
      hint: "raise --connect-timeout, or check network and proxy",
    };
  }
  if (code === "EHOSTUNREACH" || code === "ENETUNREACH") {
    return {
      words: "the host cannot be reached",
      unsent,
      final: false,
      hint: "check network and proxy",
    };
  }
  if (certificate.test(code)) {
    return {
      words: `the server's certificate is not trusted (${code})`,
      unsent,
      final: true,
      hint: "give your certificate authority with --ca-file or NODE_EXTRA_CA_CERTS",
    };
  }
  if (code === "UND_ERR_HEADERS_TIMEOUT" || code === "UND_ERR_BODY_TIMEOUT") {
    return {
      words: "the server went silent",
      unsent: false,
      final: false,
      hint: "raise --idle-timeout; a stock server serves ten connections and lets others wait",
    };
  }
  if (code === "UND_ERR_HEADERS_OVERFLOW") {
    return { words: "the headers of the answer are too large", unsent: false, final: true };
  }
  if (code === "UND_ERR_ABORTED" && /proxy/i.test(error.message)) {
    return {
      words: `the proxy refused: ${error.message}`,
      unsent,
      final: true,
      hint: "check HTTPS_PROXY and its password",
    };
  }
  // Which of these comes first is chance; they mean the same.
  const reset = ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"].includes(code);
  const words = reset ? "the connection broke" : `the connection broke (${code || error.message})`;
  return { words, unsent: false, final: false };
}

function codeOf(error: unknown): string {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at instanceof AggregateError && at.errors.length > 0) return codeOf(at.errors[0]);
    if ("code" in at && typeof at.code === "string") return at.code;
  }
  return "";
}

function unreachable(
  failure: NetworkFailure,
  request: HttpRequest,
  writes: boolean,
  cause: Error,
): CliError {
  const { origin } = new URL(request.url);
  const unknown = writes && !failure.unsent;
  return new CliError(
    "network",
    `${failure.cut ? "the answer broke off" : "no answer"} from ${origin}: ${failure.words}`,
    {
      cause,
      retryable: !failure.final && !unknown,
      changed: unknown ? "unknown" : "nothing",
      hint: unknown
        ? "unknown whether it was applied: look at the thing before you repeat"
        : failure.hint,
    },
  );
}
