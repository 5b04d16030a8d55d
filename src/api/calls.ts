import { DryRunShown, abortError } from "../errors.ts";
import { retryOf, type AnyOperation, type Operation } from "../operations/operation.ts";
import { AdaptiveLimit, type ConcurrencyOptions } from "./adaptive-limit.ts";
import type { AttemptResult, HttpResponse, OnSent, SendOptions, Transport } from "./exchange.ts";
import { requestFor } from "./request.ts";
import { bodyReader } from "./response.ts";
import type { Additions, HttpRequest, Values } from "./request.ts";

/** Where requests go. */
export interface Target {
  readonly baseUrl: string;
  /** Absent for requests without a key. */
  readonly key?: string | undefined;
  /** ID of the application, for a key that opens several (server §2.2). */
  readonly appId?: string | undefined;
}

/** The request, with the application that it is for where the key opens several. */
const forApplication = (request: HttpRequest, { appId }: Target): HttpRequest =>
  appId === undefined
    ? request
    : { ...request, headers: { "x-dify-app-id": appId, ...request.headers } };

/** What a client is made of. */
export interface ClientSetup extends Omit<Transport, "onAttempt"> {
  /** Server and key for operations that need this kind of key. */
  target(kind: Operation["key"]): Promise<Target>;
  /** The server alone, known without a key. */
  baseUrl(): Promise<string>;
  /** The kind of key that identifies the client. */
  readonly kind: Operation["key"];
  /** The end user of requests that name none. */
  user(): Promise<string | undefined>;
  /** Attempts after the first one. */
  readonly retries: number;
  /** ms without a byte from the server (default: that of the operation). */
  readonly idleTimeout?: number | undefined;
  /** Maximum number of parallel requests (default: that of the caller). */
  readonly concurrency?: number | undefined;
  /** Ends all requests; its reason says why. */
  readonly signal: AbortSignal;
  /** A clock in ms that never goes back. */
  elapsed(): number;
  /** A line for people. */
  notice(text: string): Promise<void>;
  /** Throws for a request that is not allowed. */
  readonly permit?: ((row: AnyOperation, input: Values) => void) | undefined;
  /** Called before a write is sent; true keeps it back, as a dry run does. */
  holdsBack?(request: HttpRequest, kind: Operation["key"], key: string): Promise<boolean>;
  /** Adds to an error of an operation what its reader can do. */
  explain?(error: unknown, row: AnyOperation, input: Values, path: string): unknown;
  /** First requests of end users, shared with other clients (default: those of this client). */
  readonly firsts?: FirstRequests | undefined;
}

/** Options of one call besides its input. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Number of retries (default: that of the client), e.g. 0 in a loop that retries on its own. */
  readonly retries?: number | undefined;
  /** Called while a large body is sent. */
  readonly onSent?: OnSent | undefined;
  /** Fields merged into the JSON body. */
  readonly extra?: Values | undefined;
  readonly onHeaders?: ((headers: HttpResponse["headers"]) => void) | undefined;
  /** ms without a byte, unless the client sets it (default: that of the row). */
  readonly idleTimeout?: number | undefined;
  /** The response is only shown, so it may lack fields that code depends on. */
  readonly unchecked?: boolean | undefined;
}

/** Options of a request that no row describes. */
export interface RawOptions {
  /** Overrides the target of the client; sends no key if it has none. */
  readonly target?: Target | undefined;
  readonly retries?: number | undefined;
  /** ms without a byte, unless the client sets it (default: that of the slowest route). */
  readonly idleTimeout?: number;
}

/** A call with what the reader of a list adds to it. */
export type ListCall = CallOptions & Additions;

/** ms without a byte, for rows without a limit of their own (server §20). */
const DEFAULT_IDLE_TIMEOUT = 30_000;
/** ms without a byte for requests without a row: a server may compute that long (server §20). */
const MAX_IDLE_TIMEOUT = 1_260_000;

/** Requests at a time at first, and at most unless the client sets it (server §4). */
const DEFAULT_START = 3;
const DEFAULT_MAX = 8;

const userParam = (row: AnyOperation): string | undefined =>
  Object.keys(row.params).find((param) => row.params[param]?.from === "user");

/** Does the server answer when a model is done, which may take minutes (server §20)? */
const waitsForModel = ({ row }: SendOptions): boolean => (row?.idleTimeout ?? 0) > 60;

/** Sends the calls of a client: one connection pool, its limits, and the count of its writes. */
export class Calls {
  readonly setup: ClientSetup;
  /** How many writes the server has accepted. */
  writes = 0;
  readonly #transport: Transport;
  readonly #firsts: FirstRequests;
  readonly #limiters: AdaptiveLimit[] = [];

  constructor(setup: ClientSetup) {
    this.setup = setup;
    this.#transport = { ...setup, onAttempt: (sending) => this.#onAttempt(sending) };
    this.#firsts = setup.firsts ?? new FirstRequests();
  }

  /** A limit for the tasks of a map, which watches all requests of the client. */
  limitConcurrency({ start = DEFAULT_START, max }: ConcurrencyOptions = {}): AdaptiveLimit {
    const range = { start, max: this.setup.concurrency ?? max ?? DEFAULT_MAX };
    const limiter = new AdaptiveLimit(range);
    this.#limiters.push(limiter);
    return limiter;
  }

