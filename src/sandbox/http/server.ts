import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { operations } from "../../operations/index.ts";
import { type Apps, openApps } from "../apps/apps.ts";
import { readApplications } from "../apps/app-definitions.ts";
import { type Knowledge, openKnowledge } from "../knowledge/knowledge.ts";
import { LanguageModel } from "../models/language-model.ts";
import { lockDirectory } from "../storage/directory-lock.ts";
import { openStore, type Store } from "../storage/sqlite.ts";
import { authorize, isLocalClient, normalizeTarget } from "./auth.ts";
import { toHttpError } from "./errors.ts";
import { createFaultPlanner, type Fault, type FaultPlan } from "./faults.ts";
import {
  type Clock,
  ConnectionDropped,
  type Handler,
  HttpError,
  type Reply,
  WorkerFailure,
} from "./handler.ts";
import { BodyTooLarge, readRequest, type ReceivedRequest } from "./read-request.ts";
import { parseRequest } from "./request-body.ts";
import {
  jsonResponse,
  proxyErrorPage,
  redirectResponse,
  routeNotFound,
  type SandboxResponse,
  utf8JsonResponse,
  workerError,
} from "./response.ts";
import { atLeast, createRouter } from "./router.ts";
import { sendResponse } from "./send.ts";

export type { ReceivedRequest } from "./read-request.ts";

export interface SandboxOptions {
  readonly clock: Clock;
  /** Random number from 0 to 1, for IDs and for orders that the server leaves open. */
  readonly random?: () => number;
  /** Directory of the data; null keeps them in memory. */
  readonly directory: string | null;
  /** Port (default: any free port). */
  readonly port?: number;
  /** Server version to imitate (default 1.14.2); a fault may override it for some requests. */
  readonly server?: string;
  readonly faults?: readonly Fault[];
  /** Called with every request as received. */
  readonly onRequest?: (request: ReceivedRequest) => void;
  /** Called with each internal error of the sandbox, and the request or run it occurred in. */
  readonly onError?: (error: unknown, where: string) => void;
  /** ms until a document is indexed (default 300). */
  readonly indexingDelay?: number;
  /** Whether the server has models (default: none, as the older recordings). */
  readonly models?: boolean;
  /** More applications, in the shape of exported ones. */
  readonly applications?: readonly unknown[];
  /** PID of this process; locks the directory against other sandboxes. */
  readonly ownPid?: number;
  readonly isAlive?: (pid: number) => boolean;
}

export interface Sandbox {
  /** Origin, e.g. `http://127.0.0.1:8080`; the base URL of the API is `/v1` below it. */
  readonly origin: string;
  readonly port: number;
  stop(): Promise<void>;
  /** Replaces all faults. */
  setFaults(faults: readonly Fault[]): void;
}

/** Maximum request line that the server reads, in bytes (server §3). */
const MAX_REQUEST_LINE = 8190;

/**
 * Starts a server on 127.0.0.1 that responds like the recorded one. Rejects if the port is in use, or
 * the directory belongs to another running sandbox.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { directory, ownPid, isAlive = () => true, clock } = options;
  const unlock =
    directory === null || ownPid === undefined
      ? () => {}
      : lockDirectory(directory, { pid: ownPid, isAlive, clock });
  const file = directory === null ? null : join(directory, "sandbox.db");
  const server = new SandboxServer(options, await openStore(file), unlock);
  await server.listen(options.port ?? 0);
  return server;
}

/** A request while it is served. */
interface Exchange {
  readonly request: ReceivedRequest;
  readonly plan: FaultPlan;
  readonly version: string;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** Reports an error of the sandbox itself. */
  readonly report: (error: unknown) => void;
}

