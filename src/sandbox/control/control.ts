/** Routes to watch and control a running sandbox; they need no key, and faults do not affect them. */
import { isObject, own, tryParseJson, stringifyJson } from "../../lib/json.ts";
import { type Faults, matchesRequest, parseFault } from "../protocol/faults.ts";
import { type Clock, pathOf, type ReceivedRequest } from "../protocol/handler.ts";
import { plainResponse, type SandboxResponse } from "../protocol/response.ts";
import { isModelName, PROVIDER, hasCredentials, type ModelAccess } from "../models/catalog.ts";
import css from "../../lib/page/page.css?raw";
import { paletteCss } from "../../lib/page/palette.ts";

/** What the routes act on. */
export interface Controlled {
  readonly faults: Faults;
  readonly requests: RequestHistory;
  readonly models: ModelAccess;
  /** The state of the sandbox. */
  health(): Health;
  /** Abandons a document, or loses what is stored; throws an Error with the reason if the JSON is invalid. */
  damage(kind: "abandon" | "lose", json: string): void;
  /** Clears the caches of applications; returns the number of answers that they had. */
  clearCaches(): number;
  /** Returns to the state at the start; throws ControlError if the data are kept. */
  reset(): Promise<void>;
}

/** A request to these routes that cannot be served. */
export class ControlError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const routes: Readonly<
  Record<
    string,
    (on: Controlled, request: ReceivedRequest) => SandboxResponse | Promise<SandboxResponse>
  >
> = {
  "GET /": (controlled) => healthPage(controlled.health()),
  "GET /_sandbox/health": (controlled) => json(controlled.health()),
  "GET /_sandbox/requests": ({ requests }, request) =>
    json({ data: filterRecords(requests.records, request), total: requests.total }),
  "GET /_sandbox/faults": ({ faults }) => faultList(faults),
  "POST /_sandbox/faults"({ faults }, { body }) {
    const lines = decoder
      .decode(body)
      .split("\n")
      .filter((line) => line.trim() !== "");
    const read = (line: string) =>
      reported(`fault ${JSON.stringify(line)}`, () => parseFault(line));
    faults.add(lines.map(read));
    return faultList(faults);
  },
  "DELETE /_sandbox/faults"({ faults }) {
    faults.set([]);
    return faultList(faults);
  },
  "GET /_sandbox/models": ({ models }) => json(modelSettings(models)),
  "PATCH /_sandbox/models"({ models }, { body }) {
    reported("models", () => changeModelSettings(models, decoder.decode(body)));
    return json(modelSettings(models));
  },
  "POST /_sandbox/abandon"(controlled, { body }) {
    reported("document", () => controlled.damage("abandon", decoder.decode(body)));
    return json(controlled.health());
  },
  "POST /_sandbox/lose"(controlled, { body }) {
    reported("storage", () => controlled.damage("lose", decoder.decode(body)));
    return json(controlled.health());
  },
  "DELETE /_sandbox/cache": (controlled) => json({ cleared: controlled.clearCaches() }),
  async "POST /_sandbox/reset"(controlled) {
    await controlled.reset();
    return json(controlled.health());
  },
};

/** Reports whether a request is for one of these routes. */
export function isControl(request: ReceivedRequest): boolean {
  return pathOf(request).startsWith("/_sandbox/") || isPage(request);
}

/** The page, which stands for all of the web console: a browser that asks for one of its pages gets it, too. */
function isPage(request: ReceivedRequest): boolean {
  if (request.method !== "GET") return false;
  const isBrowser = request.headers["accept"]?.includes("text/html") === true;
  const path = pathOf(request);
  return path === "/" || (isBrowser && /^\/(apps?|datasets)(\/|$)/.test(path));
}

/** Responds to such a request. */
export async function controlResponse(
  controlled: Controlled,
  request: ReceivedRequest,
): Promise<SandboxResponse> {
  try {
    const name = isPage(request) ? "GET /" : `${request.method} ${pathOf(request)}`;
    const route = own(routes, name);
    if (!route) throw new ControlError(404, `no such route; there are ${routeNames}`);
    return await route(controlled, request);
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    return json({ error: error.message }, error.status);
  }
}

