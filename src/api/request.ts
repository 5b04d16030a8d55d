import { CliError } from "../errors.ts";
import { methodAndPath } from "../operations/operation.ts";
import { define, isObject, setAt } from "../lib/json.ts";
import type { AnyOperation, FileInput, Param } from "../operations/operation.ts";
import { mediaTypeOf } from "./media-types.ts";

/** One part of a multipart form. */
type Part =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly file: TypedFile };

/** A file whose media type is settled. */
export type TypedFile = FileInput & { readonly type: string };

/** A request as it will be sent, except for the key, which only the client adds. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?:
    | { readonly kind: "json"; readonly text: string }
    | { readonly kind: "form"; readonly parts: readonly Part[] };
}

/** Values by wire name, checked and with names turned into ids. */
export type Values = Readonly<Record<string, unknown>>;

/**
 * The request of a row. Pure. `paging` are the query parameters that the engine adds to lists;
 * `extra` is merged into the JSON body (`--body`, `--body-set`). Throws usage for a path value
 * that would lead to another route.
 */
export function requestFor(
  row: AnyOperation,
  input: Values,
  baseUrl: string,
  paging: Readonly<Record<string, string>> = {},
  extra?: Values,
): HttpRequest {
  const [method, template] = methodAndPath(row);
  const fixed = { ...row.fixed };
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = fixed[name] ?? input[name];
    delete fixed[name];
    return pathSegment(name, value);
  });

  const valueOf = (name: string) => input[name] ?? row.params[name]?.default;
  const params = Object.entries(row.params).filter(([name]) => valueOf(name) !== undefined);
  const placed = (place: Param["in"]) => params.filter(([, param]) => param.in === place);

  const query = new URLSearchParams();
  for (const [name] of placed("query")) {
    for (const value of [valueOf(name)].flat()) query.append(name, String(value));
  }
  for (const [name, value] of Object.entries(paging)) query.append(name, value);
  const url = `${baseUrl}${path}${query.size > 0 ? `?${query}` : ""}`;

  const takes = new Set(Object.values(row.params).map((param) => param.in));
  if (takes.has("form") || takes.has("data")) {
    return { method, url, headers: {}, body: { kind: "form", parts: partsOf(row, input, extra) } };
  }
  if (!takes.has("body") && Object.keys(fixed).length === 0 && extra === undefined) {
    return { method, url, headers: {} };
  }
  const body: Record<string, unknown> = {};
  for (const [name, param] of Object.entries(row.params)) {
    if (param.in !== "body") continue;
    const value = input[name] === undefined && needsObject(param) ? {} : input[name];
    if (value !== undefined) setAt(body, name, value);
  }
  Object.assign(body, fixed);
  return {
    method,
    url,
    headers: { "content-type": "application/json" },
    body: { kind: "json", text: JSON.stringify(merge(body, extra)) },
  };
}

/** A path value as it stands in the URL. The URL parser would resolve `.` and `..` to another route. */
function pathSegment(name: string, value: unknown): string {
  const text = String(value ?? "");
  if (text === "" || text === "." || text === "..") {
    throw new CliError("usage", `${name} cannot be "${text}"`, {
      hint: "give the id or the name of the thing",
      sideEffect: "none",
    });
  }
  try {
    return encodeURIComponent(text);
  } catch {
    // Half a surrogate pair, which servers can send in an id.
    throw new CliError(
      "failure",
      `invalid ${name} ${JSON.stringify(text)}: it is not valid Unicode`,
    );
  }
}

/** A required object is sent as `{}` when nothing was given (server §13). */
const needsObject = (param: Param) => param.required === true && param.shape?.kind === "object";

function partsOf(row: AnyOperation, input: Values, extra: Values | undefined): Part[] {
  const parts: Part[] = [];
  const data: Record<string, unknown> = {};
  for (const [name, param] of Object.entries(row.params)) {
    const value = input[name];
    if (value === undefined) continue;
    if (param.in === "data") setAt(data, name, value);
    else if (param.kind === "file") parts.push({ name, file: typedFile(value, param, input) });
    else if (param.in === "form") parts.push({ name, text: String(value) });
  }
  const json = merge(data, extra);
  if (Object.keys(json).length > 0) parts.push({ name: "data", text: JSON.stringify(json) });
  return parts;
}

function typedFile(value: unknown, param: Param, input: Values): TypedFile {
  const file = value as FileInput; // by construction (cli/values.ts)
  const said = input["content_type"] ?? file.type;
  if (said === undefined) return { ...file, type: mediaTypeOf(file.name, param.mediaTypes) };
  if (!/^[\w.+-]+\/[\w.+-]+(;[\x20-\x7e]*)?$/.test(String(said))) {
    throw new CliError("usage", `invalid media type ${JSON.stringify(said)}`, {
      sideEffect: "none",
      hint: "a media type looks like image/png",
    });
  }
  return { ...file, type: String(said).toLowerCase() };
}

/** The second over the first, objects merged field by field. */
function merge(under: Record<string, unknown>, over: Values | undefined): Record<string, unknown> {
  if (over === undefined) return under;
  const merged = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    define(merged, key, isObject(below) && isObject(value) ? merge(below, value) : value);
  }
  return merged;
}
