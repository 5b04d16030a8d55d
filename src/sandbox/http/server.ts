import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { join } from "node:path";
import { operations } from "../../operations/index.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import {
  type SandboxResponse,
  jsonResponse,
  proxyErrorPage,
  redirectResponse,
  routeNotFound,
  utf8JsonResponse,
} from "./response.ts";
import { authorize, isLocalClient, normalizeTarget } from "./auth.ts";
import { type Apps, appSchema, openApps } from "../apps/apps.ts";
import { sendResponse } from "./send.ts";
import { type Fault, createFaultPlanner, type FaultPlan } from "./faults.ts";
import { lockDirectory } from "../storage/directory-lock.ts";
import { type Call, type Clock, type Handler, HttpError, type Reply } from "./handler.ts";
import { parseRequest } from "./request-body.ts";
import { type Knowledge, knowledgeSchema, openKnowledge } from "../knowledge/knowledge.ts";
import { BodyTooLarge, readRequest, type ReceivedRequest } from "./read-request.ts";
import { sandboxFailure, internalServerError } from "./errors.ts";
import { atLeast, createRouter, type Router } from "./router.ts";
import { openStore, UnstorableValue } from "../storage/sqlite.ts";
import { ConnectionDropped } from "./sse.ts";

export type { ReceivedRequest } from "./read-request.ts";

export interface SandboxOptions {
  readonly clock: Clock;
  /** Chance from 0 to 1, for ids and for orders that the server leaves open. */
  readonly random?: () => number;
  /** Where data are kept; null keeps them in memory. */
  readonly directory: string | null;
  /** 0 or absent: any free one. */
  readonly port?: number;
  /** The version that is played; 1.14.2 when absent. A fault may say otherwise for some requests. */
  readonly server?: string;
  readonly faults?: readonly Fault[];
  /** Gets every request as it arrived. */
  readonly onRequest?: (line: ReceivedRequest) => void;
  /** Gets what the sandbox itself did wrong, and on which request or in which run. */
  readonly onError?: (error: unknown, where: string) => void;
  /** ms until a document is indexed; 300 when absent. */
  readonly indexingDelay?: number;
  /** This process: with it the folder is taken, so that no second sandbox writes there. */
  readonly ownPid?: number;
  readonly isAlive?: (pid: number) => boolean;
}

export interface Sandbox {
  /** `http://127.0.0.1:8080`; the API's base address is `/v1` below it. */
  readonly origin: string;
  readonly port: number;
  stop(): Promise<void>;
  /** Puts other faults in the place of all present ones. */
  setFaults(faults: readonly Fault[]): void;
}

/** The version that is played where nothing says otherwise. */
const currentVersion = "1.14.2";

/** Longest request line that the server reads, in bytes (server §3). */
const longestLine = 8190;

/** What one sandbox consists of. */
interface House {
  readonly origin: string;
  readonly server: string;
  readonly clock: Clock;
  readonly router: Router;
  readonly handlers: ReadonlyMap<string, Handler>;
  /** Rows by route: several may share one. */
  readonly rows: ReadonlyMap<string, readonly AnyOperation[]>;
  readonly knowledge: Knowledge;
  readonly apps: Apps;
}

/**
 * A server on 127.0.0.1 that answers as the recorded one does. Rejects when the port is taken, or
 * when the folder belongs to another sandbox that is alive.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { clock, random = Math.random, directory: folder, indexingDelay = 300 } = options;
  const { server: version = currentVersion, onError: bug = () => {} } = options;
  const release = ownFolder(options);
  const file = folder === null ? null : join(folder, "sandbox.db");
  const store = await openStore(file, [knowledgeSchema, appSchema]);
  const knowledge = openKnowledge({ store, clock, random, indexingDelay });
  const apps = openApps({ store, clock, random, version, bug });
  const rows = rowsByRoute();
  const handlers = new Map(
    [...knowledge.handlers, ...apps.handlers].map((handler) => [handler.row.route, handler]),
  );

  let faults = createFaultPlanner(options.faults ?? []);
  // The head may be longer than Node reads by itself: a line that is too long gets an answer.
  const server = createServer({ maxHeaderSize: 64 * 1024, keepAliveTimeout: 5000 });
  const close = () => {
    apps.stop();
    knowledge.stop();
    store.close();
    release();
  };
  try {
    await listening(server, options.port ?? 0);
  } catch (error) {
    close();
    throw error;
  }
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const origin = `http://127.0.0.1:${port}`;
  const house: House = {
    origin,
    server: version,
    clock,
    router: createRouter(operations),
    handlers,
    rows,
    knowledge,
    apps,
  };

  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const plan = (seen: ReceivedRequest) => faults(seen.method, pathOf(seen));
    const { onRequest: log } = options;
    exchange(house, request, response, { plan, log, bug, gone: gone.signal }).catch(() =>
      // Nobody is left to be told: the client went away, or a stream broke.
      response.destroy(),
    );
  });

  return {
    origin,
    port,
    setFaults(next) {
      faults = createFaultPlanner(next);
    },
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      close();
    },
  };
}

function rowsByRoute(): Map<string, AnyOperation[]> {
  const rows = new Map<string, AnyOperation[]>();
  for (const row of operations) rows.set(row.route, [...(rows.get(row.route) ?? []), row]);
  return rows;
}

function ownFolder({
  directory: folder,
  ownPid,
  isAlive = () => true,
  clock,
}: SandboxOptions): () => void {
  if (folder === null || ownPid === undefined) return () => {};
  return lockDirectory(folder, { pid: ownPid, isAlive, clock });
}

const listening = (server: ReturnType<typeof createServer>, port: number) =>
  new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });

/** One request and its answer, faults included. */
async function exchange(
  house: House,
  request: IncomingMessage,
  response: ServerResponse,
  around: {
    readonly plan: (seen: ReceivedRequest) => FaultPlan;
    readonly log: ((line: ReceivedRequest) => void) | undefined;
    readonly bug: (error: unknown, where: string) => void;
    readonly gone: AbortSignal;
  },
): Promise<void> {
  const { gone } = around;
  const line = `${request.method} ${request.url} HTTP/1.1`;
  normalizeTarget(request);
  if (line.length > longestLine) {
    // From the worker, not the application: no body and no version.
    response.writeHead(414, { "Content-Length": "0", Connection: "close" }).end();
    return;
  }
  // Before all else: a web page shall not even use up a fault.
  if (!isLocalClient(request.headers, request.socket.localPort)) {
    const message = "The sandbox serves programs of this machine, no web pages.";
    const head = { "Content-Type": "application/json", Connection: "close" };
    response.writeHead(403, head).end(JSON.stringify({ code: "forbidden", message, status: 403 }));
    return;
  }
  const seen = await readRequest(request).catch((error: unknown) => {
    if (error instanceof BodyTooLarge) return undefined;
    throw error;
  });
  if (!seen) {
    const { status, headers, body } = proxyErrorPage(413, "Request Entity Too Large");
    return void response.writeHead(status, headers).end(body);
  }
  around.log?.(seen);
  const plan = around.plan(seen);
  if (plan.reset) return void request.socket.resetAndDestroy();
  if (plan.silence === 0) return;
  if (plan.delay !== undefined) await house.clock.sleep(plan.delay, gone);

  const version = plan.version ?? house.server;
  const bug = (error: unknown) => {
    if (!gone.aborted) around.bug(error, `${seen.method} ${seen.path}`);
  };
  const answer = await answered(house, seen, { plan, version, gone, bug });
  const own = plan.html === undefined ? { "X-Version": version, "X-Env": "DEVELOPMENT" } : {};
  const length = plan.length === undefined ? {} : { "Content-Length": String(plan.length) };
  const headers = { ...answer.headers, ...own, ...length };
  await sendResponse({ ...answer, headers }, response, plan, house.clock, gone).catch((error) => {
    if (!(error instanceof ConnectionDropped)) bug(error);
    throw error;
  });
}

