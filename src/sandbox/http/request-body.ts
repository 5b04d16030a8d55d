import type { AnyOperation, Param } from "../../operations/operation.ts";
import { HttpError, type ReceivedFile } from "./handler.ts";
import { requestModel } from "./request-models.ts";
import type { ReceivedPart, ReceivedRequest } from "./read-request.ts";
import { invalidParam, internalServerError } from "./errors.ts";
import { isObject } from "../../lib/json.ts";
import { checkBody, checkQuery } from "./validation.ts";

/** What a request gives a handler. */
export interface ParsedRequest {
  /** Values by wire name, checked; null counts as absent. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The JSON body, or the JSON part of a form. */
  readonly body: unknown;
  readonly files: ReadonlyMap<string, ReceivedFile>;
}

/** Largest text part of a form, in bytes (server §3). */
const largestText = 500_000;

/**
 * Reads what the rows of a route take out of a request; throws Refused in the server's words and
 * in its order: the kind of body, its JSON, the end user, the fields (server §2, §3).
 */
export function parseRequest(
  rows: readonly AnyOperation[],
  path: Readonly<Record<string, string>>,
  query: URLSearchParams,
  seen: ReceivedRequest,
): ParsedRequest {
  const [row] = rows;
  if (!row) throw internalServerError();
  const places = rows.flatMap(({ params }) => Object.values(params).map((param) => param.in));
  const form = places.some((place) => place === "form" || place === "data");
  const json = places.includes("body") || rows.some((each) => constantsOf(each).length > 0);
  const texts = form ? textsIn(seen.parts) : {};
  const body = form ? dataIn(texts) : json ? jsonIn(seen) : undefined;

  const { user } = requestModel(row.id);
  if (user && !userIn(query, body)) throw invalidParam("Arg user must be provided.");
  checkQuery(row, query);
  if (json || form) checkBody(rows, body);

  const files = filesIn(seen.parts);
  const input: Record<string, unknown> = { ...path };
  for (const [name, param] of rows.flatMap(({ params }) => Object.entries(params))) {
    const value = valueOf(param, name, { query, body, texts, files });
    if (value !== undefined && value !== null) input[name] = value;
  }
  return { input, body, files };
}

/** Names of the constants that a row puts into its body, not into its path. */
const constantsOf = ({ fixed = {}, route }: AnyOperation) =>
  Object.keys(fixed).filter((name) => !route.includes(`{${name}}`));

interface Sources {
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly texts: Readonly<Record<string, string>>;
  readonly files: ReadonlyMap<string, ReceivedFile>;
}

function valueOf(param: Param, name: string, { query, body, texts, files }: Sources): unknown {
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

function jsonIn(seen: ReceivedRequest): unknown {
  const type = seen.headers["content-type"]?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (type !== "application/json" && !type.endsWith("+json")) {
    const text =
      "Did not attempt to load JSON data because the request Content-Type was not 'application/json'.";
    throw new HttpError(415, "unsupported_media_type", text);
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(seen.body));
  } catch {
    const text = "The browser (or proxy) sent a request that this server could not understand.";
    throw new HttpError(400, "bad_request", text);
  }
}

/** The JSON part of a form, an empty object where there is none. */
function dataIn({ data }: Readonly<Record<string, string>>): unknown {
  if (data === undefined) return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(data);
  } catch {
    // The two texts of the server's parser that people meet.
    throw invalidParam(
      /^\s*\{/.test(data)
        ? "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
        : "Expecting value: line 1 column 1 (char 0)",
    );
  }
  if (!isObject(parsed)) throw internalServerError();
  return parsed;
}

function textsIn(parts: readonly ReceivedPart[]): Record<string, string> {
  const texts = parts.filter(({ filename }) => filename === undefined);
  if (texts.some(({ bytes }) => bytes.byteLength > largestText)) {
    const text = "The data value transmitted exceeds the capacity limit.";
    throw new HttpError(413, "request_entity_too_large", text);
  }
  return Object.fromEntries(
    texts.map(({ name, bytes }) => [name, new TextDecoder().decode(bytes)]),
  );
}

/** File parts by field name; a second one of the same name is kept too: handlers count them. */
function filesIn(parts: readonly ReceivedPart[]): Map<string, ReceivedFile> {
  const files = new Map<string, ReceivedFile>();
  for (const { name, filename, type, bytes } of parts) {
    if (filename === undefined) continue;
    const key = files.has(name) ? `${name} ${files.size + 1}` : name;
    files.set(key, { name: filename, type, bytes });
  }
  return files;
}

const userIn = (query: URLSearchParams, body: unknown) =>
  query.get("user") || (isObject(body) && body["user"]);
