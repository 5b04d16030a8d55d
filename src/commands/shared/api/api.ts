import { readText } from "../../../lib/collect.ts";
import type { HttpResponse } from "../../../api/exchange.ts";
import type { HttpRequest } from "../../../api/request.ts";
import { eachEvent, readEvents } from "../../../api/sse.ts";
import { CliError, usage } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import type { AnyOperation, Input, Returns } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { apiParams } from "./command.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { newCounter, readPage, readPages, sortField } from "../../../api/pages.ts";
import { collect, oneByOne, bytesOf } from "../../../lib/collect.ts";
import { isObject, jsonOrText, stringifyJson, define, parseJson } from "../../../lib/json.ts";
import { operations } from "../../../operations/index.ts";
import { isList, methodAndPath } from "../../../operations/operation.ts";
import { requireAll } from "../../task/row-counts.ts";

type ApiInput = Input<typeof apiParams>;

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/**
 * `api`: sends a request to any route below the base URL. Fields become the query of a GET and the
 * JSON body of other methods. Yields JSON, events or text; writes other content to stdout itself.
 */
export async function* run(input: ApiInput, context: Context): AsyncGenerator<unknown> {
  const method = (input.method ?? "GET").toUpperCase();
  if (!methods.includes(method)) {
    const message = `invalid method ${JSON.stringify(input.method)}`;
    const typed = input.path.toUpperCase();
    const swapped = commandLine(`${context.options.program} api`, [typed, input.method ?? ""]);
    throw usage(
      message,
      methods.includes(typed)
        ? `the method comes first: ${swapped}`
        : `use one of ${methods.join(", ")}`,
    );
  }
  if (methods.includes(input.path.toUpperCase())) throw usage("missing argument: <path>");
  const request = buildRequest(method, input, await fieldsOf(input, context.host));
  const kind = context.options.program === "kb" ? "dataset" : "app";
  const send = (query: Readonly<Record<string, string>>) =>
    context.api.raw({ ...request, url: withQuery(request.url, query) }, kind, {});
  if (input.all) {
    yield* allPages(request, send, context);
    return;
  }
  if (method === "DELETE" && !context.options.dryRun) {
    await context.confirm(`Send DELETE ${request.url}?`);
  }
  const response = await send({});
  if (input.include) await context.host.stdout.write(headText(response));
  yield* responseValues(response, context);
}

async function fieldsOf(input: ApiInput, host: Host): Promise<Fields | undefined> {
  const { raw_field: raw = [], field: typed = [] } = input;
  if (raw.length + typed.length === 0) return undefined;
  if (input.input !== undefined) throw usage("fields and --input cannot be used together");
  return parseFields(raw, typed, host);
}

function buildRequest(method: string, input: ApiInput, fields: Fields | undefined): HttpRequest {
  const path = normalizePath(input.path);
  const headers = parseHeaders(input.header ?? []);
  if (method === "GET" || method === "HEAD") {
    if (input.input !== undefined) throw usage(`${method} has no body: --input is not allowed`);
    return { method, url: withQuery(path, fields ?? {}), headers };
  }
  const text = input.input ?? (fields && stringifyJson(fields));
  if (text === undefined) return { method, url: path, headers };
  return {
    method,
    url: path,
    headers: { "content-type": "application/json", ...headers },
    body: { kind: "json", text },
  };
}

/** Appends a query; each item of a list becomes a parameter of its own, as the server expects. */
function withQuery(path: string, query: Fields): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) {
      search.append(name, typeof item === "string" ? item : stringifyJson(item));
    }
  }
  return search.size === 0 ? path : `${path}${path.includes("?") ? "&" : "?"}${search}`;
}

/**
 * `/datasets`, `datasets` and `/v1/datasets` are the same. Rejects segments that lead upwards, which
 * would send the key outside of the API: also those that URL parsers make of `\` and of control
 * characters.
 */
