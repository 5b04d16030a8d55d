import { rmSync } from "node:fs";
import { join } from "node:path";
import { type LockOwner, takeLock } from "../../host/lock.ts";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ControlError, controlResponse, isControl, RequestHistory } from "../control/control.ts";
import type { Controlled, RequestRecord, Health } from "../control/control.ts";
import type { ModelAccess } from "../models/catalog.ts";
import { appKey, KNOWLEDGE_KEY } from "../protocol/ids.ts";
import { type HostNames, originOf, receive, Connections, sendResponse } from "./exchange.ts";
import { keyIn } from "./request.ts";
import { type Backend, openBackend, type PlatformRequest, type SandboxOptions } from "./backend.ts";
import {
  statusError,
  ConnectionDropped,
  WorkerFailure,
  HttpError,
  internalServerError,
  jsonResponse,
  proxyErrorPage,
  type SandboxResponse,
  workerError,
} from "../protocol/response.ts";
import { type Fault, Faults } from "../protocol/faults.ts";
import { pathOf, type ReceivedRequest } from "../protocol/handler.ts";
import { InvalidInput } from "../protocol/validation.ts";
import { UnstorableValue } from "../storage/sqlite.ts";
import { atLeast, nextServer } from "../../lib/version.ts";

export type { SandboxOptions } from "./backend.ts";
export type { ReceivedRequest } from "../protocol/handler.ts";

export interface Sandbox {
  /** Origin, e.g. `http://127.0.0.1:8080`; the base URL of the API is `/v1` below it. */
  readonly origin: string;
  readonly port: number;
  /** The key of all knowledge bases. */
  readonly knowledgeKey: string;
  /** The key of each application, by its name. */
  readonly appKeys: Readonly<Record<string, string>>;
  /** Which models are disabled, and which providers have no credentials. */
  readonly models: ModelAccess;
  /** The last requests. */
  readonly requests: RequestHistory;
  stop(): Promise<void>;
  /** Returns to the state at the start; throws ControlError if the data are kept. */
  reset(): Promise<void>;
  /** Replaces all faults. */
  setFaults(faults: readonly Fault[]): void;
}

