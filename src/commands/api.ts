import { textOf } from "../api/client.ts";
import type { HttpAnswer } from "../api/client.ts";
import { eventsIn } from "../api/events.ts";
import type { HttpRequest } from "../api/request.ts";
import { CliError } from "../errors.ts";
import { isObject, setAt } from "../json.ts";
import type { Context } from "./task.ts";

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

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/**
 * Any route below the base URL. Fields become the query of a GET and the JSON body of the rest.
 * Yields the JSON answer, events as they come, or text.
 */
export async function* run(input: ApiInput, context: Context): AsyncGenerator<unknown> {
  const method = input.method.toUpperCase();
  if (!methods.includes(method)) {
    throw new CliError("usage", `${JSON.stringify(input.method)} is no method`, {
      hint: `methods are ${methods.join(", ")}`,
    });
  }
  const fields = await fieldsOf(input, context);
  const headers = headersOf(input.header ?? []);
  const kind = context.asked.program === "kb" ? "dataset" : "app";
  const ask = (query: Readonly<Record<string, string>>) =>
    context.raw(requestOf(method, input.path, fields, input.input, query), kind, { headers });
  if (input.all) {
    yield* everyPage(method, ask);
    return;
  }
  yield* shown(await ask({}), input.include ?? false);
}

function requestOf(
  method: string,
  path: string,
  fields: Readonly<Record<string, unknown>> | undefined,
  body: string | undefined,
  query: Readonly<Record<string, string>>,
): HttpRequest {
  const reads = method === "GET" || method === "HEAD";
  const given =
    reads && fields ? Object.entries(fields).map(([name, value]) => [name, String(value)]) : [];
  const search = new URLSearchParams([...given, ...Object.entries(query)] as [string, string][]);
  const clean = pathOf(path);
  const url = search.size === 0 ? clean : `${clean}${clean.includes("?") ? "&" : "?"}${search}`;
  const text = body ?? (reads || fields === undefined ? undefined : JSON.stringify(fields));
  if (text === undefined) return { method, url, headers: {} };
  return {
    method,
    url,
    headers: { "content-type": "application/json" },
    body: { kind: "json", text },
  };
}

/** `/datasets`, `datasets` and `/v1/datasets` are the same; steps upwards would leave the API. */
function pathOf(path: string): string {
  if (/^[a-z]+:\/\//i.test(path)) {
    throw new CliError("usage", "give a path, not an address: the host comes from the base URL", {
      hint: "for example /datasets",
    });
  }
  const [route = "", query] = path.split(/\?(.*)/s);
  const steps = route.replace(/^\/?v1(?=\/|$)/, "").replace(/^\/*/, "/");
  if (steps.split("/").some((step) => /^(\.|%2e){1,2}$/i.test(step))) {
    throw new CliError("usage", `the path ${JSON.stringify(path)} leads upwards`);
  }
  return query === undefined ? steps : `${steps}?${query}`;
}

/** `-f name=text` and `-F name=value` (true, false, null, numbers, @file), as gh reads them. */
async function fieldsOf(
  input: ApiInput,
  context: Context,
): Promise<Record<string, unknown> | undefined> {
  const raw = input.raw_field ?? [];
  const typed = input.field ?? [];
  if (raw.length + typed.length === 0) return undefined;
  if (input.input !== undefined)
    throw new CliError("usage", "give either fields or --input, not both");
  const fields: Record<string, unknown> = {};
  for (const assignment of raw) assign(fields, assignment, (text) => text);
  for (const assignment of typed) {
    const at = assignment.indexOf("=");
    const value = assignment.slice(at + 1);
    if (value.startsWith("@")) {
      const bytes = await context.host.files.read(value.slice(1)).catch((cause: unknown) => {
        throw new CliError("usage", `${value.slice(1)} cannot be read`, { cause });
      });
      assign(fields, assignment, () => new TextDecoder().decode(bytes));
    } else assign(fields, assignment, typedValue);
  }
  return fields;
}

function assign(
  fields: Record<string, unknown>,
  assignment: string,
  read: (text: string) => unknown,
): void {
  const at = assignment.indexOf("=");
  if (at < 1) throw new CliError("usage", `${JSON.stringify(assignment)} is no name=value`);
  setAt(
    fields,
    assignment.slice(0, at).replace(/\[(\w*)\]/g, ".$1"),
    read(assignment.slice(at + 1)),
  );
}

const typedValue = (text: string): unknown =>
  /^(true|false|null|-?\d+(\.\d+)?)$/.test(text) ? (JSON.parse(text) as unknown) : text;

function headersOf(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [name = "", value] = line.split(/:\s*(.*)/s);
    if (value === undefined || !/^[\w-]+$/.test(name)) {
      throw new CliError("usage", `${JSON.stringify(line)} is no header`, {
        hint: "headers look like 'Accept: text/plain'",
      });
    }
    if (name.toLowerCase() === "authorization") {
      throw new CliError(
        "usage",
        "the key comes from the profile or the environment, never from the line",
        {
          hint: "`help auth` tells how",
        },
      );
    }
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

async function* shown(answer: HttpAnswer, include: boolean): AsyncGenerator<unknown> {
  if (include) {
    const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}`);
    yield `${[`HTTP ${answer.status}`, ...lines, ""].join("\n")}\n`;
  }
  const type = answer.headers["content-type"] ?? "";
  if (type.includes("text/event-stream")) {
    for await (const event of eventsIn(answer.body)) yield event.data;
    return;
  }
  const text = await textOf(answer.body);
  if (text === "") return;
  try {
    yield JSON.parse(text) as unknown;
  } catch {
    yield text;
  }
}

/** Rows of all pages of a list with numbered pages, as one array. */
async function* everyPage(
  method: string,
  ask: (query: Readonly<Record<string, string>>) => Promise<HttpAnswer>,
): AsyncGenerator<unknown> {
  if (method !== "GET") throw new CliError("usage", "--all reads lists: the method must be GET");
  const size = 100;
  const rows: unknown[] = [];
  for (let page = 1; ; page++) {
    const answer = await ask({ page: String(page), limit: String(size) });
    const value: unknown = JSON.parse(await textOf(answer.body));
    const data = isObject(value) ? value["data"] : undefined;
    if (!Array.isArray(data)) {
      throw new CliError("unsupported", "--all needs a list with numbered pages under `data`");
    }
    rows.push(...(data as unknown[]));
    if (data.length < size) break;
  }
  yield rows;
}
