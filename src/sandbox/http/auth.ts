import type { AppDefinition } from "../apps/app-definitions.ts";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { HttpError } from "./handler.ts";
import type { Match } from "./router.ts";

/** The key of all knowledge bases; each application has its own. */
const KNOWLEDGE_KEY = "dataset-sandbox";

/**
 * Reports whether a request comes from a local program, or from a URL opened by hand. Rejects web
 * pages: another host name for this machine (DNS rebinding), scripts, and embedded resources.
 */
export function isLocalClient(headers: IncomingHttpHeaders, port: number | undefined): boolean {
  const hosts = ["127.0.0.1", "localhost", "[::1]"].map((host) => `${host}:${port}`);
  const { host, origin, "sec-fetch-site": site } = headers;
  const byHand = site === undefined || site === "none";
  return hosts.includes(host?.toLowerCase() ?? "") && origin === undefined && byHand;
}

/** Rewrites `GET http://host/path` to `GET /path` with that Host (RFC 9112 §3.2.2). */
export function normalizeTarget(request: IncomingMessage): void {
  const [match, host, path] = /^http:\/\/([^/?#]+)([^#]*)/i.exec(request.url ?? "") ?? [];
  if (match === undefined) return;
  request.url = path?.startsWith("/") ? path : `/${path ?? ""}`;
  request.headers.host = host;
}

/**
 * Prefix of a key that is limited to the knowledge bases listed after it, e.g. `dataset-bound-ID,ID`.
 * Imitates an announced feature that was not recorded yet (server §2).
 */
const BOUND_KEY_PREFIX = "dataset-bound-";

/** Returns the application of the key, or undefined for the knowledge key; throws 401 or 403. */
export function authorize(
  findAppByKey: (key: string) => AppDefinition | undefined,
  { row, path }: Match,
  header: string | undefined,
): AppDefinition | undefined {
  const unauthorized = (text: string) => new HttpError(401, "unauthorized", text);
  const [scheme = "", key] = header?.trim().split(/\s+/, 2) ?? [];
  if (key === undefined) {
    throw unauthorized("Authorization header must be provided and start with 'Bearer'");
  }
  if (scheme.toLowerCase() !== "bearer") {
    throw unauthorized("Authorization scheme must be 'Bearer'");
  }
  // A key of the other kind is unknown, too (server §2).
  const app = row.key === "app" ? findAppByKey(key) : undefined;
  if (app !== undefined || (row.key === "dataset" && key === KNOWLEDGE_KEY)) return app;
  if (row.key === "app" || !key.startsWith(BOUND_KEY_PREFIX)) {
    throw unauthorized("Access token is invalid");
  }
  const ids = key.slice(BOUND_KEY_PREFIX.length).split(",");
  if (ids.includes(path["dataset_id"] ?? "no knowledge base")) return undefined;
  const text = "The key does not have access to this resource.";
  throw new HttpError(403, "dataset_access_denied", text);
}
