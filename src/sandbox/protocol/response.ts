import { STATUS_CODES } from "node:http";
import { isObject, stringifyJson } from "../../lib/json.ts";
import pages from "./pages.json" with { type: "json" };

/** A response to send: a complete body, or a stream of chunks. */
export interface SandboxResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | Iterable<string> | AsyncIterable<string>;
  /** Not sent by the application: without its X-Version and X-Env. */
  readonly foreign?: true;
}

const utf8 = new TextEncoder();

const complete = (
  status: number,
  headers: Record<string, string>,
  body: Uint8Array,
): SandboxResponse => ({
  status,
  headers: { ...headers, "Content-Length": String(body.byteLength) },
  body,
});

/** JSON as the server writes it: ASCII only, a space after commas and colons, a final newline. */
export const jsonResponse = (
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): SandboxResponse =>
  complete(
    status,
    { "Content-Type": "application/json", ...headers },
    utf8.encode(`${asciiOnly(spaced(value))}\n`),
  );

/** JSON of runs and chats: UTF-8 without the newline. */
export const utf8JsonResponse = (status: number, value: unknown): SandboxResponse =>
  complete(
    status,
    { "Content-Type": "application/json; charset=utf-8" },
    utf8.encode(stringifyJson(value)),
  );

/** An event as an event stream sends it. */
export const dataLine = (event: unknown): string => `data: ${stringifyJson(event)}\n\n`;

/** Escapes all non-ASCII characters of a JSON text as `\\u`. */
export const asciiOnly = (json: string): string =>
  json.replace(/[\u007f-\uffff]/g, escapeCharacter);

const escapeCharacter = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** JSON with a space after each comma and colon. */
export function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (!isObject(value)) return stringifyJson(value ?? null);
  const fields: string[] = [];
  for (const [name, field] of Object.entries(value)) {
    if (field !== undefined) fields.push(`${JSON.stringify(name)}: ${spaced(field)}`);
  }
  return `{${fields.join(", ")}}`;
}

/** A complete text of the sandbox itself; browsers run and load nothing in it. */
export const plainResponse = (status: number, type: string, text: string): SandboxResponse =>
  complete(
    status,
    {
      "Content-Type": type,
      "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    },
    utf8.encode(text),
  );

const html = (status: number, text: string, headers: Record<string, string> = {}) =>
  complete(status, { "Content-Type": "text/html; charset=utf-8", ...headers }, utf8.encode(text));

/** Response to an unknown path; JSON 404s are for missing objects. */
export const routeNotFound = (): SandboxResponse => html(404, pages["not found"]);

export const redirectResponse = (url: string): SandboxResponse =>
  html(
    308,
    pages.redirect.replaceAll("{url}", () => url),
    { Location: url },
  );

/** Error page of a proxy in front of the server. */
export const proxyErrorPage = (
  status: number,
  reason = STATUS_CODES[status] ?? "Error",
): SandboxResponse => ({
  ...html(status, pages.proxy.replaceAll("{title}", `${status} ${reason}`)),
  foreign: true,
});

/** Response of the worker to a request that fails outside the application. */
export const workerError = (): SandboxResponse => ({
  ...complete(500, { "Content-Type": "text/plain" }, utf8.encode("Internal Server Error")),
  foreign: true,
});

/** An error response: `{code, message, status}`, or `body` if given. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string;
  readonly body: unknown;

  constructor(status: number, code: string, message: string, body?: unknown) {
    super(message);
    this.status = status;
    this.code = code;
    this.body = body ?? { code, message, status };
  }
}

/** The worker fails before its first byte: 500 without the headers of the application (server §18). */
export class WorkerFailure extends Error {}

/** Thrown by a stream to drop the connection in the middle of a response. */
export class ConnectionDropped extends Error {}

/** Most rejected requests: 400 with the code `invalid_param`. */
export const invalidParam = (text: string) => new HttpError(400, "invalid_param", text);

/** The names of the errors of a file: recorded texts, each below the status and code of its response. */
type ErrorName<File> = { [Response in keyof File]: keyof File[Response] }[keyof File] & string;

/** Returns a function for the errors of a file, by name; `values` fill the `{placeholders}` of their texts. */
export const errorsOf =
  <File extends Readonly<Record<string, object>>>(file: File) =>
  (name: ErrorName<File>, values: Readonly<Record<string, unknown>> = {}): HttpError => {
    const [response = "", texts] = Object.entries(file).find(([, each]) => name in each) ?? [];
    const { [name]: text = "" } = texts as Readonly<Record<string, string>>; // as in the file
    const [status, code = ""] = response.split(" ");
    const message = text.replace(/\{(\w+)\}/g, (_, key: string) => `${values[key]}`);
    return new HttpError(Number(status), code, message);
  };

/** Throws, as an expression: `runs.find({ id }) ?? raise(appError("run missing"))`. */
export function raise(error: HttpError): never {
  throw error;
}

export const noFileUploaded = () =>
  new HttpError(400, "no_file_uploaded", "Please upload your file.");

export const tooManyFiles = () => new HttpError(400, "too_many_files", "Only one file is allowed.");

/** An error with a status that is wanted, and the words of HTTP for it. */
export function statusError(status: number): HttpError {
  const reason = STATUS_CODES[status] ?? "Error";
  return new HttpError(status, reason.toLowerCase().replace(/\W+/g, "_"), reason);
}

/** 500 of the server. */
export const internalServerError = () =>
  new HttpError(500, "unknown", "Internal Server Error", {
    message: "Internal Server Error",
    code: "unknown",
    status: 500,
  });