const routeNames = Object.keys(routes).join(", ");

const json = (value: unknown, status = 200): SandboxResponse =>
  plainResponse(status, "application/json", `${stringifyJson(value, 2)}\n`);

const faultList = ({ all }: Faults): SandboxResponse =>
  json({ data: all.map(([{ text }, matched]) => ({ fault: text, matched })) });

/** Runs `work`; reports an error in the request with its reason. */
function reported<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const reason = error instanceof Error ? error.message : "";
    throw new ControlError(400, `${what}: ${reason}`);
  }
}

/** The filters of the list of requests, by the names of their query parameters. */
const filters: Readonly<Record<string, (record: RequestRecord, wanted: string) => boolean>> = {
  method: ({ method }, wanted) => method === wanted.toUpperCase(),
  path: ({ path }, pattern) => matchesRequest({ method: "*", pattern }, "", path),
  status: ({ status }, wanted) => String(status) === wanted,
  app: ({ app }, wanted) => app === wanted,
  dataset: ({ dataset }, wanted) => dataset === wanted,
};

function filterRecords(records: readonly RequestRecord[], { path }: ReceivedRequest) {
  const query = [...new URLSearchParams(path.split("?")[1])];
  const tests = query.map(([name, wanted]) => {
    const test = own(filters, name);
    const names = Object.keys(filters).join(", ");
    const unknown = `unknown filter ${JSON.stringify(name)} (one of: ${names})`;
    if (!test) throw new ControlError(400, unknown);
    return (record: RequestRecord) => test(record, wanted);
  });
  return records.filter((record) => tests.every((test) => test(record)));
}

/** The disabled models, and whether their provider has credentials. */
const modelSettings = (models: ModelAccess) => ({
  disabled: [...models.disabled],
  credentials: hasCredentials(models),
});

/** Changes the settings that the JSON has; throws an Error with the reason if it is invalid. */
function changeModelSettings(models: ModelAccess, json: string): void {
  const settings = tryParseJson(json);
  if (!isObject(settings)) throw new Error(EXPECTED);
  const { disabled = [...models.disabled], credentials = hasCredentials(models) } = settings;
  if (!Array.isArray(disabled) || typeof credentials !== "boolean") throw new Error(EXPECTED);
  const unknown: unknown = disabled.find((name) => !isModelName(name));
  if (unknown !== undefined) throw new Error(`there is no model ${JSON.stringify(unknown)}`);
  models.disabled.clear();
  for (const name of disabled) models.disabled.add(String(name));
  if (credentials) models.withoutCredentials.delete(PROVIDER);
  else models.withoutCredentials.add(PROVIDER);
}

const EXPECTED = 'expected JSON such as {"disabled": ["stub-chat"], "credentials": false}';

/** A request as the sandbox shows it: without its headers, which hold the key. */
export interface RequestRecord {
  /** When it came in, ISO. */
  readonly time: string;
  readonly method: string;
  /** Encoded, without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Application of the key; null on knowledge routes and for an unknown key. */
  readonly app: string | null;
  /** ID of the knowledge base in the path. */
  readonly dataset: string | null;
  /** JSON of the body, or the fields of a form; null if it is neither, or too large. */
  readonly body: unknown;
  /** Length of the body in bytes. */
  readonly size: number;
  /** Null until the response begins, and if there was none. */
  status: number | null;
  /** Duration until the response ended, in ms; null until then. */
  ms: number | null;
}

/** Number of requests that the sandbox remembers, and the length of a body that it shows, in bytes. */
const MAX_RECORDS = 500;
const MAX_BODY = 32 * 1024;

