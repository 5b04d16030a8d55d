import type { Backend, PlatformRequest } from "./backend.ts";
import { statusError, toHttpError } from "./errors.ts";
import { WorkerFailure } from "./handler.ts";
import { jsonResponse, proxyErrorPage, type SandboxResponse, workerError } from "./response.ts";

/**
 * Responds to a request as a client sees it: with the headers of the application, and with a response
 * for every error. `report` is called with errors of the sandbox itself.
 */
export async function answerRequest(
  backend: Backend,
  request: PlatformRequest,
  report: (error: unknown) => void,
): Promise<SandboxResponse> {
  const response = await respond(backend, request, report);
  const { plan, version } = request;
  const own = response.foreign ? {} : { "X-Version": version, "X-Env": "DEVELOPMENT" };
  const length = plan.length === undefined ? {} : { "Content-Length": String(plan.length) };
  return { ...response, headers: { ...response.headers, ...own, ...length } };
}

async function respond(
  backend: Backend,
  request: PlatformRequest,
  report: (error: unknown) => void,
): Promise<SandboxResponse> {
  const { plan } = request;
  if (plan.html !== undefined) return proxyErrorPage(plan.html);
  try {
    if (plan.status !== undefined) throw statusError(plan.status);
    return await backend.respond(request);
  } catch (error) {
    if (error instanceof WorkerFailure) return workerError();
    const { status, body } = toHttpError(error, report);
    const challenge = { "WWW-Authenticate": 'Bearer realm="api"' };
    return jsonResponse(status, body, status === 401 ? challenge : {});
  }
}
