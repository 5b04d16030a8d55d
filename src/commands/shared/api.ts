import { readText } from "../../api/client.ts";
import type { HttpResponse } from "../../api/client.ts";
import { readEvents, eachEvent } from "../../api/sse.ts";
import { inexactNotice, parseNumbers } from "../../api/exact-numbers.ts";
import type { ParsedNumbers, OnInexact } from "../../api/exact-numbers.ts";
import { newCounter, readPage, readRows, sortField } from "../../api/pages.ts";
import type { HttpRequest } from "../../api/request.ts";
import { CliError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { define, isObject } from "../../lib/json.ts";
import { operations } from "../../operations/index.ts";
import { methodAndPath } from "../../operations/operation.ts";
import type { AnyOperation, Returns } from "../../operations/operation.ts";
import { requireAll } from "../row-count-notice.ts";
import type { Context } from "../command-spec.ts";

/** Input of `api`. */
export interface ApiInput {
  readonly method: string;
  readonly path: string;
  readonly raw_field?: readonly string[] | undefined;
  readonly field?: readonly string[] | undefined;
  readonly input?: string | undefined;
  readonly header?: readonly string[] | undefined;
  readonly include?: boolean | undefined;
  readonly all?: boolean | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/**
 * Any route below the base URL. Fields become the query of a GET and the JSON body of the rest.
 * Yields the JSON answer, events as they come, or text; writes other bytes out itself.
 */
export async function* run(input: ApiInput, context: Context): AsyncGenerator<unknown> {
  const method = input.method.toUpperCase();
  if (!methods.includes(method)) {
    throw wrong(
      `${JSON.stringify(input.method)} is no method`,
      `methods are ${methods.join(", ")}`,
    );
  }
  const fields = await fieldsOf(input, context.host);
  const request = requestOf(method, input, fields);
  const kind = context.options.program === "kb" ? "dataset" : "app";
  const ask = (query: Readonly<Record<string, string>>) =>
    context.raw({ ...request, url: withQuery(request.url, query) }, kind, {});
  if (input.all) {
    yield* everyPage(request, ask, context);
    return;
  }
  if (method === "DELETE" && !context.options.dryRun) {
    await context.confirm(`Send DELETE ${request.url}?`);
  }
  const answer = await ask({});
  if (input.include) await context.host.stdout.write(headOf(answer));
  yield* shown(answer, context);
}

const reads = (method: string) => method === "GET" || method === "HEAD";

function requestOf(method: string, input: ApiInput, fields: Fields | undefined): HttpRequest {
  const path = pathOf(input.path);
  const headers = headersOf(input.header ?? []);
  if (reads(method)) {
    if (input.input !== undefined) throw wrong(`a ${method} has no body for --input`);
    return { method, url: withQuery(path, fields ?? {}), headers };
  }
  const text = input.input ?? (fields && JSON.stringify(fields));
  if (text === undefined) return { method, url: path, headers };
  return {
    method,
    url: path,
    headers: { "content-type": "application/json", ...headers },
    body: { kind: "json", text },
  };
}

/** A list repeats its parameter, as the server reads it. */
function withQuery(path: string, query: Fields): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) {
      search.append(name, typeof item === "string" ? item : JSON.stringify(item));
    }
  }
  return search.size === 0 ? path : `${path}${path.includes("?") ? "&" : "?"}${search}`;
}

/**
 * `/datasets`, `datasets` and `/v1/datasets` are the same. Steps upwards would leave the API with
 * the key, also those the URL parser makes of `\` and of characters it drops.
 */