class SandboxServer implements Sandbox {
  origin = "";
  port = 0;
  readonly #options: SandboxOptions;
  readonly #version: string;
  readonly #store: Store;
  readonly #unlock: () => void;
  // Node's default limit rejects long request lines before the sandbox can respond to them.
  readonly #server = createServer({ maxHeaderSize: 64 * 1024, keepAliveTimeout: 5000 });
  readonly #knowledge: Knowledge;
  readonly #apps: Apps;
  readonly #handlers: ReadonlyMap<string, Handler>;
  readonly #router = createRouter(operations);
  #planFaults: ReturnType<typeof createFaultPlanner>;

  constructor(options: SandboxOptions, store: Store, unlock: () => void) {
    const { clock, random = Math.random, indexingDelay = 300, onError = () => {} } = options;
    const { server: version = "1.14.2", faults = [] } = options;
    this.#options = options;
    this.#version = version;
    this.#store = store;
    this.#unlock = unlock;
    const applications = readApplications(options.applications);
    const model = options.models ? new LanguageModel(clock, random) : undefined;
    const common = { store, clock, random, model };
    this.#knowledge = openKnowledge({ ...common, indexingDelay });
    const { retrieve } = this.#knowledge;
    this.#apps = openApps({ ...common, applications, retrieve, version, onError });
    const handlers = [...this.#knowledge.handlers, ...this.#apps.handlers];
    this.#handlers = new Map(handlers.map((handler) => [handler.row.route, handler]));
    this.#planFaults = createFaultPlanner(faults);
    this.#server.on("request", (request, response) => void this.#serve(request, response));
  }

  async listen(port: number): Promise<void> {
    try {
      await once(this.#server.listen(port, "127.0.0.1"), "listening");
    } catch (error) {
      this.#close();
      throw error;
    }
    this.port = (this.#server.address() as AddressInfo).port; // of a TCP server
    this.origin = `http://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    const closed = once(this.#server.close(), "close");
    this.#server.closeAllConnections();
    await closed;
    this.#close();
  }

  setFaults(faults: readonly Fault[]): void {
    this.#planFaults = createFaultPlanner(faults);
  }

  #close(): void {
    this.#apps.stop();
    this.#store.close();
    this.#unlock();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const client = new AbortController();
    const { signal } = client;
    response.on("close", () => client.abort());
    const received = await receive(request, response);
    if (!received) return;
    const report = (error: unknown) => {
      if (signal.aborted || error instanceof ConnectionDropped) return;
      this.#options.onError?.(error, `${received.method} ${received.path}`);
    };
    try {
      this.#options.onRequest?.(received);
      const plan = this.#planFaults(received.method, pathOf(received));
      if (plan.reset) return void request.socket.resetAndDestroy();
      const version = plan.version ?? this.#version;
      await this.#reply({ request: received, plan, version, signal, report }, response);
    } catch (error) {
      // The client disconnected, or a stream failed: no error can be sent.
      report(error);
      response.destroy();
    }
  }

  /** Responds to a request, with its faults. */
  async #reply(exchange: Exchange, response: ServerResponse): Promise<void> {
    const { plan, version, signal } = exchange;
    const { clock } = this.#options;
    if (plan.silence === 0) return;
    if (plan.delay !== undefined) await clock.sleep(plan.delay, signal);
    const reply = await this.#respond(exchange);
    const own = reply.foreign ? {} : { "X-Version": version, "X-Env": "DEVELOPMENT" };
    const length = plan.length === undefined ? {} : { "Content-Length": String(plan.length) };
    const headers = { ...reply.headers, ...own, ...length };
    await sendResponse({ ...reply, headers }, response, { plan, clock, signal });
  }

  async #respond(exchange: Exchange): Promise<SandboxResponse> {
    const { plan, report } = exchange;
    if (plan.html !== undefined) return proxyErrorPage(plan.html);
    try {
      if (plan.status !== undefined) throw plannedError(plan.status);
      return await this.#route(exchange);
    } catch (error) {
      if (error instanceof WorkerFailure) return workerError();
      const { status, body } = toHttpError(error, report);
      const challenge = { "WWW-Authenticate": 'Bearer realm="api"' };
      return jsonResponse(status, body, status === 401 ? challenge : {});
    }
  }

  async #route({ request, plan, version, signal }: Exchange): Promise<SandboxResponse> {
    const path = pathOf(request);
    if (path === "/v1") return redirectResponse(`${this.origin}/v1/`);
    const [, fileId] = /^\/files\/([^/]+)\/file-preview$/.exec(path) ?? [];
    const file = fileId === undefined ? undefined : this.#knowledge.fileAt(fileId);
    if (file) return { status: 200, headers: file.headers, body: file.bytes };
    if (!path.startsWith("/v1/")) return routeNotFound();

    const method = request.method === "HEAD" ? "GET" : request.method;
    const match = this.#router(method, path.slice("/v1".length), version);
    if (match === "no such route") return routeNotFound();
    if (match === "other method") {
      const text = "The method is not allowed for the requested URL.";
      throw new HttpError(405, "method_not_allowed", text);
    }
    const app = authorize(this.#apps.findAppByKey, match, request.headers["authorization"]);
    const { route } = match.row;
    const handler = this.#handlers.get(route);
    if (!handler) {
      throw new HttpError(501, "not_implemented", `The sandbox does not support ${route}.`);
    }
    if (match.path["dataset_id"]) this.#knowledge.checkDataset(match.path["dataset_id"]);

    const query = new URLSearchParams(request.path.slice(path.length + 1));
    const { input, body, files } = parseRequest(match, query, request);
    // The input was built from the handler's row.
    const reply = await handler.handle(input as never, {
      app,
      version,
      plainMetadata: plan["plain-metadata"] || !atLeast(version, "1.13.0"),
      plan,
      origin: this.origin,
      path: match.path,
      query,
      files,
      body,
      signal,
    });
    return toResponse(reply, method, version);
  }
}

/**
 * Reads a request; returns undefined if it was rejected before it reached the application, or the
 * client disconnected.
 */
async function receive(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<ReceivedRequest | undefined> {
  const line = `${request.method} ${request.url} HTTP/1.1`;
  normalizeTarget(request);
  if (line.length > MAX_REQUEST_LINE) {
    // Sent by the worker, not by the application: no body and no version.
    response.writeHead(414, { "Content-Length": "0", Connection: "close" }).end();
    return undefined;
  }
  // Checked first, so that a web page cannot even use up a fault.
  if (!isLocalClient(request.headers, request.socket.localPort)) {
    const message = "The sandbox serves local programs only, not web pages.";
    const headers = { "Content-Type": "application/json", Connection: "close" };
    const body = { code: "forbidden", message, status: 403 };
    response.writeHead(403, headers).end(JSON.stringify(body));
    return undefined;
  }
  try {
    return await readRequest(request);
  } catch (error) {
    if (!(error instanceof BodyTooLarge)) return void response.destroy();
    const { status, headers, body } = proxyErrorPage(413, "Request Entity Too Large");
    return void response.writeHead(status, headers).end(body);
  }
}

function plannedError(status: number): HttpError {
  const reason = STATUS_CODES[status] ?? "Error";
  return new HttpError(status, reason.toLowerCase().replace(/\W+/g, "_"), reason);
}

const pathOf = ({ path }: ReceivedRequest) => path.split("?", 1)[0] ?? "/";

function toResponse(reply: Reply, method: string, version: string): SandboxResponse {
  if ("stream" in reply) {
    const caching = method === "GET" ? { "Cache-Control": "no-cache" } : {};
    const headers = { "Content-Type": "text/event-stream; charset=utf-8", ...caching };
    return { status: 200, headers, body: reply.stream };
  }
  if ("bytes" in reply) return { status: 200, headers: reply.headers, body: reply.bytes };
  if ("json" in reply) {
    const write = reply.utf8 ? utf8JsonResponse : jsonResponse;
    return write(reply.status ?? 200, reply.json);
  }
  // Older servers write the status as the body (server §19).
  if (!atLeast(version, "1.13.0")) return jsonResponse(200, reply.status);
  return { status: 204, headers: { "Content-Type": "application/json" }, body: new Uint8Array() };
}
