import { isObject, own, tryParseJson, stringifyJson } from "../lib/json.ts";

/** A response that is an error, with its whole text. */
export interface ErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}

/** An invalid field, with the reason. */
export interface FieldError {
  readonly field: string;
  readonly reason: string;
}

/** The content of an error body, whatever its shape (server §3). */
export interface ErrorBody {
  readonly code?: string;
  readonly message: string;
  readonly fields: readonly FieldError[];
  /** The body was JSON, so the application itself sent it. */
  readonly json: boolean;
  /** The body itself if its shape is not the server's own. */
  readonly foreign?: unknown;
}

/** Maximum size of a foreign body that is passed on, in characters. */
const MAX_FOREIGN = 4000;

/** Parses every known shape of an error body; never throws. */
export function parseErrorBody({ headers, text }: ErrorResponse): ErrorBody {
  const body = tryParseJson(text);
  if (typeof body === "string") return { message: body, fields: [], json: true };
  if (!isObject(body)) {
    const html = (headers["content-type"] ?? "").includes("html") || text.startsWith("<");
    return { message: html ? "" : text.trim(), fields: [], json: false };
  }
  if (body["message"] === undefined && typeof body["error"] !== "string") return foreign(body);
  if (body["error_description"] !== undefined) return foreign(body);
  const code = typeof body["code"] === "string" ? { code: body["code"] } : {};
  const raw = body["message"] ?? body["error"] ?? "";
  const message = typeof raw === "string" ? raw : stringifyJson(raw);
  // Servers before 1.11.0 have { errors: { name: reason }, message }, those after 1.17.1 a list as message (server §3.1).
  const list = typeof raw === "string" ? tryParseJson(raw) : raw;
  const all = [...listed(body["errors"]), ...(Array.isArray(list) ? listed(list) : [])];
  if (all.length > 0) return { ...code, message, fields: all, json: true };
  const param = body["params"];
  if (typeof param === "string") {
    return { ...code, message, fields: [{ field: param, reason: message }], json: true };
  }
  return { ...code, message: withoutSuggestion(message), fields: fieldsOf(message), json: true };
}

/** A body of a gateway or another framework: problem details (RFC 9457), OAuth, and the like. */
function foreign(body: Readonly<Record<string, unknown>>): ErrorBody {
  const inner = isObject(body["error"]) ? body["error"] : {};
  const code = [body["code"], inner["code"]].find((each) => typeof each === "string");
  const detail = body["detail"];
  const texts = [
    body["message"],
    inner["message"],
    body["error_description"],
    detail,
    body["title"],
    body["reason"],
    body["msg"],
    body["error"],
  ];
  const message = texts.find((each) => typeof each === "string" && each !== "");
  return {
    ...(code !== undefined && { code: String(code) }),
    message: typeof message === "string" ? message : "",
    fields: [...listed(body["errors"]), ...(typeof detail === "string" ? [] : listed(detail))],
    json: true,
    ...(stringifyJson(body).length <= MAX_FOREIGN && { foreign: body }),
  };
}

/** Reasons by field: an object, or a list in any of its usual shapes. */
function listed(errors: unknown): FieldError[] {
  if (isObject(errors)) {
    return Object.entries(errors).map(([field, reason]) => ({ field, reason: wordsOf(reason) }));
  }
  if (!Array.isArray(errors)) return [];
  return errors.flatMap((error: unknown): FieldError[] => {
    if (typeof error === "string") return [{ field: "", reason: error }];
    if (!isObject(error)) return [];
    const reason = error["message"] ?? error["detail"] ?? error["msg"] ?? error["reason"];
    const field = error["field"] ?? error["path"] ?? error["pointer"] ?? error["loc"] ?? "";
    const place = Array.isArray(field) ? field.map(String).join(".") : String(field);
    if (typeof reason !== "string") return [];
    // Some frameworks begin the path with the part of the request.
    return [{ field: place.replace(/^body\./, ""), reason: plainReason(error["type"], reason) }];
  });
}

