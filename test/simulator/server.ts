import { setMaxListeners } from "node:events";
import { answerRequest } from "../../src/sandbox/http/server.ts";
import { PROVIDER } from "../../src/sandbox/models/catalog.ts";
import { KNOWLEDGE_KEY } from "../../src/sandbox/protocol/ids.ts";
import { seededRandom } from "../../src/lib/numbers.ts";
import { Backend, type SandboxOptions } from "../../src/sandbox/http/backend.ts";
import type { FaultPlan } from "../../src/sandbox/protocol/faults.ts";
import type { ReceivedRequest } from "../../src/sandbox/protocol/handler.ts";
import type { SandboxResponse } from "../../src/sandbox/protocol/response.ts";
import { openStore, type SqlValue, type Store } from "../../src/sandbox/storage/sqlite.ts";
import type { Timeline } from "./timeline.ts";

/** Origin of the server; nothing listens there. */
export const ORIGIN = "http://127.0.0.1:8080";

/** Time of the server at the start. */
export const START = Date.parse("2026-03-01T12:00:00Z");

let opened: Promise<Store> | undefined;

/** The store of all runs of this process, emptied: opening one takes longer than a whole run. */
async function emptyStore(): Promise<Store> {
  const store = await (opened ??= openStore(null));
  const tables = store.all<{ name: string; sql: string }>(
    "SELECT name, sql FROM sqlite_master WHERE type = 'table'",
  );
  const words = tables.filter(({ sql }) => sql.startsWith("CREATE VIRTUAL"));
  const isShadow = (name: string) => words.some((each) => name.startsWith(`${each.name}_`));
  store.transaction(() => {
    for (const { name } of tables) if (!isShadow(name)) store.run(`DELETE FROM ${name}`);
  });
  return store;
}

/** One life of the server: what it has not stored ends with it. */
interface Life {
  readonly backend: Backend;
  readonly ended: AbortController;
}

/** The sandbox without sockets. */
export class SimulatedServer {
  /** Errors of the sandbox itself. */
  readonly problems: unknown[] = [];
  /** Time at which the server accepts connections again. */
  #upAt = 0;
  #life: Life | undefined;
  #lives = 0;
  readonly #store: Store;
  readonly #timeline: Timeline;
  readonly #seed: number;
  readonly #options: Partial<SandboxOptions>;

  constructor(timeline: Timeline, seed: number, [store, options]: Opened) {
    this.#timeline = timeline;
    this.#seed = seed;
    this.#store = store;
    this.#options = options;
  }

  static async open(
    timeline: Timeline,
    seed: number,
    options: Partial<SandboxOptions>,
  ): Promise<SimulatedServer> {
    const server = new SimulatedServer(timeline, seed, [await emptyStore(), options]);
    server.#life = server.#start();
    return server;
  }

  /** Whether it has ended and started again. */
  get wasRestarted(): boolean {
    return this.#lives > 1;
  }

  /** The clock of the server. */
  now(): Date {
    return new Date(START + Math.floor(this.#timeline.time));
  }

  get isUp(): boolean {
    return this.#timeline.time >= this.#upAt;
  }

  /** Aborted when this life of the server ends: its connections break. */
  get ended(): AbortSignal {
    return this.#current.ended.signal;
  }

  /** Ends the server; it accepts connections again after `ms`. */
  crash(ms: number): void {
    const life = this.#life;
    this.#life = undefined;
    this.#upAt = this.#timeline.time + ms;
    life?.ended.abort();
    // It resumes its runs by itself, also if no request comes.
    void this.#timeline.wait(ms).then(() => this.isUp && this.#current);
  }

  /** Responds to a request, which takes no time of its own. */
  respond(
    request: ReceivedRequest,
    signal: AbortSignal,
    plan: FaultPlan = {},
  ): Promise<SandboxResponse> {
    const exchange = {
      request,
      plan,
      version: this.#options.server ?? "1.14.2",
      origin: ORIGIN,
      signal,
    };
    return answerRequest(this.#current.backend, exchange, (error) => this.problems.push(error));
  }

  /**
   * A request of someone else: without faults, and it takes no time. Returns the JSON, or the bytes of
   * anything else; throws for an error response.
   */
  async call<T>(method: string, path: string, json?: object, key = KNOWLEDGE_KEY): Promise<T> {
    const response = await this.send({ method, path, json, key });
    const bytes = await bytesOf(response.body);
    const text = new TextDecoder().decode(bytes);
    if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    const isJson = /json/.test(response.headers["Content-Type"] ?? "") && text !== "";
    return (isJson ? JSON.parse(text) : bytes) as T; // as the caller expects
  }

  /** A request of someone else, whose response is not read. */
  send({ method, path, json, key, signal }: ForeignRequest): Promise<SandboxResponse> {
    const body = new TextEncoder().encode(json === undefined ? "" : JSON.stringify(json));
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const request = { method, path, headers, body, parts: [] };
    return this.respond(request, signal ?? new AbortController().signal);
  }

  /** Gives the provider of the models its credentials, or takes them away: indexing fails then. */
  setCredentials(hasThem: boolean): void {
    const { withoutCredentials } = this.#current.backend.models;
    if (hasThem) withoutCredentials.delete(PROVIDER);
    else withoutCredentials.add(PROVIDER);
  }

  /** Leaves a document in a status with its chunks, as a worker that dies in the middle of a rebuild. */
  abandon(document: string, status: string): void {
    this.#current.backend.knowledge.damage("abandon", JSON.stringify({ document, status }));
  }

  /** What is stored, whatever the server shows of it. */
  query<T>(sql: string, ...values: readonly SqlValue[]): T[] {
    return this.#store.all<T>(sql, ...values);
  }

  get #current(): Life {
    return (this.#life ??= this.#start());
  }

  #start(): Life {
    const ended = new AbortController();
    setMaxListeners(0, ended.signal); // each request listens
    const store = mortal(this.#store, ended.signal);
    const timeline = this.#timeline;
    const clock = {
      now: () => this.now(),
      // The work of a server that has ended stops where it waits.
      sleep: async (ms: number, signal?: AbortSignal) => {
        await timeline.wait(ms, signal);
        if (ended.signal.aborted) await new Promise(() => {});
      },
    };
    const random = seededRandom(this.#seed * 1000 + this.#lives++);
    const onError = (error: unknown) => {
      if (!ended.signal.aborted) this.problems.push(error);
    };
    const options = { directory: null, ...this.#options, clock, random, onError };
    return { backend: new Backend(options, store), ended };
  }
}

/** A request of someone who is not simulated. */
interface ForeignRequest {
  readonly method: string;
  readonly path: string;
  readonly json?: object | undefined;
  readonly key: string;
  /** Aborted when they leave. */
  readonly signal?: AbortSignal;
}

type Opened = readonly [store: Store, options: Partial<SandboxOptions>];

/** The store as one life of the server has it: nothing is read or written after its end. */
const mortal = (store: Store, ended: AbortSignal): Store =>
  new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        if (ended.aborted) throw new Error("the server has ended");
        return Reflect.apply(value, target, args);
      };
    },
  });

async function bytesOf(body: SandboxResponse["body"]): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body;
  let text = "";
  for await (const piece of body) text += piece;
  return new TextEncoder().encode(text);
}
