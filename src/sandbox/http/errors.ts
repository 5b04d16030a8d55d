import { UnstorableValue } from "../storage/sqlite.ts";
import { HttpError } from "./handler.ts";

/** Most rejected requests: 400 with the code `invalid_param`. */
export const invalidParam = (text: string) => new HttpError(400, "invalid_param", text);

export const notFound = (text: string) => new HttpError(404, "not_found", text);

/** Returns a record that was found; otherwise throws the error, or 404 with the text. */
export function found<T>(record: T | undefined, missing: string | HttpError): T {
  if (record !== undefined) return record;
  throw typeof missing === "string" ? notFound(missing) : missing;
}

/**
 * 404 for a path that resembles a route: the server appends suggestions (server §3). `path` starts
 * with /v1.
 */
export const notFoundAt = (text: string, path: string, routes: readonly string[]) =>
  notFound(
    `${text} You have requested this URI [${path}] but did you mean ${routes.join(" or ")} ?`,
  );

export const noFileUploaded = () =>
  new HttpError(400, "no_file_uploaded", "Please upload your file.");

export const tooManyFiles = () => new HttpError(400, "too_many_files", "Only one file is allowed.");

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
