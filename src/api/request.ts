import { CliError, usage } from "../errors.ts";
import { attempt, define, isObject, setAt, stringifyJson } from "../lib/json.ts";
import { methodAndPath } from "../operations/operation.ts";
import type { AnyOperation, FileInput, Param } from "../operations/operation.ts";

/** The message for a web page in place of a response of the API, and its hint. */
export const NOT_API = "not an API endpoint: the server returned HTML";
export const CHECK_BASE_URL = "check that the base URL ends in /v1, as in https://example.com/v1";

type Part =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly file: TypedFile };

/** A file with its media type. */
export type TypedFile = FileInput & { readonly type: string };

/** A request as it is sent, without the key, which only the client adds. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?:
    | { readonly kind: "json"; readonly text: string }
    | { readonly kind: "form"; readonly parts: readonly Part[] };
}

/** Validated values by wire name, with names resolved to IDs. */
export type Values = Readonly<Record<string, unknown>>;

/** What the engine adds to the values of a row. */
export interface Additions {
  /** Query parameters of a list. */
  readonly paging?: Readonly<Record<string, string>>;
  /** Fields merged into the JSON body (`--body`, `--body-set`). */
  readonly extra?: Values | undefined;
}

/** Builds the request of a row. Throws `usage` for a path value that would change the route. */
export function requestFor(
  row: AnyOperation,
  input: Values,
  baseUrl: string,
  { paging = {}, extra }: Additions,
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
    body: { kind: "json", text: stringifyJson(merge(body, extra)) },
  };
}

/** An encoded path value. The URL parser would resolve `.` and `..` to another route. */
function pathSegment(name: string, value: unknown): string {
  const text = String(value ?? "");
  if (text === "" || text === "." || text === "..") {
    throw usage(`invalid ${name}: "${text}"`, "pass an ID or a name");
  }
  const encoded = attempt(() => encodeURIComponent(text));
  if (encoded !== undefined) return encoded;
  // A lone surrogate, which servers can send in an ID.
  throw new CliError("failure", `invalid ${name} ${JSON.stringify(text)}: it is not valid Unicode`);
}

/** A required object without a value is sent as `{}` (server §13). */
const needsObject = (param: Param) => param.required === true && param.shape?.kind === "object";

function partsOf(row: AnyOperation, input: Values, extra: Values | undefined): Part[] {
  const parts: Part[] = [];
  const data: Record<string, unknown> = {};
  for (const [name, param] of Object.entries(row.params)) {
    const value = input[name];
    if (value === undefined) continue;
    if (param.in === "data") setAt(data, name, value);
    else if (param.kind === "file") parts.push({ name, file: typedFile(value, input) });
    else if (param.in === "form") parts.push({ name, text: String(value) });
  }
  const json = merge(data, extra);
  if (Object.keys(json).length > 0) parts.push({ name: "data", text: stringifyJson(json) });
  return parts;
}

function typedFile(value: unknown, input: Values): TypedFile {
  const file = value as FileInput; // by construction (cli/parse/values.ts)
  const type = input["content_type"] ?? file.type;
  if (type === undefined) return { ...file, type: mediaTypeOf(file.name) };
  if (!/^[\w.+-]+\/[\w.+-]+(;[\x20-\x7e]*)?$/.test(String(type))) {
    throw usage(`invalid media type ${JSON.stringify(type)}`, "example of a media type: image/png");
  }
  return { ...file, type: String(type).toLowerCase() };
}

/** The values with those of `changes` over them; objects are merged field by field. */
function merge(
  values: Record<string, unknown>,
  changes: Values | undefined,
): Record<string, unknown> {
  if (changes === undefined) return values;
  const merged = { ...values };
  for (const [key, value] of Object.entries(changes)) {
    const old = merged[key];
    define(merged, key, isObject(old) && isObject(value) ? merge(old, value) : value);
  }
  return merged;
}

/** What each kind of file is called on the wire, with its extensions in lower case. */
const extensions: Readonly<Record<string, string>> = {
  "text/csv": "csv",
  "text/html": "htm html",
  "text/plain": "log properties txt",
  "text/markdown": "markdown md mdx",
  "text/vtt": "vtt",
  "application/msword": "doc",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "message/rfc822": "eml",
  "application/epub+zip": "epub",
  "application/json": "json",
  "application/vnd.ms-outlook": "msg",
  "application/pdf": "pdf",
  "application/vnd.ms-powerpoint": "ppt",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
  "application/vnd.ms-excel": "xls",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  "application/xml": "xml",
  "application/yaml": "yaml yml",
  "application/zip": "zip",
  "image/bmp": "bmp",
  "image/gif": "gif",
  "image/jpeg": "jpeg jpg",
  "image/png": "png",
  "image/svg+xml": "svg",
  "image/tiff": "tif tiff",
  "image/webp": "webp",
  "audio/aac": "aac",
  "audio/amr": "amr",
  "audio/flac": "flac",
  "audio/mp4": "m4a",
  "audio/mpeg": "mp3 mpga",
  "audio/ogg": "ogg",
  "audio/wav": "wav",
  "video/quicktime": "mov",
  "video/mp4": "mp4",
  "video/mpeg": "mpeg",
  "video/webm": "webm",
};

const byExtension = new Map(
  Object.entries(extensions).flatMap(([type, names]) =>
    names.split(" ").map((name) => [name, type] as const),
  ),
);

/** Media type of a file by the extension of its name; `application/octet-stream` if unknown. */
function mediaTypeOf(name: string): string {
  const extension = /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  return byExtension.get(extension) ?? "application/octet-stream";
}