function normalizePath(path: string): string {
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(path)) {
    throw usage("pass a path, not a URL: the host is that of the base URL", "such as /datasets");
  }
  // oxlint-disable-next-line no-control-regex -- rejects exactly these
  if (/[\x00-\x1f\x7f\\]/.test(path)) {
    throw usage(`the path ${JSON.stringify(path)} has a backslash or a control character`);
  }
  const [route = "", query] = path.replaceAll("#", "%23").split(/\?(.*)/s);
  const normalized = route.replace(/^\/?v1(?=\/|$)/, "").replace(/^\/*/, "/");
  if (normalized.split("/").some((segment) => /^(\.|%2e){1,2}$/i.test(segment))) {
    throw usage(`the path ${JSON.stringify(path)} leads upwards`);
  }
  return query === undefined ? normalized : `${normalized}?${query}`;
}

function parseHeaders(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = /^([\w-]+):[ \t]*([^\r\n\0]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw usage(`invalid header ${JSON.stringify(line)}`, "use 'Accept: text/plain'");
    }
    if (name.toLowerCase() === "authorization") {
      const message = "the key comes from the profile or the environment, not from --header";
      throw usage(message, `run ${commandLine("kb help", ["auth"])}`);
    }
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

/** Status and headers, then an empty line; characters that could control a terminal are replaced. */
function headText({ status, headers }: HttpResponse): string {
  const lines = Object.entries(headers).map(([name, value = ""]) => `${name}: ${value}`);
  return [`HTTP ${status}`, ...lines, "", ""]
    .map((line) => line.replace(/[^\t\x20-\x7e\u00a0-\uffff]/g, "\ufffd"))
    .join("\n");
}

async function* responseValues(
  { headers, body }: HttpResponse,
  { host, options }: Context,
): AsyncGenerator<unknown> {
  const type = headers["content-type"] ?? "application/json";
  const { isTTY } = host.stdout;
  // Unchanged, unless a format or a filter needs values.
  const isRaw = options.format === undefined;
  if (type.includes("event-stream")) {
    for await (const { raw, data } of eachEvent(readEvents(body))) yield isRaw ? raw : data;
    return;
  }
  if (!/^text\/|json|xml|html/.test(type) && (isTTY || !isRaw)) {
    throw usage(
      `the response is binary (${type})`,
      isTTY ? "redirect the output to a file" : "omit -o and --jq",
    );
  }
  if (!type.includes("json") && isRaw && !isTTY) {
    for await (const chunk of body) {
      await host.stdout.write(chunk);
      if (host.stdout.closed) return;
    }
    return;
  }
  const text = await readText(body);
  if (text !== "") yield jsonOrText(text);
}

type Query = Readonly<Record<string, string>>;

/** `api --all`: all rows of a list as one array, or one by one with `-o jsonl`. */
async function* allPages(
  { method, url }: HttpRequest,
  send: (query: Query) => Promise<HttpResponse>,
  { options }: Context,
): AsyncGenerator<unknown> {
  if (method !== "GET") throw usage("--all is only for lists: use the method GET");
  const query = new URLSearchParams(url.split("?")[1]);
  const position = ["page", "last_id", "first_id"].find((name) => query.has(name));
  if (position !== undefined) throw usage(`--all cannot be used with ${position}`);
  const limit = query.get("limit");
  const read = async (paging: Query): Promise<unknown> => {
    const { limit: pageSize = "", ...rest } = paging;
    // A limit from the command line is already in the URL.
    const response = await send(limit === null ? { ...rest, limit: pageSize } : rest);
    return jsonOrText(await readText(response.body));
  };

  const row = listOperation(url);
  // The first response shows how an unknown list is paged.
  const first = row ? [] : [await read({ limit: String(MAX_PAGE_SIZE) })];
  const returns = row?.returns ?? detectPaging(first[0]);
  // The server shortens larger pages, and a shortened page is not the last one.
  const cap = Math.min(Number(limit) || MAX_PAGE_SIZE, MAX_PAGE_SIZE);
  const capped = { ...returns, cap };
  const progress = newCounter();
  const pages = readPages(
    capped,
    { limit: Infinity, sortedBy: sortField(row, query.get("sort_by") ?? undefined) },
    async (paging) => readPage(returns, first.shift() ?? (await read(paging))),
    progress,
  );
  if (options.format === "jsonl") yield* oneByOne(pages);
  else yield await collect(oneByOne(pages));
  requireAll(progress);
}

/** Page size that all lists of the service API allow (server §5). */
const MAX_PAGE_SIZE = 100;

/** The list operation with this route, if there is one; a route without IDs is preferred. */
function listOperation(url: string): AnyOperation | undefined {
  const path = url.split("?", 1)[0] ?? "";
  const matches = operations
    .filter(({ returns }) => isList(returns))
    .map((row) => ({ row, route: methodAndPath(row) }))
    .filter(
      ({ route: [method, template] }) =>
        method === "GET" && new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(path),
    );
  return (matches.find(({ route }) => route[1] === path) ?? matches[0])?.row;
}

/** How an unknown list is paged: by page number, after the ID of a row, or not at all. */
function detectPaging(response: unknown): Returns<never> {
  if (Array.isArray(response)) return { kind: "list", rows: "", columns: [] };
  if (!isObject(response) || !Array.isArray(response["data"])) {
    throw new CliError("unsupported", "--all needs a list, but the response has none in `data`");
  }
  const common = { rows: "data", columns: [], cap: MAX_PAGE_SIZE } as const;
  if (typeof response["page"] === "number") return { kind: "page", ...common };
  if (typeof response["has_more"] !== "boolean") return { kind: "list", ...common };
  return { kind: "cursor", after: "last_id", ...common };
}

/** Fields by name; values are JSON. */
type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads `-f name=text` and `-F name=value` as gh does:
 *
 *     -f a=1            { "a": "1" }
 *     -F a=1 -F b=true  { "a": 1, "b": true }
 *     -F a[b]=1         { "a": { "b": 1 } }
 *     -F a[]=1 -F a[]=2 { "a": [1, 2] }
 *     -F a[]            { "a": [] }
 *     -F a=@file        { "a": "the text of the file" }
 */
async function parseFields(
  raw: readonly string[],
  typed: readonly string[],
  host: Host,
): Promise<Fields> {
  const fields: Record<string, unknown> = {};
  for (const assignment of raw) {
    const [path, text] = parseAssignment(assignment);
    assign(fields, path, text, assignment);
  }
  for (const assignment of typed) {
    const [path, text] = parseAssignment(assignment);
    const value = text?.startsWith("@") ? await fileText(text.slice(1), host) : typedValue(text);
    assign(fields, path, value, assignment);
  }
  return fields;
}

/** `a[b][]=x` → `["a", "b", ""]` and `x`; the text of `a[]` is undefined. */
function parseAssignment(assignment: string): [path: string[], text: string | undefined] {
  const [, name, inner = "", text] =
    /^([^=[\]]+)((?:\[[^[\]=]*\])*)(?:=(.*))?$/s.exec(assignment) ?? [];
  if (name === undefined || (text === undefined && !inner.endsWith("[]"))) {
    const message = `expected name=value, not ${JSON.stringify(assignment)}`;
    throw usage(message, "names can be nested: a[b]=c, a[]=x");
  }
  return [[name, ...[...inner.matchAll(/\[([^[\]]*)\]/g)].map(([, key = ""]) => key)], text];
}

/** Sets a nested field; an empty key appends to a list. */
function assign(
  fields: Record<string, unknown>,
  path: readonly string[],
  value: unknown,
  assignment: string,
): void {
  let at: Record<string, unknown> | unknown[] = fields;
  for (const [index, key] of path.entries()) {
    const next = path[index + 1];
    if (Array.isArray(at) !== (key === "")) {
      throw usage(`${JSON.stringify(assignment)} uses one field as a list and as an object`);
    }
    if (next === undefined) {
      if (!Array.isArray(at)) define(at, key, value);
      else if (value !== undefined) at.push(value);
      return;
    }
    at = enter(at, key, next);
  }
}

function enter(
  at: Record<string, unknown> | unknown[],
  key: string,
  next: string,
): Record<string, unknown> | unknown[] {
  const existing = Array.isArray(at) ? lastOpenItem(at, next) : Object.hasOwn(at, key) && at[key];
  if (isObject(existing) || Array.isArray(existing)) return existing;
  const created = next === "" ? [] : {};
  if (Array.isArray(at)) at.push(created);
  else define(at, key, created);
  return created;
}

/** `a[][x]=1 a[][y]=2 a[][x]=3` are two objects: a key that exists already begins the next one. */
function lastOpenItem(list: readonly unknown[], key: string): unknown {
  const last = list.at(-1);
  return isObject(last) && key !== "" && !Object.hasOwn(last, key) ? last : undefined;
}

/** JSON literals and numbers; otherwise text. */
function typedValue(text: string | undefined): unknown {
  if (text === undefined || !/^(true|false|null|-?(0|[1-9]\d*)(\.\d+)?)$/.test(text)) return text;
  return parseJson(text);
}

async function fileText(path: string, host: Host): Promise<string> {
  const bytes =
    path === "-"
      ? await bytesOf(host.stdin.bytes())
      : await host.files.read(path).catch((cause: unknown) => {
          if (cause instanceof CliError) throw cause; // interrupted
          throw usage(`failed to read ${JSON.stringify(path)}`, undefined, { cause });
        });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw usage(`${JSON.stringify(path)} is not UTF-8 text`);
  }
}