/** The last requests, oldest first. */
export class RequestHistory {
  readonly #clock: Clock;
  readonly #records: RequestRecord[] = [];
  #total = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get records(): readonly RequestRecord[] {
    return this.#records;
  }

  /** Number of all requests, with those that were forgotten. */
  get total(): number {
    return this.#total;
  }

  /** Adds a request. */
  add(request: ReceivedRequest, app: string | null): RequestRecord {
    const path = pathOf(request);
    const record: RequestRecord = {
      time: this.#clock.now().toISOString(),
      method: request.method,
      path,
      query: Object.fromEntries(new URLSearchParams(request.path.slice(path.length + 1))),
      app,
      dataset: /^\/v1\/datasets\/([0-9a-f-]{36})(?:\/|$)/.exec(path)?.[1] ?? null,
      body: shownBody(request),
      size: request.body.byteLength,
      status: null,
      ms: null,
    };
    this.#total++;
    this.#records.push(record);
    if (this.#records.length > MAX_RECORDS) this.#records.shift();
    return record;
  }

  /** Notes that the response to a request has ended. */
  end(record: RequestRecord): void {
    record.ms = this.#clock.now().getTime() - Date.parse(record.time);
  }
}

const decoder = new TextDecoder();

function shownBody({ parts, body }: ReceivedRequest): unknown {
  if (body.byteLength === 0) return null;
  const text = (bytes: Uint8Array) => (bytes.byteLength > MAX_BODY ? null : decoder.decode(bytes));
  if (parts.length === 0) return tryParseJson(text(body) ?? "") ?? null;
  return parts.map(({ name, filename, type, bytes }) => {
    if (filename === undefined) return { name, text: text(bytes) };
    return { name, filename, type, size: bytes.byteLength };
  });
}

/** The state of a sandbox. */
export interface Health {
  readonly status: "ok";
  /** Version of the server that it imitates. */
  readonly version: string;
  readonly base_url: string;
  readonly models: boolean;
  readonly knowledge_key: string;
  readonly applications: readonly {
    readonly name: string;
    readonly mode: string;
    readonly key: string;
  }[];
  /** Numbers of what is stored, and of the requests since the start. */
  readonly counts: Readonly<Record<string, number>>;
  readonly faults: readonly string[];
}

/** The page for people. It has no links: pages of the sandbox may not send requests to it. */
export function healthPage(health: Health): SandboxResponse {
  const { version, base_url, models, knowledge_key, applications, counts, faults } = health;
  const title = `Sandbox, version ${version}`;
  const settings = [
    ["base URL", base_url],
    ["knowledge key", knowledge_key],
  ];
  const apps = applications.map(({ name, mode, key }) => [name, mode, key]);
  const given = faults.map((fault) => [fault]);
  const html = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${paletteCss()}${css}</style>
</head>
<body>
<header>
<p class="command">kb sandbox</p>
<h1>${title}</h1>
<p class="made">A stand-in for tests, ${models ? "with stand-in models" : "without models"}. Its keys are public.</p>
</header>
<main>
<ul class="tiles">${Object.entries(counts).map(tile).join("")}</ul>
${part("Connection", ["setting", "value"], settings)}
${part("Applications", ["name", "mode", "key"], apps)}
${part("Faults", ["fault"], given)}
</main>
</body>
</html>
`;
  return plainResponse(200, "text/html; charset=utf-8", html);
}

const tile = ([name, count]: readonly [string, number]): string =>
  `<li><span class="label">${escaped(name.replaceAll("_", " "))}</span> <strong>${count}</strong></li>`;

/** A table with its heading; the last of several columns holds what is copied. */
function part(title: string, heads: readonly string[], rows: readonly (readonly string[])[]) {
  const last = heads.length - 1;
  const lines = rows.map((cells) => {
    const all = cells.map((cell, at) => {
      if (at === 0) return `<th scope="row">${escaped(cell)}</th>`;
      const text = at === last ? `<code>${escaped(cell)}</code>` : escaped(cell);
      return `<td data-label="${heads[at] ?? ""}">${text}</td>`;
    });
    return `<tr>${all.join("")}</tr>`;
  });
  const head = heads.map((text) => `<th scope="col">${text}</th>`).join("");
  const table = `<table>
<caption class="hidden">${title}</caption>
<thead><tr>${head}</tr></thead>
<tbody>
${lines.join("\n")}
</tbody>
</table>`;
  return `<section class="part">
<h2>${title}</h2>
${rows.length === 0 ? '<p class="dim">None.</p>' : table}
</section>`;
}

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