function pathOf(path: string): string {
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(path)) {
    throw wrong(
      "give a path, not an address: the host comes from the base URL",
      "for example /datasets",
    );
  }
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  if (/[\x00-\x1f\x7f\\]/.test(path)) {
    throw wrong(`the path ${JSON.stringify(path)} holds a backslash or a control character`);
  }
  const [route = "", query] = path.replaceAll("#", "%23").split(/\?(.*)/s);
  const steps = route.replace(/^\/?v1(?=\/|$)/, "").replace(/^\/*/, "/");
  if (steps.split("/").some((step) => /^(\.|%2e){1,2}$/i.test(step))) {
    throw wrong(`the path ${JSON.stringify(path)} leads upwards`);
  }
  return query === undefined ? steps : `${steps}?${query}`;
}

/** `-f name=text` and `-F name=value` (true, false, null, numbers, @file), as gh reads them. */
async function fieldsOf(input: ApiInput, host: Host): Promise<Fields | undefined> {
  const raw = input.raw_field ?? [];
  const typed = input.field ?? [];
  if (raw.length + typed.length === 0) return undefined;
  if (input.input !== undefined) throw wrong("give either fields or --input, not both");
  const fields: Record<string, unknown> = {};
  for (const assignment of raw) {
    const [steps, text] = parted(assignment);
    assign(fields, steps, text, assignment);
  }
  for (const assignment of typed) {
    const [steps, text] = parted(assignment);
    const value = text?.startsWith("@") ? await fileText(text.slice(1), host) : typedValue(text);
    assign(fields, steps, value, assignment);
  }
  return fields;
}

/** `a[b][]=x` → `["a", "b", ""]` and `x`; the text is undefined in `a[]`, an empty list. */
function parted(assignment: string): [steps: string[], text: string | undefined] {
  const [, name, inner = "", text] =
    /^([^=[\]]+)((?:\[[^[\]=]*\])*)(?:=(.*))?$/s.exec(assignment) ?? [];
  if (name === undefined || (text === undefined && !inner.endsWith("[]"))) {
    throw wrong(
      `${JSON.stringify(assignment)} is no name=value`,
      "names may be nested: a[b]=c, a[]=x",
    );
  }
  return [[name, ...[...inner.matchAll(/\[([^[\]]*)\]/g)].map(([, step = ""]) => step)], text];
}

/** Sets a nested field; an empty step adds to a list. */
function assign(
  fields: Record<string, unknown>,
  steps: readonly string[],
  value: unknown,
  assignment: string,
): void {
  let at: Record<string, unknown> | unknown[] = fields;
  for (const [index, step] of steps.entries()) {
    const next = steps[index + 1];
    if (Array.isArray(at) !== (step === "")) {
      throw wrong(`${JSON.stringify(assignment)} uses one field as a list and as an object`);
    }
    if (next === undefined) {
      if (!Array.isArray(at)) define(at, step, value);
      else if (value !== undefined) at.push(value);
      return;
    }
    const known: unknown = Array.isArray(at)
      ? openItem(at, next)
      : Object.hasOwn(at, step) && at[step];
    const inside: Record<string, unknown> | unknown[] =
      isObject(known) || Array.isArray(known) ? known : next === "" ? [] : {};
    if (inside !== known) {
      if (Array.isArray(at)) at.push(inside);
      else define(at, step, inside);
    }
    at = inside;
  }
}

/** `a[][x]=1 a[][y]=2 a[][x]=3` are two objects: a field that is there already begins the next one. */
function openItem(list: readonly unknown[], field: string): unknown {
  const last = list.at(-1);
  return isObject(last) && field !== "" && !Object.hasOwn(last, field) ? last : undefined;
}

/** JSON's own words and numbers, as far as a number keeps every digit. */
function typedValue(text: string | undefined): unknown {
  if (text === undefined || !/^(true|false|null|-?(0|[1-9]\d*)(\.\d+)?)$/.test(text)) return text;
  const value = JSON.parse(text) as unknown;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? text : value;
}

async function fileText(path: string, host: Host): Promise<string> {
  const bytes =
    path === "-"
      ? await wholeOf(host.stdin.bytes())
      : await host.files.read(path).catch((cause: unknown) => {
          if (cause instanceof CliError) throw cause; // interrupted
          throw wrong(`${JSON.stringify(path)} cannot be read`, undefined, cause);
        });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw wrong(`${JSON.stringify(path)} is not UTF-8 text`);
  }
}

async function wholeOf(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const chunk of chunks) pieces.push(chunk);
  return Buffer.concat(pieces);
}