/**
 * Starts a server that responds like the recorded one. Rejects if the port is in use, the address is
 * not one of this machine, or the directory belongs to another running sandbox.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { directory, ownPid, isAlive = () => true, clock } = options;
  const unlock =
    directory === null || ownPid === undefined
      ? () => {}
      : lockDirectory(directory, { pid: ownPid, isAlive, clock });
  const server = new SandboxServer(options, await openBackend(options), unlock);
  await server.listen();
  return server;
}

class SandboxServer implements Sandbox, Controlled {
  port = 0;
  readonly knowledgeKey = KNOWLEDGE_KEY;
  readonly faults = new Faults();
  requests: RequestHistory;
  readonly #options: SandboxOptions;
  readonly #version: string;
  readonly #address: string;
  readonly #unlock: () => void;
  // Node's default limit rejects long request lines before the sandbox can respond to them.
  readonly #server = createServer({ maxHeaderSize: 64 * 1024, keepAliveTimeout: 5000 });
  #backend: Backend;
  readonly #connections: Connections;
  #stopped: Promise<void> | undefined;
  /** Drop the connections of the requests that are served. */
  readonly #drops = new Set<() => void>();

  constructor(options: SandboxOptions, backend: Backend, unlock: () => void) {
    this.#options = options;
    this.#version = options.server ?? "1.14.2";
    this.#address = options.host ?? "127.0.0.1";
    this.#unlock = unlock;
    this.#backend = backend;
    this.requests = new RequestHistory(backend.clock);
    this.faults.set(options.faults ?? []);
    this.#connections = new Connections(options.connections ?? Infinity);
    this.#server.on("request", (request, response) => void this.#serve(request, response));
  }

  get origin(): string {
    return originOf(this.#names);
  }

  get models(): ModelAccess {
    return this.#backend.models;
  }

  get appKeys(): Record<string, string> {
    return Object.fromEntries(this.#backend.applications.map(({ name }) => [name, appKey(name)]));
  }

  async listen(): Promise<void> {
    try {
      await once(this.#server.listen(this.#options.port ?? 0, this.#address), "listening");
    } catch (error) {
      this.#close();
      throw error;
    }
    this.port = (this.#server.address() as AddressInfo).port; // of a TCP server
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  async #stop(): Promise<void> {
    const closed = once(this.#server.close(), "close");
    this.#server.closeAllConnections();
    await closed;
    this.#close();
  }

  setFaults(faults: readonly Fault[]): void {
    this.faults.set(faults);
  }

  health(): Health {
    return {
      status: "ok",
      version: this.#version,
      base_url: `${this.origin}/v1`,
      models: this.#options.models ?? false,
      knowledge_key: KNOWLEDGE_KEY,
      applications: this.#backend.applications.map(({ name, mode }) => {
        return { name, mode, key: appKey(name) };
      }),
      counts: { ...this.#backend.counts(), requests: this.requests.total },
      faults: this.faults.all.map(([{ text }]) => text),
    };
  }

  damage(kind: "abandon" | "lose", json: string): void {
    this.#backend.knowledge.damage(kind, json);
  }

  clearCaches(): number {
    return this.#backend.apps.clearCaches();
  }

  async reset(): Promise<void> {
    if (this.#options.directory !== null) {
      throw new ControlError(409, "the sandbox keeps its data; only one in memory can be reset");
    }
    const before = this.#backend;
    const backend = await openBackend(this.#options);
    for (const drop of this.#drops) drop();
    this.#backend = backend;
    this.requests = new RequestHistory(backend.clock);
    this.faults.set(this.#options.faults ?? []);
    before.close();
  }

  get #names(): HostNames {
    const { allowedHosts: allowed = [] } = this.#options;
    return { address: this.#address, port: this.port, allowed };
  }

  #close(): void {
    this.#backend.close();
    this.#unlock();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const client = new AbortController();
    const { signal } = client;
    response.on("close", () => client.abort());
    const received = await receive(request, response, this.#names);
    if (!received) return;
    const report = (error: unknown) => {
      if (signal.aborted || error instanceof ConnectionDropped) return;
      this.#options.onError?.(error, `${received.method} ${received.path}`);
    };
    try {
      if (isControl(received)) {
        const sending = { plan: {}, clock: this.#backend.clock, signal };
        return await sendResponse(await controlResponse(this, received), response, sending);
      }
      await this.#connections.enter(signal);
      const record = this.#record(received, response, client);
      const now = this.#backend.clock.now().getTime();
      const { app } = record;
      const plan = this.faults.plan(received.method, pathOf(received), { app, now });
      if (plan.reset) return void request.socket.resetAndDestroy();
      const version = plan.version ?? this.#version;
      const origin = `http://${received.headers["host"]}`;
      if (plan.silence === 0) return;
      const backend = this.#backend;
      const { clock } = backend;
      if (plan.delay !== undefined) await clock.sleep(plan.delay, signal);
      const asked = { request: received, plan, version, origin, signal };
      const reply = await answerRequest(backend, asked, report);
      record.status = reply.status;
      await sendResponse(reply, response, { plan, clock, signal });
    } catch (error) {
      // The client disconnected, or a stream failed: no error can be sent.
      report(error);
      response.destroy();
    }
  }

  /** Records a request of the platform until its response has ended. */
  #record(
    request: ReceivedRequest,
    response: ServerResponse,
    client: AbortController,
  ): RequestRecord {
    this.#options.onRequest?.(request);
    this.#backend.step();
    const app = this.#backend.apps.findAppByKey(keyIn(request.headers["authorization"]) ?? "");
    const { requests } = this;
    const record = requests.add(request, app?.name ?? null);
    const drop = () => {
      client.abort();
      response.destroy();
    };
    this.#drops.add(drop);
    response.on("close", () => {
      this.#drops.delete(drop);
      requests.end(record);
      this.#options.onResponse?.(record);
    });
    return record;
  }
}

/**
 * Responds to a request as a client sees it: with the headers of the application, and with a response
 * for every error. `report` is called with errors of the sandbox itself.
 */
export async function answerRequest(
  backend: Backend,
  request: PlatformRequest,
  report: (error: unknown) => void,
): Promise<SandboxResponse> {
  const { plan, version } = request;
  const respond = async () => {
    if (plan.status !== undefined) throw statusError(plan.status);
    return backend.respond(request);
  };
  const response =
    plan.html === undefined
      ? await respond().catch((error: unknown) => errorResponse(error, version, report))
      : proxyErrorPage(plan.html);
  const own = response.foreign ? {} : { "X-Version": version, "X-Env": "DEVELOPMENT" };
  const length = plan.length === undefined ? {} : { "Content-Length": String(plan.length) };
  return { ...response, headers: { ...response.headers, ...own, ...length } };
}

/** The response to what a handler threw; an error of the sandbox itself has a code that no server has. */
function errorResponse(error: unknown, version: string, report: (error: unknown) => void) {
  if (error instanceof WorkerFailure) return workerError();
  const isListed = error instanceof InvalidInput && atLeast(version, nextServer);
  const { status, body } = isListed ? error.next : toHttpError(error, report);
  const challenge = { "WWW-Authenticate": 'Bearer realm="api"' };
  return jsonResponse(status, body, status === 401 ? challenge : {});
}

/**
 * Locks an existing directory for one process and returns the function that unlocks it. Removes the lock of a
 * dead owner; throws an Error that names the owner if it is alive.
 */
export function lockDirectory(directory: string, owner: LockOwner): () => void {
  const lock = takeLock(join(directory, "sandbox.pid"), owner);
  if ("heldBy" in lock) {
    throw new Error(
      `directory ${directory} is in use by another sandbox (${lock.heldBy}): ` +
        `choose another directory, or ${lock.next}`,
    );
  }
  // A process that dies with the database open leaves SQLite's lock, a directory, behind.
  rmSync(join(directory, "sandbox.db.lock"), { recursive: true, force: true });
  return lock.release;
}

function toHttpError(error: unknown, report: (error: unknown) => void): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof UnstorableValue) return internalServerError();
  report(error);
  return new HttpError(500, "sandbox_bug", `The sandbox failed: ${String(error)}`);
}