/** Words for types of the validator, which it also divides: `int_type`, `int_parsing` (server §3). */
const reasons: Readonly<Record<string, string>> = {
  missing: "is required",
  string: "must be text",
  bool: "must be true or false",
  int: "must be a whole number",
  float: "must be a number",
  list: "must be a list",
  dict: "must be an object",
  model: "must be an object",
};

/** A reason of the validator in plain words: `String should have at most 40 characters` → `must have at most …`. */
const plainReason = (type: unknown, text: string): string =>
  own(reasons, String(type).replace(/(_attributes)?_(type|parsing|from_float)$/, "")) ??
  text.replace(/^Value error, /, "").replace(/^(?:Input|String|List) should /, "must ");

const wordsOf = (reason: unknown): string => {
  if (typeof reason === "string") return reason;
  return Array.isArray(reason) && reason.every((each) => typeof each === "string")
    ? reason.join(", ")
    : stringifyJson(reason);
};

/** The framework appends route suggestions to some 404 messages (server §3). */
const withoutSuggestion = (message: string) =>
  message.replace(/\.? ?You have requested this URI \[[\s\S]*$/, "");

/**
 * Fields and reasons of a validation message: the field starts in column 0, its reason is on the
 * indented line below, followed by a link (server §3).
 */
function fieldsOf(message: string): readonly FieldError[] {
  const lines = message.split("\n");
  if (!/^\d+ validation errors? for /.test(lines[0] ?? "")) return [];
  const fields: FieldError[] = [];
  let field = "";
  for (const line of lines.slice(1)) {
    if (line !== "" && !line.startsWith(" ")) {
      field = line.trim();
      continue;
    }
    const reason = line.trim();
    if (reason === "" || reason.startsWith("For further information")) continue;
    const [text = "", type] = reason.split(/ \[type=(\w*)[\s\S]*$/);
    fields.push({ field, reason: plainReason(type, text) });
    field = "";
  }
  return fields;
}

/** The message for people: the fields with their reasons, or the text. */
export const plainMessage = ({ fields, message }: ErrorBody): string =>
  fields.length === 0 ? withoutSql(message.trim()) : fields.map(fieldLine).join("; ");

/** `name: is required` */
export const fieldLine = ({ field, reason }: FieldError): string =>
  field === "" ? reason : `${field}: ${reason}`;

/** The message of a database error precedes the SQL statement (server §3). */
const statement = /\n\[SQL: |\nLINE \d+: /;
const databases = /psycopg|sqlalchemy|pymysql|asyncpg|sqlite3|MySQLdb/;

function withoutSql(message: string): string {
  const [, kind = ""] = /^\(([\w.]+)\)/.exec(message) ?? [];
  if (!databases.test(kind) && !statement.test(message)) return message;
  const [first = ""] = message.replace(/^\([\w.]+\) ?/, "").split("\n");
  return `database error: ${first}`;
}

/**
 * The server's Retry-After in ms, undefined if there is none or it is invalid. A date is relative to
 * the date of the response, because the clocks of two machines differ; to `now` if it has none.
 */
export function retryAfterOf(headers: ErrorResponse["headers"], now?: Date): number | undefined {
  const text = headers["retry-after"] ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const wait = Date.parse(text) - Date.parse(headers["date"] ?? now?.toUTCString() ?? "");
  return wait >= 0 ? wait : undefined;
}

const tooManyRequests = /^Too many requests\. Please try again later\./;

/**
 * Whether an error means that the server did not start: too many requests at a time (server §4), or
 * a 503 of the server itself. A 503 of a proxy may follow the work.
 */
export const isNotStarted = (status: number, body: ErrorBody): boolean =>
  (status === 429 && body.code !== "rate_limit_error") ||
  (status === 503 && body.code !== undefined) ||
  (status === 400 && tooManyRequests.test(body.message));