  /** Sends the request of a row and returns what its response has. */
  async send(row: AnyOperation, values: Values, call: ListCall): Promise<unknown> {
    const { setup } = this;
    setup.permit?.(row, values);
    const user = userParam(row);
    const isNamed = user === undefined || values[user] !== undefined;
    const input = isNamed ? values : { ...values, [user]: await setup.user() };
    const target = await setup.target(row.key);
    const request = forApplication(requestFor(row, input, target.baseUrl, call), target);
    const writes = retryOf(row) !== "safe";
    if (writes && (await setup.holdsBack?.(request, row.key, target.key ?? ""))) {
      // The command ends with its first request if it needs the response.
      if (row.returns.kind === "nothing") return undefined;
      throw new DryRunShown();
    }
    // Loaded only when something is sent, so a dry run starts faster.
    const { sendRequest } = await import("./send.ts");
    const reader = bodyReader(row.returns, !call.unchecked || writes);
    const read = (response: HttpResponse) => {
      call.onHeaders?.(response.headers);
      return reader(response);
    };
    const ids = [target.baseUrl, target.key, target.appId, input[user ?? ""]];
    const sending: SendOptions = {
      ...this.#sendOptions(row, input, call),
      key: target.key,
      endUser: user === undefined ? undefined : JSON.stringify(ids),
    };
    try {
      const body = await sendRequest(request, sending, this.#transport, read);
      if (writes) this.writes++;
      return body;
    } catch (error) {
      const path = request.url.slice(target.baseUrl.length);
      throw setup.explain?.(error, row, input, path) ?? error;
    }
  }

  #sendOptions(row: AnyOperation, input: Values, call: CallOptions): Omit<SendOptions, "key"> {
    const { idleTimeout, retries, signal } = this.setup;
    const ofRow = row.idleTimeout === undefined ? DEFAULT_IDLE_TIMEOUT : row.idleTimeout * 1000;
    // A retried upload that allows duplicates would create the document twice (server §9.1).
    const duplicates = retryOf(row) === "upsert" && input["duplicate"] === false;
    return {
      row,
      retry: duplicates ? "never" : retryOf(row),
      retries: call.retries ?? retries,
      onSent: call.onSent,
      idleTimeout: idleTimeout ?? call.idleTimeout ?? ofRow,
      signal: call.signal ? AbortSignal.any([signal, call.signal]) : signal,
    };
  }

  /** Sends a request that no row describes; its URL is a path below the base URL. */
  async raw(
    request: HttpRequest,
    kind: Operation["key"],
    options: RawOptions,
  ): Promise<HttpResponse> {
    const { setup } = this;
    if (setup.permit) throw new Error("only operations can be permitted");
    const target = options.target ?? (await setup.target(kind));
    const { baseUrl, key } = target;
    const full = forApplication({ ...request, url: `${baseUrl}${request.url}` }, target);
    const writes = !["GET", "HEAD"].includes(request.method);
    if (writes && (await setup.holdsBack?.(full, kind, key ?? ""))) throw new DryRunShown();
    const sending: SendOptions = {
      key,
      retry: writes ? "never" : "safe",
      retries: options.retries ?? setup.retries,
      idleTimeout: setup.idleTimeout ?? options.idleTimeout ?? MAX_IDLE_TIMEOUT,
      signal: setup.signal,
    };
    const { sendRequest } = await import("./send.ts");
    return sendRequest(full, sending, this.#transport, (response) => Promise.resolve(response));
  }

  /** Waits until an attempt may be sent; its end is told to the limits. */
  async #onAttempt(sending: SendOptions): Promise<(end: AttemptResult) => void> {
    const { endUser, signal, row } = sending;
    const onHead = endUser === undefined ? () => {} : await this.#firsts.enter(endUser, signal);
    if (this.#limiters.length === 0) return ({ refused }) => onHead(!refused);
    const reports = this.#limiters.map((limiter) => limiter.sent());
    const started = this.setup.elapsed();
    return ({ refused }) => {
      onHead(!refused);
      const ms = waitsForModel(sending) ? undefined : this.setup.elapsed() - started;
      for (const report of reports) report({ kind: row?.id ?? "", refused, ms });
    };
  }

  /** The error of a stopped client, if it is stopped. */
  throwIfAborted(): void {
    const { signal } = this.setup;
    if (signal.aborted) throw abortError(signal);
  }
}

/**
 * Sends the first request of each end user alone: a server creates several end users of one name for first
 * requests side by side, and shows what belongs to one of them to no other (server §2.1).
 *
 *     first    ──► response head
 *     second                    ──► …      a stream continues meanwhile
 *     third                     ──► …
 */
export class FirstRequests {
  readonly #known = new Set<string>();
  /** The first requests that are on their way, each until its response head. */
  readonly #sent = new Map<string, Promise<void>>();

  /**
   * Waits for the turn of a request, or for the signal; returns what to call when it has a response head
   * or failed. If the server did not take it, the next one is sent alone, too.
   */
  async enter(endUser: string, signal: AbortSignal): Promise<(isTaken: boolean) => void> {
    while (!this.#known.has(endUser) && !signal.aborted) {
      const first = this.#sent.get(endUser);
      if (!first) return this.#send(endUser);
      await before(first, signal);
    }
    return () => {};
  }

  #send(endUser: string): (isTaken: boolean) => void {
    let end = () => {};
    this.#sent.set(endUser, new Promise((resolve) => (end = resolve)));
    return (isTaken) => {
      if (isTaken) this.#known.add(endUser);
      this.#sent.delete(endUser);
      end();
    };
  }
}

/** Resolves with the promise, or when the signal is aborted. */
async function before(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  let stop = () => {};
  const aborted = new Promise<void>((resolve) => (stop = resolve));
  signal.addEventListener("abort", stop, { once: true });
  await Promise.race([promise, aborted]);
  signal.removeEventListener("abort", stop);
}
