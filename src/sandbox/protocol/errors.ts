import { STATUS_CODES } from "node:http";

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

/**
 * Returns a function for the errors of a file, by name. Its `values` are those of the `{placeholders}` in
 * the text.
 */
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
