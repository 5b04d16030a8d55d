import { isObject } from "../../lib/json.ts";
import type { Param } from "../../operations/operation.ts";
import { internalServerError, invalidParam, HttpError } from "../protocol/errors.ts";
import type { ReceivedFile, ReceivedPart, ReceivedRequest } from "../protocol/handler.ts";
import { requestModel, bodyConstants, checkBody, checkQuery } from "./request-models.ts";
import type { Match } from "./router.ts";

/** The contents of a request, as a handler gets them. */
export interface ParsedRequest {
  /** Validated values by wire name, without nulls. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The JSON body, or the JSON part of a form. */
  readonly body: unknown;
  readonly files: ReadonlyMap<string, ReceivedFile>;
}

/** Maximum text part of a form, in bytes (server §3). */
const MAX_TEXT_PART = 500_000;

/**
 * Parses a request by the rows of its route. Throws HttpError with the server's texts, checked in its
 * order: the type of the body, its JSON, the end user, the fields (server §2, §3).
 */
export function parseRequest(
  { row, rows, path }: Match,
  query: URLSearchParams,
  request: ReceivedRequest,
): ParsedRequest {
  const params = rows.flatMap((row) => Object.entries(row.params));
  const places = new Set(params.map(([, param]) => param.in));
  const isForm = places.has("form") || places.has("data");
  const isJson = places.has("body") || rows.flatMap(bodyConstants).length > 0;
  const texts = isForm ? parseTexts(request.parts) : {};
  let body: unknown;
  if (isForm) body = parseFormData(texts);
  else if (isJson) body = parseJsonBody(request);
  const fields = isObject(body) ? body : {};

  if (requestModel(row.id).user && !(query.get("user") || fields["user"])) {
    throw invalidParam("Arg user must be provided.");
  }
  checkQuery(row, query);
  if (isJson || isForm) checkBody(row, rows, body);

  const files = parseFiles(request.parts);
  const readers: { readonly [Place in Param["in"]]?: (name: string, param: Param) => unknown } = {
    query: (name, param) => (query.has(name) ? queryValue(param, query.getAll(name)) : undefined),
    body: (name) => fields[name],
    data: (name) => fields[name],
    form: (name, { kind }) => (kind === "file" ? files.get(name)?.name : texts[name]),
  };
  const values = params
    .map(([name, param]) => [name, readers[param.in]?.(name, param)] as const)
    .filter(([, value]) => value !== undefined && value !== null);
  return { input: { ...path, ...Object.fromEntries(values) }, body, files };
}

function queryValue({ kind, many }: Param, texts: readonly string[]): unknown {
  const [first = ""] = texts;
  if (many) return texts;
  if (kind === "flag") return first.toLowerCase() === "true";
  return kind === "integer" || kind === "number" ? Number(first) : first;
}

function parseJsonBody(request: ReceivedRequest): unknown {
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (type !== "application/json" && !type.endsWith("+json")) {
    const text =
      "Did not attempt to load JSON data because the request Content-Type was not 'application/json'.";
    throw new HttpError(415, "unsupported_media_type", text);
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(request.body));
  } catch {
    const text = "The browser (or proxy) sent a request that this server could not understand.";
    throw new HttpError(400, "bad_request", text);
  }
}

/** Parses the JSON part of a form (default: an empty object). */
function parseFormData({ data = "{}" }: Readonly<Record<string, string>>): unknown {
  let parsed: unknown;
  try {
    parsed = JSON.parse(data);
  } catch {
    // the two common texts of the server's parser
    const text = /^\s*\{/.test(data)
      ? "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
      : "Expecting value: line 1 column 1 (char 0)";
    throw invalidParam(text);
  }
  if (!isObject(parsed)) throw internalServerError();
  return parsed;
}

function parseTexts(parts: readonly ReceivedPart[]): Record<string, string> {
  const texts = parts.filter(({ filename }) => filename === undefined);
  if (texts.some(({ bytes }) => bytes.byteLength > MAX_TEXT_PART)) {
    const text = "The data value transmitted exceeds the capacity limit.";
    throw new HttpError(413, "request_entity_too_large", text);
  }
  return Object.fromEntries(
    texts.map(({ name, bytes }) => [name, new TextDecoder().decode(bytes)]),
  );
}

/** Returns file parts by field name. Handlers count them, so duplicate names get a number. */
function parseFiles(parts: readonly ReceivedPart[]): Map<string, ReceivedFile> {
  const files = new Map<string, ReceivedFile>();
  for (const { name, filename, type, bytes } of parts) {
    if (filename === undefined) continue;
    const key = files.has(name) ? `${name} ${files.size + 1}` : name;
    files.set(key, { name: filename, type, bytes });
  }
  return files;
}
