import type { Dispatcher, FormData } from "undici";
import type { ReceivedPart, ReceivedRequest } from "../../src/sandbox/protocol/handler.ts";
import { collect } from "../../src/lib/collect.ts";
import type { SandboxResponse } from "../../src/sandbox/protocol/response.ts";
import type { FaultKind } from "./faults.ts";
import type { SimulatedServer } from "./server.ts";
import type { Timeline } from "./timeline.ts";

/** What a connection needs of the process that opens it. */
export interface Caller {
  readonly timeline: Timeline;
  readonly server: SimulatedServer;
  /** Takes one step: it may never come back. Returns the name of the place. */
  readonly step: (name: string, ms: number) => Promise<string>;
  readonly strikes: (kind: FaultKind, place: string) => boolean;
  /** 0 ≤ x < 1, fixed for the place. */
  readonly random: (words: string) => number;
  /** Notes what happened to a request. */
  readonly note: (text: string) => void;
}

/** ms that a request, or its response, is under way at most. */
const LATENCY_MS = 40;
/** Longest delay of a slow server, and longest time that it is down, in ms. */
const MAX_DELAY_MS = 60_000;
const MAX_DOWNTIME_MS = 8000;

const networkError = (code: string, message: string): Error =>
  Object.assign(new Error(message), { code });
const reset = () => networkError("ECONNRESET", "read ECONNRESET");
const timedOut = (what: "HEADERS" | "BODY") =>
  networkError(`UND_ERR_${what}_TIMEOUT`, `${what} timeout`);

/** A dispatcher whose requests reach the sandbox in this process, with the errors of undici. */
export function simulatedDispatcher(caller: Caller): Dispatcher {
  const lists = { short: 0 };
  const request = (options: Dispatcher.RequestOptions) =>
    new Exchange({ ...caller, lists }, options).send();
  return { request } as unknown as Dispatcher; // all that the client uses
}

/** A caller, and how many of its next lists lack something. */
interface Client extends Caller {
  readonly lists: { short: number };
}

/** Lists in a row that lack something: a list is read again if it does. */
const SHORT_LISTS = 4;

/** A request and its response on their line. */
class Exchange {
  readonly #caller: Client;
  readonly #options: Dispatcher.RequestOptions;
  /** Aborted when the client has left, or the line is broken: the server notices. */
  readonly #left = new AbortController();
  /** Rejects when the client aborts the request, or the server ends. */
  readonly #broken: Promise<never>;
  #break: (reason: unknown) => void = () => {};
  #place = "";

  constructor(caller: Client, options: Dispatcher.RequestOptions) {
    this.#caller = caller;
    this.#options = options;
    this.#broken = new Promise((_, reject) => (this.#break = reject));
    this.#broken.catch(() => {});
    const signal = options.signal as AbortSignal | undefined;
    const abort = () => this.#end(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true, signal: this.#left.signal });
  }