/** What is known of a request beside its bytes. */
interface Around {
  readonly plan: FaultPlan;
  readonly version: string;
  readonly gone: AbortSignal;
  readonly bug: (error: unknown) => void;
}

async function answered(
  house: House,
  seen: ReceivedRequest,
  around: Around,
): Promise<SandboxResponse> {
  const { plan } = around;
  if (plan.html !== undefined) return proxyErrorPage(plan.html, STATUS_CODES[plan.html] ?? "Error");
  try {
    if (plan.status !== undefined) throw plannedError(plan.status);
    return await routed(house, seen, around);
  } catch (error) {
    const refused = refusalOf(error, around.bug);
    const challenge = { "WWW-Authenticate": 'Bearer realm="api"' };
    return jsonResponse(refused.status, refused.body, refused.status === 401 ? challenge : {});
  }
}

/** What a failure answers: the server's own words, or that the sandbox is wrong. */
function refusalOf(error: unknown, bug: (error: unknown) => void): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof UnstorableValue) return internalServerError();
  bug(error);
  return sandboxFailure(error);
}

const plannedError = (status: number) => {
  const reason = STATUS_CODES[status] ?? "Error";
  return new HttpError(status, reason.toLowerCase().replace(/\W+/g, "_"), reason);
};

const pathOf = ({ path }: ReceivedRequest) => path.split("?", 1)[0] ?? "/";

async function routed(
  house: House,
  seen: ReceivedRequest,
  around: Around,
): Promise<SandboxResponse> {
  const { plan, version, gone } = around;
  const path = pathOf(seen);
  if (path === "/v1") return redirectResponse(`${house.origin}/v1/`);
  const download = /^\/files\/([^/]+)\/file-preview$/.exec(path);
  if (download) {
    const file = house.knowledge.fileAt(download[1] ?? "");
    return file ? { status: 200, headers: file.headers, body: file.bytes } : routeNotFound();
  }
  if (!path.startsWith("/v1/")) return routeNotFound();

  const method = seen.method === "HEAD" ? "GET" : seen.method;
  const match = house.router(method, path.slice("/v1".length), version);
  if (match === "no such route") return routeNotFound();
  if (match === "other method") {
    const text = "The method is not allowed for the requested URL.";
    throw new HttpError(405, "method_not_allowed", text);
  }
  const app = authorize(house.apps.appOf, match, seen.headers["authorization"]);
  const handler = house.handlers.get(match.row.route);
  if (!handler) {
    const text = `The sandbox does not play ${match.row.route}.`;
    throw new HttpError(501, "not_implemented", text);
  }
  const { dataset_id } = match.path;
  if (dataset_id !== undefined) house.knowledge.checkDataset(dataset_id);

  const query = new URLSearchParams(seen.path.slice(path.length + 1));
  const rows = house.rows.get(match.row.route) ?? [match.row];
  const { input, body, files } = parseRequest(rows, match.path, query, seen);
  const call: Call = {
    app,
    version,
    plainMetadata: plan["plain-metadata"] || !atLeast(version, "1.13.0"),
    plan,
    origin: house.origin,
    path: match.path,
    query,
    files,
    body,
    signal: gone,
  };
  // The input was made after the handler's own row.
  return answerOf(await handler.handle(input as never, call), method, version);
}

function answerOf(reply: Reply, method: string, version: string): SandboxResponse {
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