function headersOf(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = /^([\w-]+):[ \t]*([^\r\n\0]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw wrong(`${JSON.stringify(line)} is no header`, "headers look like 'Accept: text/plain'");
    }
    if (name.toLowerCase() === "authorization") {
      throw wrong(
        "the key comes from the profile or the environment, never from the line",
        "`help auth` tells how",
      );
    }
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

/** Status and headers, then a blank line; what could act on a terminal is left out. */
function headOf({ status, headers }: HttpResponse): string {
  const lines = Object.entries(headers).map(([name, value = ""]) => `${name}: ${value}`);
  return [`HTTP ${status}`, ...lines, "", ""]
    .map((line) => line.replace(/[^\t\x20-\x7e\u00a0-\uffff]/g, "\ufffd"))
    .join("\n");
}

async function* shown(
  answer: HttpResponse,
  { host, options: asked, notice }: Context,
): AsyncGenerator<unknown> {
  const type = answer.headers["content-type"] ?? "application/json";
  const { isTTY } = host.stdout;
  // As the server sent it, unless a format or a filter asks for values.
  const asSent = asked.format === undefined;
  if (type.includes("event-stream")) {
    for await (const { raw, data } of eachEvent(readEvents(answer.body))) yield asSent ? raw : data;
    return;
  }
  if (!/^text\/|json|xml|html/.test(type) && (isTTY || !asSent)) {
    throw new CliError("usage", `the answer is binary (${type})`, {
      hint: isTTY ? "redirect the output" : "leave out -o and --jq",
    });
  }
  if (!type.includes("json") && asSent && !isTTY) {
    for await (const chunk of answer.body) {
      await host.stdout.write(chunk);
      if (host.stdout.closed) return;
    }
    return;
  }
  const text = await readText(answer.body);
  if (text !== "") yield await jsonOr(text, inexactNotice(notice));
}

async function jsonOr(text: string, tell: OnInexact): Promise<unknown> {
  let parsed: ParsedNumbers;
  try {
    parsed = parseNumbers(text);
  } catch {
    return text;
  }
  await tell(parsed.inexact);
  return parsed.value;
}

/** Every row of a list, as one array, or row by row where each is a line. */
async function* everyPage(
  { method, url }: HttpRequest,
  ask: (query: Readonly<Record<string, string>>) => Promise<HttpResponse>,
  { options: { format }, notice }: Context,
): AsyncGenerator<unknown> {
  const tell = inexactNotice(notice);
  if (method !== "GET") throw wrong("--all reads lists: the method must be GET");
  const query = new URLSearchParams(url.split("?")[1]);
  const place = ["page", "last_id", "first_id"].find((name) => query.has(name));
  if (place !== undefined) throw wrong(`--all cannot be used with ${place}`);
  const size = query.get("limit");
  const read = async (paging: Readonly<Record<string, string>>): Promise<unknown> => {
    const { limit = "", ...place } = paging;
    // A limit of the line is in the path already.
    const answer = await ask(size === null ? { ...place, limit } : place);
    return jsonOr(await readText(answer.body), tell);
  };

  const row = listAt(url);
  const known = row?.returns;
  // The first answer tells how a list goes on that the table does not know.
  const answers = known ? [] : [await read({ limit: String(largestPage) })];
  const returns = known ?? pagingOf(answers[0]);
  // Above the largest page the server cuts, and a cut page is not the last one.
  const sized = { ...returns, cap: Math.min(Number(size) || largestPage, largestPage) };
  const progress = newCounter();
  const rows = readRows(
    sized,
    { limit: Infinity, sortedBy: sortField(row, query.get("sort_by") ?? undefined) },
    async (paging) => readPage(returns, answers.shift() ?? (await read(paging))),
    progress,
  );
  if (format === "jsonl") yield* rows;
  else {
    const all: unknown[] = [];
    for await (const row of rows) all.push(row);
    yield all;
  }
  requireAll(progress);
}

/** Rows of a page that every list of the service gives (server §5). */
const largestPage = 100;

/** The list of the table that this route is; undefined for other routes. */
function listAt(url: string): AnyOperation | undefined {
  const path = url.split("?", 1)[0] ?? "";
  const fits = operations
    .filter(({ returns }) => isList(returns))
    .map((row) => ({ row, route: methodAndPath(row) }))
    .filter(
      ({ route: [method, template] }) =>
        method === "GET" && new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(path),
    );
  return (fits.find(({ route }) => route[1] === path) ?? fits[0])?.row;
}

const isList = ({ kind }: Returns<never>) =>
  kind === "list" || kind === "page" || kind === "cursor";

/** How an unknown list goes on: by the number of a page, after the id of a row, or not at all. */
function pagingOf(answer: unknown): Returns<never> {
  if (Array.isArray(answer)) return { kind: "list", rows: "", columns: [] };
  if (!isObject(answer) || !Array.isArray(answer["data"])) {
    throw new CliError("unsupported", "--all needs a list, and the answer holds none under `data`");
  }
  const shape = { rows: "data", columns: [], cap: largestPage } as const;
  if (typeof answer["page"] === "number") return { kind: "page", ...shape };
  if (typeof answer["has_more"] !== "boolean") return { kind: "list", ...shape };
  return { kind: "cursor", after: "last_id", ...shape };
}

const wrong = (message: string, hint?: string, cause?: unknown) =>
  new CliError("usage", message, { hint, cause, sideEffect: "none" });
