import { STATUS_CODES } from "node:http";
import { UnstorableValue } from "../storage/sqlite.ts";
import { HttpError } from "./handler.ts";

/** Most rejected requests: 400 with the code `invalid_param`. */
export const invalidParam = (text: string) => new HttpError(400, "invalid_param", text);

/**
 * Returns a function for the errors of a file: status, code and recorded text by name. Its `values`
 * are those of the `{placeholders}` in the text.
 */
export const errorsOf =
  <Name extends string>(table: Readonly<Record<Name, readonly (string | number)[]>>) =>
  (name: Name, values: Readonly<Record<string, unknown>> = {}): HttpError => {
    const [status, code, text] = table[name] as readonly [number, string, string]; // as in the file
    const message = text.replace(/\{(\w+)\}/g, (_, key: string) => `${values[key]}`);
    return new HttpError(status, code, message);
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

/**
 * The response to what a handler threw. An error of the sandbox itself is reported, and has a code
 * that no server has.
 */
export function toHttpError(error: unknown, report: (error: unknown) => void): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof UnstorableValue) return internalServerError();
  report(error);
  return new HttpError(500, "sandbox_bug", `The sandbox failed: ${String(error)}`);
}
