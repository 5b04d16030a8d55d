import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { join } from "node:path";
import { operations } from "../../operations/index.ts";
import { type Apps, openApps } from "../apps/apps.ts";
import { type Knowledge, openKnowledge } from "../knowledge/knowledge.ts";
import { lockDirectory } from "../storage/directory-lock.ts";
import { openStore, type Store, UnstorableValue } from "../storage/sqlite.ts";
import { authorize, isLocalClient, normalizeTarget } from "./auth.ts";
import { internalServerError, sandboxFailure } from "./errors.ts";
import { createFaultPlanner, type Fault, type FaultPlan } from "./faults.ts";
import { type Call, type Clock, type Handler, HttpError, type Reply } from "./handler.ts";
import { BodyTooLarge, readRequest, type ReceivedRequest } from "./read-request.ts";
import { parseRequest } from "./request-body.ts";
import {
  jsonResponse,
  proxyErrorPage,
  redirectResponse,
  routeNotFound,
  type SandboxResponse,
  utf8JsonResponse,
} from "./response.ts";
import { atLeast, createRouter } from "./router.ts";
import { sendResponse } from "./send.ts";
import { ConnectionDropped } from "./sse.ts";

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

const DEFAULT_VERSION = "1.14.2";

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
  const store = await openStore(file);
  const server = new SandboxServer(options, store, unlock);
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
  readonly onError: (error: unknown) => void;
}

class SandboxServer implements Sandbox {
  origin = "";
  port = 0;
  readonly #options: SandboxOptions;
  readonly #store: Store;
  readonly #unlock: () => void;
  // Node's default limit rejects long request lines before the sandbox can respond to them.
  readonly #server = createServer({ maxHeaderSize: 64 * 1024, keepAliveTimeout: 5000 });
  readonly #knowledge: Knowledge;
  readonly #apps: Apps;
  readonly #handlers: ReadonlyMap<string, Handler>;
  readonly #router = createRouter(operations);
  #planFaults: (method: string, path: string) => FaultPlan;

