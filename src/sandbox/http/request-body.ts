import type { AnyOperation, Param } from "../../operations/operation.ts";
import { HttpError, type ReceivedFile } from "./handler.ts";
import { requestModel } from "./request-models.ts";
import type { ReceivedPart, ReceivedRequest } from "./read-request.ts";
import { invalidParam, internalServerError } from "./errors.ts";
import { isObject } from "../../lib/json.ts";
import { checkBody, checkQuery } from "./validation.ts";

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
  rows: readonly AnyOperation[],
  path: Readonly<Record<string, string>>,
  query: URLSearchParams,
  request: ReceivedRequest,
): ParsedRequest {
  const [row] = rows;
  if (!row) throw internalServerError();
  const places = rows.flatMap(({ params }) => Object.values(params).map((param) => param.in));
  const isForm = places.some((place) => place === "form" || place === "data");
  const isJson = places.includes("body") || rows.some((each) => bodyConstants(each).length > 0);
  const texts = isForm ? parseTexts(request.parts) : {};
  let body: unknown;
  if (isForm) body = parseFormData(texts);
  else if (isJson) body = parseJsonBody(request);

  const { user } = requestModel(row.id);
  if (user && !findUser(query, body)) throw invalidParam("Arg user must be provided.");
  checkQuery(row, query);
  if (isJson || isForm) checkBody(rows, body);

  const files = parseFiles(request.parts);
  const input: Record<string, unknown> = { ...path };
  for (const [name, param] of rows.flatMap(({ params }) => Object.entries(params))) {
    const value = paramValue(param, name, { query, body, texts, files });
    if (value !== undefined && value !== null) input[name] = value;
  }
  return { input, body, files };
}

/** Names of the constants that a row sends in its body. */
const bodyConstants = ({ fixed = {}, route }: AnyOperation) =>
  Object.keys(fixed).filter((name) => !route.includes(`{${name}}`));

interface Sources {
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly texts: Readonly<Record<string, string>>;
  readonly files: ReadonlyMap<string, ReceivedFile>;
}

function paramValue(param: Param, name: string, { query, body, texts, files }: Sources): unknown {
  switch (param.in) {
    case "query":
      return query.has(name) ? queryValue(param, query.getAll(name)) : undefined;
    case "body":
    case "data":
      return isObject(body) ? body[name] : undefined;
    case "form":
      return param.kind === "file" ? files.get(name)?.name : texts[name];
    default:
      return undefined;
  }
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
function parseFormData({ data }: Readonly<Record<string, string>>): unknown {
  if (data === undefined) return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(data);
  } catch {
    // the two common texts of the server's parser
    throw invalidParam(
      /^\s*\{/.test(data)
        ? "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
        : "Expecting value: line 1 column 1 (char 0)",
    );
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

const findUser = (query: URLSearchParams, body: unknown) =>
  query.get("user") || (isObject(body) && body["user"]);
