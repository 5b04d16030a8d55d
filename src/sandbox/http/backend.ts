import { join } from "node:path";
import { operations } from "../../operations/index.ts";
import type { AppDefinition } from "../apps/definitions/app-definitions.ts";
import { readApplications } from "../apps/definitions/applications.ts";
import { type Apps, openApps } from "../apps/apps.ts";
import { type Knowledge, openKnowledge } from "../knowledge/knowledge.ts";
import { LanguageModel } from "../models/language-model.ts";
import { openModelAccess } from "../models/catalog.ts";
import { idSource } from "../protocol/ids.ts";
import { openStore, type Store } from "../storage/sqlite.ts";
import { authorize, createRouter, parseRequest, requestError } from "./request.ts";
import type { Fault } from "../protocol/faults.ts";
import { seededRandom } from "../../lib/numbers.ts";
import { atLeast } from "../../lib/version.ts";
import { pathOf } from "../protocol/handler.ts";
import type { Call, Clock, Handler, Reply, ReceivedRequest } from "../protocol/handler.ts";
import {
  jsonResponse,
  raise,
  redirectResponse,
  routeNotFound,
  type SandboxResponse,
  utf8JsonResponse,
} from "../protocol/response.ts";
import type { RequestRecord } from "../control/control.ts";
import type { AppCall } from "../apps/context.ts";

/** A request for the platform, and how to handle it. */
export interface PlatformRequest extends Pick<Call, "plan" | "version" | "origin" | "signal"> {
  readonly request: ReceivedRequest;
}

const countedTables = ["datasets", "documents", "conversations", "messages", "runs"] as const;

const findRoute = createRouter(operations);

/** The imitated platform: its stored data, its applications and its clock. */
export class Backend {
  readonly clock: Clock;
  readonly models = openModelAccess();
  readonly apps: Apps;
  readonly knowledge: Knowledge;
  readonly applications: readonly AppDefinition[];
  /** Moves a clock of its own on, for a request. */
  readonly step: () => void;
  readonly #store: Store;
  readonly #handlers: ReadonlyMap<string, Handler<AppCall>>;

  constructor(options: SandboxOptions, store: Store) {
    const { seed, server: version = "1.14.2", indexingDelay = 300, onError = () => {} } = options;
    const { clock, step } =
      seed === undefined ? { clock: options.clock, step: () => {} } : steppedClock(options);
    const random = seed === undefined ? (options.random ?? Math.random) : seededRandom(seed);
    const model = options.models ? new LanguageModel(clock, random) : undefined;
    const common = { store, clock, random, newId: idSource(random), model, models: this.models };
    this.clock = clock;
    this.step = step;
    this.#store = store;
    this.knowledge = openKnowledge({ ...common, indexingDelay, version });
    const { retrieve } = this.knowledge;
    const applications = readApplications(options.applications, version);
    this.applications = [...applications.values()];
    this.apps = openApps({
      ...common,
      applications,
      retrieve,
      // Drawn only if it is needed: a seed must not change what `random` gives to others.
      seed: seed ?? Math.floor(random() * 2 ** 32),
      version,
      onError,
    });
    const handlers = [...this.knowledge.handlers, ...this.apps.handlers];
    this.#handlers = new Map(handlers.map((handler) => [handler.row.route, handler]));
  }

