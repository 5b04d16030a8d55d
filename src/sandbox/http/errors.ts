import { HttpError } from "./handler.ts";

/** Most refusals of what was asked for: 400 with the code `invalid_param`. */
export const invalidParam = (text: string) => new HttpError(400, "invalid_param", text);

export const notFound = (text: string) => new HttpError(404, "not_found", text);

/**
 * 404 of a path that resembles a route: the server adds what else might have been meant
 * (server §3). `path` starts with /v1.
 */
export const notFoundAt = (text: string, path: string, routes: readonly string[]) =>
  notFound(
    `${text} You have requested this URI [${path}] but did you mean ${routes.join(" or ")} ?`,
  );

/** 500 with a code that no server has: the sandbox itself is wrong. */
export const sandboxFailure = (error: unknown) =>
  new HttpError(500, "sandbox_bug", `The sandbox failed: ${String(error)}`);

/** 500: what the server did not foresee. */
export const internalServerError = () =>
  new HttpError(500, "unknown", "Internal Server Error", {
    message: "Internal Server Error",
    code: "unknown",
    status: 500,
  });
