import { abortError, CliError } from "../errors.ts";
import { backoff, delays } from "../lib/backoff.ts";
import { networkError, networkFailure } from "./network-error.ts";
import type { HttpRequest } from "./request.ts";
import { isNotStarted, parseErrorBody, retryAfterOf } from "./error-body.ts";
import type { ErrorResponse } from "./error-body.ts";
import { apiErrorOf, checkBeforeRetrying } from "./api-error.ts";
import { readText } from "../lib/collect.ts";
import { sendOnce } from "./exchange.ts";
import type { HttpResponse, IncomingResponse, SendOptions, Transport } from "./exchange.ts";

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
    const notStarted = isNotStarted(response.status, parseErrorBody(received));
    report?.({ refused: notStarted || noAnswer.includes(response.status) });
    if (mayHaveRun && response.status === options.row?.alreadyDoneStatus) {
      return { value: await read({ ...response, body: emptyBody(), alreadyApplied: true }) };
    }
    return onErrorResponse(sending, received, notStarted, last);
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

function onErrorResponse(
  sending: Sending,
  received: ErrorResponse,
  notStarted: boolean,
  last: boolean,
): RetryReason {
  const { request, writes, transport } = sending;
  const { row, retry } = sending.options;
  const response = withoutKeys(received, transport);
  const { status } = response;
  const unclear = !notStarted && noAnswer.includes(status);
  const retryable = notStarted || (retry !== "never" && unclear);
  const retryAfter = retryAfterOf(received.headers);
  if (!retryable || last || (retryAfter ?? 0) > MAX_RETRY_AFTER_MS) {
    const { method, body } = request;
    const parts = body?.kind === "form" ? body.parts : [];
    const [file] = parts.flatMap((part) => ("file" in part ? [part.file.name] : []));
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

async function* emptyBody(): AsyncGenerator<Uint8Array> {}