  /** Responds to a request; throws HttpError. */
  async respond(received: PlatformRequest): Promise<SandboxResponse> {
    const { request, plan, version, origin, signal } = received;
    const path = pathOf(request);
    if (path === "/v1") return redirectResponse(`${origin}/v1/`);
    const [, fileId] = /^\/files\/([^/]+)\/file-preview$/.exec(path) ?? [];
    const file = fileId === undefined ? undefined : this.knowledge.fileAt(fileId);
    if (file) return { status: 200, headers: file.headers, body: file.bytes };
    if (!path.startsWith("/v1/")) return routeNotFound();

    const method = request.method === "HEAD" ? "GET" : request.method;
    const match = findRoute(method, path.slice("/v1".length), version);
    if (match === "no such route") return routeNotFound();
    if (match === "other method") throw requestError(match);
    const authority = { ...this.apps, applications: this.applications, version };
    const app = authorize(authority, match, request.headers);
    const { route } = match.row;
    const handler = this.#handlers.get(route) ?? raise(requestError("no handler", { route }));
    if (match.path["dataset_id"]) this.knowledge.checkDataset(match.path["dataset_id"]);

    const query = new URLSearchParams(request.path.slice(path.length + 1));
    const { input, body, files } = parseRequest(match, query, request, version);
    const { user } = input;
    if (app && plan["split-users"] !== undefined && typeof user === "string") {
      const { records } = this.apps;
      const known = records.findEndUser(app.name, user);
      if (!known) await this.clock.sleep(plan["split-users"], signal);
      if (!known) records.addEndUser(app.name, user);
    }
    // The input was built from the handler's row.
    const reply = await handler.handle(input as never, {
      app: app as AppDefinition, // undefined for knowledge, where no handler reads it
      version,
      plainMetadata: plan["plain-metadata"] || !atLeast(version, "1.13.0"),
      plan,
      origin,
      path: match.path,
      query,
      files,
      body,
      signal,
    });
    return toResponse(reply, method, version);
  }

  /** Numbers of what is stored. */
  counts(): Record<string, number> {
    const count = (table: string) =>
      this.#store.get<{ readonly rows: number }>(`SELECT count(*) AS rows FROM ${table}`)?.rows;
    return Object.fromEntries(countedTables.map((table) => [table, count(table) ?? 0]));
  }

  /** Ends all background work. */
  close(): void {
    this.apps.stop();
    this.#store.close();
  }
}

/** Opens the platform on its directory, or an empty one in memory. */
export async function openBackend(options: SandboxOptions): Promise<Backend> {
  const { directory } = options;
  const file = directory === null ? null : join(directory, "sandbox.db");
  return new Backend(options, await openStore(file));
}

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

/** How a sandbox is started. */
export interface SandboxOptions {
  readonly clock: Clock;
  /** Random number from 0 to 1, for IDs and for orders that the server leaves open. */
  readonly random?: () => number;
  /**
   * Makes IDs and times depend on this number and the requests alone: it replaces `random`, and the
   * clock by one that starts at a fixed time.
   */
  readonly seed?: number;
  /** Existing directory of the data; null keeps them in memory. */
  readonly directory: string | null;
  /** Address to listen on (default 127.0.0.1). */
  readonly host?: string;
  /** Port (default: any free port). */
  readonly port?: number;
  /** Names that `Host` may have beside those of this machine, each with a port or for any. */
  readonly allowedHosts?: readonly string[];
  /** Server version to imitate (default 1.14.2); a fault may override it for some requests. */
  readonly server?: string;
  readonly faults?: readonly Fault[];
  /** Requests that are served at a time (default: any number); the others wait (server §20). */
  readonly connections?: number | undefined;
  /** Called with every request as received. */
  readonly onRequest?: (request: ReceivedRequest) => void;
  /** Called with every request when its response has ended. */
  readonly onResponse?: (record: RequestRecord) => void;
  /** Called with each internal error of the sandbox, and the request or run it occurred in. */
  readonly onError?: (error: unknown, where: string) => void;
  /** ms until a document is indexed (default 300). */
  readonly indexingDelay?: number;
  /** Whether the server has models (default: none, as the older recordings). */
  readonly models?: boolean;
  /** More applications, as their readers return them; exported ones as they are. */
  readonly applications?: readonly unknown[];
  /** PID of this process; locks the directory against other sandboxes. */
  readonly ownPid?: number;
  readonly isAlive?: (pid: number) => boolean;
}

/** Start of the clock, and ms by which each request moves it on: times in seconds differ. */
const START = Date.parse("2026-01-01T00:00:00Z");
const STEP = 1000;

/** A clock that only requests and sleeps move on: it does not depend on the speed of a client. */
function steppedClock({ clock }: SandboxOptions) {
  let time = START;
  const stepped: Clock = {
    now: () => new Date(time),
    async sleep(ms, signal) {
      const end = time + ms;
      await clock.sleep(ms, signal);
      time = Math.max(time, end);
    },
  };
  return { clock: stepped, step: () => void (time += STEP) };
}