  async send(): Promise<Dispatcher.ResponseData> {
    const { method, path, headersTimeout } = this.#options;
    const { step, random, server } = this.#caller;
    const request = await this.#caller.timeline.external(receivedRequest(this.#options));
    this.#place = await this.#on(step(`${method} ${routeOf(path)}`, LATENCY_MS));
    if (!server.isUp || this.#strikes("refused")) {
      throw Object.assign(networkError("ECONNREFUSED", "connect ECONNREFUSED"), {
        syscall: "connect",
        address: "127.0.0.1",
        port: 8080,
      });
    }
    if (this.#strikes("restart before")) this.#crash();
    if (this.#strikes("reset before")) throw this.#end(reset());
    if (this.#strikes("delay")) {
      const ms = random(`delay of ${this.#place}`) * MAX_DELAY_MS;
      await this.#within(headersTimeout, "HEADERS", this.#caller.timeline.wait(ms));
    }
    if (this.#strikes("silence before")) await this.#within(headersTimeout, "HEADERS", never());
    const response = await this.#within(headersTimeout, "HEADERS", this.#respond(request));
    this.#caller.note(`${this.#place}: ${response.status}`);
    return {
      statusCode: response.status,
      headers: { date: server.now().toUTCString(), ...lowerCase(response.headers) },
      body: this.#body(await this.#held(response.body)),
    } as unknown as Dispatcher.ResponseData; // all that the client uses
  }

  /** The response as it arrives, which may be that of a proxy. */
  async #respond(request: ReceivedRequest): Promise<SandboxResponse> {
    const { server, timeline, random } = this.#caller;
    const { signal } = this.#left;
    for (const status of [429, 503] as const)
      if (this.#strikes(`${status}`)) return server.respond(request, signal, { status });
    if (this.#strikes("502 before")) return server.respond(request, signal, { html: 502 });
    server.ended.addEventListener("abort", () => this.#end(reset()), { once: true, signal });
    const response = await server.respond(request, signal);
    if (this.#strikes("restart after")) this.#crash();
    if (this.#strikes("reset after")) throw this.#end(reset());
    if (this.#strikes("silence after")) await never();
    for (const status of [502, 503, 504] as const)
      if (this.#strikes(`${status} after`))
        return server.respond(request, signal, { html: status });
    await timeline.wait(random(`response to ${this.#place}`) * LATENCY_MS);
    await this.#caller.step(`response to ${this.#place.replace(/^.*?: /, "")}`, 0);
    return this.#isShort() ? { ...response, body: shortened(response.body) } : response;
  }

  /** The body, or all of it at once from a proxy that holds even the headers of a stream back until its end. */
  async #held(body: SandboxResponse["body"]): Promise<SandboxResponse["body"]> {
    if (body instanceof Uint8Array) return this.#zip(body);
    if (!this.#strikes("held response")) return body;
    const whole = collect(encoded(body)).then((pieces) => Buffer.concat(pieces));
    return this.#within(this.#options.headersTimeout, "HEADERS", whole);
  }

  #zip(bytes: Uint8Array): Uint8Array {
    if (!this.#place.includes("/download-zip ") || !this.#strikes("broken ZIP")) return bytes;
    const share = this.#caller.random(`damage of ${this.#place}`) * 2;
    const at = Math.floor((share % 1) * bytes.length);
    return share < 1 ? bytes.slice(0, at) : bytes.with(at, 255 - (bytes[at] ?? 0));
  }

  #isShort(): boolean {
    const { lists } = this.#caller;
    if (!/: GET \S+\/documents \d+$/.test(this.#place)) return false;
    if (lists.short === 0 && this.#strikes("short list")) lists.short = SHORT_LISTS;
    return lists.short > 0 && lists.short-- > 0;
  }

  async *#body(body: SandboxResponse["body"]): AsyncGenerator<Uint8Array> {
    const { timeline, random } = this.#caller;
    const isCut = this.#strikes("half body");
    const isSilent = !isCut && this.#strikes("silent body");
    const isHeld = !(body instanceof Uint8Array) && this.#strikes("held body");
    const pieces = body instanceof Uint8Array ? halves(body) : encoded(body);
    const size = blockSizes[Math.floor(random(`block of ${this.#place}`) * blockSizes.length)];
    const source = isHeld ? inBlocks(pieces, size) : pieces;
    // A fault comes after one of the first pieces; a body of bytes, and one in blocks, has few.
    const most = body instanceof Uint8Array || isHeld ? 2 : 30;
    let left = isCut || isSilent ? Math.floor(random(`pieces of ${this.#place}`) * most) : Infinity;
    try {
      for (;;) {
        const isEnd = left-- <= 0 && isCut;
        // The pieces that were held are lost.
        if (isEnd && isHeld)
          await this.#on(timeline.wait(random(`cut of ${this.#place}`) * MAX_DELAY_MS));
        if (isEnd) throw this.#end(reset());
        const next = left < 0 ? never() : source.next();
        const { done, value } = await this.#within(this.#options.bodyTimeout, "BODY", next);
        if (done) return;
        await this.#on(timeline.wait(random(`piece ${left} of ${this.#place}`) * 2));
        yield value;
      }
    } finally {
      this.#left.abort();
    }
  }

  #crash(): void {
    const { server, random } = this.#caller;
    server.crash(random(`downtime at ${this.#place}`) * MAX_DOWNTIME_MS);
    throw this.#end(reset());
  }

  #strikes(kind: FaultKind): boolean {
    const does = this.#caller.strikes(kind, this.#place);
    if (does) this.#caller.note(`${this.#place}: ${kind}`);
    return does;
  }

  /** Breaks the line for both ends; returns the error of the client. */
  #end(reason: unknown): unknown {
    this.#left.abort();
    this.#break(reason);
    return reason;
  }

  /** The work, as long as the line holds. */
  #on<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#broken]);
  }

  /** The same, with a limit in ms for its duration. */
  async #within<T>(
    ms: number | null | undefined,
    what: "HEADERS" | "BODY",
    work: Promise<T>,
  ): Promise<T> {
    const done = new AbortController();
    const limit = this.#caller.timeline.wait(ms ?? 300_000, done.signal).then(
      () => {
        throw this.#end(timedOut(what));
      },
      () => never(),
    );
    work.catch(() => {});
    try {
      return await this.#on(Promise.race([work, limit]));
    } finally {
      done.abort();
    }
  }
}

/** A list without its first row. */
function shortened(body: SandboxResponse["body"]): SandboxResponse["body"] {
  if (!(body instanceof Uint8Array)) return body;
  const list = JSON.parse(new TextDecoder().decode(body)) as { data?: readonly unknown[] };
  return new TextEncoder().encode(JSON.stringify({ ...list, data: list.data?.slice(1) }));
}

const never = () => new Promise<never>(() => {});

/** A path without what differs from run to run: `/v1/datasets/ID/documents`. */
const routeOf = (path: string): string =>
  path.replace(/\?.*$/s, "").replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID");

const lowerCase = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

async function* halves(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const middle = Math.floor(bytes.length / 2);
  if (middle > 0) yield bytes.subarray(0, middle);
  if (bytes.length > middle) yield bytes.subarray(middle);
}

/** Bytes that a proxy collects before it passes them on. */
const blockSizes = [100, 1000, 10_000, Infinity];

async function* inBlocks(
  pieces: AsyncIterable<Uint8Array>,
  size = Infinity,
): AsyncGenerator<Uint8Array> {
  let held: Uint8Array = new Uint8Array();
  for await (const piece of pieces) {
    held = Buffer.concat([held, piece]);
    for (; held.length >= size; held = held.subarray(size)) yield held.subarray(0, size);
  }
  if (held.length > 0) yield held;
}

async function* encoded(
  texts: Exclude<SandboxResponse["body"], Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const utf8 = new TextEncoder();
  for await (const text of texts) yield utf8.encode(text);
}

/** The request as the server reads it. */
async function receivedRequest(options: Dispatcher.RequestOptions): Promise<ReceivedRequest> {
  const { method, path, headers, body } = options;
  const form = body !== null && typeof body === "object";
  return {
    method,
    path,
    headers: lowerCase({ host: "127.0.0.1:8080", ...(headers as Record<string, string>) }),
    body: new TextEncoder().encode(typeof body === "string" ? body : ""),
    parts: form ? await partsOf(body as FormData) : [],
  };
}

const partsOf = (form: FormData): Promise<ReceivedPart[]> =>
  Promise.all(
    [...form].map(async ([name, value]) =>
      typeof value === "string"
        ? { name, type: "text/plain", bytes: new TextEncoder().encode(value) }
        : {
            name,
            filename: value.name,
            type: value.type || "application/octet-stream",
            bytes: new Uint8Array(await value.arrayBuffer()),
          },
    ),
  );