  constructor(options: SandboxOptions, store: Store, unlock: () => void) {
    const { clock, random = Math.random, indexingDelay = 300, onError = () => {} } = options;
    const version = options.server ?? DEFAULT_VERSION;
    this.#options = options;
    this.#store = store;
    this.#unlock = unlock;
    this.#knowledge = openKnowledge({ store, clock, random, indexingDelay });
    this.#apps = openApps({ store, clock, random, version, onError });
    const handlers = [...this.#knowledge.handlers, ...this.#apps.handlers];
    this.#handlers = new Map(handlers.map((handler) => [handler.row.route, handler]));
    this.#planFaults = createFaultPlanner(options.faults ?? []);
    this.#server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      const client = new AbortController();
      response.on("close", () => client.abort());
      // The client disconnected, or a stream failed: no error can be sent.
      this.#serve(request, response, client.signal).catch(() => response.destroy());
    });
  }

  async listen(port: number): Promise<void> {
    try {
      await new Promise<void>((resolve, reject) => {
        this.#server.once("error", reject);
        this.#server.listen(port, "127.0.0.1", resolve);
      });
    } catch (error) {
      this.#close();
      throw error;
    }
    const address = this.#server.address();
    this.port = typeof address === "object" && address !== null ? address.port : 0;
    this.origin = `http://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
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

  /** Serves one request, with its faults. */
  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const received = await receive(request, response);
    if (!received) return;
    const { clock, onRequest, onError, server = DEFAULT_VERSION } = this.#options;
    onRequest?.(received);
    const plan = this.#planFaults(received.method, pathOf(received));
    if (plan.reset) return void request.socket.resetAndDestroy();
    if (plan.silence === 0) return;
    if (plan.delay !== undefined) await clock.sleep(plan.delay, signal);

    const version = plan.version ?? server;
    const exchange: Exchange = {
      request: received,
      plan,
      version,
      signal,
      onError: (error) => {
        if (!signal.aborted) onError?.(error, `${received.method} ${received.path}`);
      },
    };
    const reply = await this.#respond(exchange);
    const own = plan.html === undefined ? { "X-Version": version, "X-Env": "DEVELOPMENT" } : {};
    const length = plan.length === undefined ? {} : { "Content-Length": String(plan.length) };
    const headers = { ...reply.headers, ...own, ...length };
    await sendResponse({ ...reply, headers }, response, plan, clock, signal).catch((error) => {
      if (!(error instanceof ConnectionDropped)) exchange.onError(error);
      throw error;
    });
  }

  async #respond(exchange: Exchange): Promise<SandboxResponse> {
    const { plan } = exchange;
    if (plan.html !== undefined) return proxyErrorPage(plan.html, reasonPhrase(plan.html));
    try {
      if (plan.status !== undefined) throw plannedError(plan.status);
      return await this.#route(exchange);
    } catch (error) {
      const { status, body } = toHttpError(error, exchange.onError);
      const challenge = { "WWW-Authenticate": 'Bearer realm="api"' };
      return jsonResponse(status, body, status === 401 ? challenge : {});
    }
  }

  async #route(exchange: Exchange): Promise<SandboxResponse> {
    const { request, plan, version, signal } = exchange;
    const path = pathOf(request);
    if (path === "/v1") return redirectResponse(`${this.origin}/v1/`);
    const download = /^\/files\/([^/]+)\/file-preview$/.exec(path);
    if (download) {
      const file = this.#knowledge.fileAt(download[1] ?? "");
      return file ? { status: 200, headers: file.headers, body: file.bytes } : routeNotFound();
    }
    if (!path.startsWith("/v1/")) return routeNotFound();

    const method = request.method === "HEAD" ? "GET" : request.method;
    const match = this.#router(method, path.slice("/v1".length), version);
    if (match === "no such route") return routeNotFound();
    if (match === "other method") {
      const text = "The method is not allowed for the requested URL.";
      throw new HttpError(405, "method_not_allowed", text);
    }
    const { row, path: values } = match;
    const app = authorize(this.#apps.findAppByKey, match, request.headers["authorization"]);
    const handler = this.#handlers.get(row.route);
    if (!handler) {
      const text = `The sandbox does not support ${row.route}.`;
      throw new HttpError(501, "not_implemented", text);
    }
    if (values["dataset_id"] !== undefined) this.#knowledge.checkDataset(values["dataset_id"]);

    const query = new URLSearchParams(request.path.slice(path.length + 1));
    const rows = operations.filter(({ route }) => route === row.route);
    const { input, body, files } = parseRequest(rows, values, query, request);
    const call: Call = {
      app,
      version,
      plainMetadata: plan["plain-metadata"] || !atLeast(version, "1.13.0"),
      plan,
      origin: this.origin,
      path: values,
      query,
      files,
      body,
      signal,
    };
    // The input was built from the handler's row.
    return toResponse(await handler.handle(input as never, call), method, version);
  }
}

/** Reads a request; returns undefined if it was rejected before it reached the application. */
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
    if (!(error instanceof BodyTooLarge)) throw error;
    const { status, headers, body } = proxyErrorPage(413, "Request Entity Too Large");
    response.writeHead(status, headers).end(body);
    return undefined;
  }
}

function toHttpError(error: unknown, onError: (error: unknown) => void): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof UnstorableValue) return internalServerError();
  onError(error);
  return sandboxFailure(error);
}

const reasonPhrase = (status: number) => STATUS_CODES[status] ?? "Error";

const plannedError = (status: number) => {
  const reason = reasonPhrase(status);
  return new HttpError(status, reason.toLowerCase().replace(/\W+/g, "_"), reason);
};

const pathOf = ({ path }: ReceivedRequest) => path.split("?", 1)[0] ?? "/";

function toResponse(reply: Reply, method: string, version: string): SandboxResponse {
  if ("stream" in reply) {
    const caching = method === "GET" ? { "Cache-Control": "no-cache" } : {};
    const headers = { "Content-Type": "text/event-stream; charset=utf-8", ...caching };
    return { status: 200, headers, body: reply.stream };
  }
  if ("bytes" in reply) return { status: 200, headers: reply.headers, body: reply.bytes };
  if (!("json" in reply)) {
    // Older servers write the status as the body (server §19).
    if (!atLeast(version, "1.13.0")) return jsonResponse(200, reply.status);
    return { status: 204, headers: { "Content-Type": "application/json" }, body: new Uint8Array() };
  }
  const write = reply.utf8 ? utf8JsonResponse : jsonResponse;
  return write(reply.status ?? 200, reply.json);
}
