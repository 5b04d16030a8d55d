import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { HttpError } from "./handler.ts";
import type { Match } from "./router.ts";

/** The key of all knowledge bases; applications have one each. */
const knowledgeKey = "dataset-sandbox";

/**
 * Does a program of this machine ask? Not a web page: one that gave this machine a name of its own,
 * one whose script sends, one that wants a picture. A person may open an address by hand.
 */
export function isLocalClient(headers: IncomingHttpHeaders, port: number | undefined): boolean {
  const ours = ["127.0.0.1", "localhost", "[::1]"].map((host) => `${host}:${port}`);
  const { host, origin, "sec-fetch-site": site } = headers;
  const byHand = site === undefined || site === "none";
  return ours.includes(host?.toLowerCase() ?? "") && origin === undefined && byHand;
}

/** `GET http://host/path` means `GET /path` with that Host (RFC 9112 §3.2.2): written so. */
export function normalizeTarget(request: IncomingMessage): void {
  const [whole, host, path] = /^http:\/\/([^/?#]+)([^#]*)/i.exec(request.url ?? "") ?? [];
  if (whole === undefined) return;
  request.url = path?.startsWith("/") ? path : `/${path ?? ""}`;
  request.headers.host = host;
}

/**
 * Begins a key that opens only the knowledge bases whose ids follow, with commas between: played as
 * it was announced and not yet seen (server §2).
 */
const boundKey = "dataset-bound-";

/** Refuses a route, or a knowledge base, that the key does not open; throws 403. */
function checkScope(key: string, dataset: string | undefined): void {
  const opened = key.slice(boundKey.length).split(",");
  if (dataset !== undefined && opened.includes(dataset)) return;
  const text = "The key does not have access to this resource.";
  throw new HttpError(403, "dataset_access_denied", text);
}

/** Name of the application whose key was sent, undefined for the knowledge key; throws 401. */
export function authorize(
  appOf: (key: string) => string | undefined,
  { row, path }: Match,
  header: string | undefined,
): string | undefined {
  const refused = (text: string) => new HttpError(401, "unauthorized", text);
  const [scheme = "", key] = header?.trim().split(/\s+/, 2) ?? [];
  if (key === undefined) {
    throw refused("Authorization header must be provided and start with 'Bearer'");
  }
  if (scheme.toLowerCase() !== "bearer") throw refused("Authorization scheme must be 'Bearer'");
  // A key of the other kind is as unknown as any (server §2).
  if (row.key === "dataset" && key.startsWith(boundKey)) {
    checkScope(key, path["dataset_id"]);
    return undefined;
  }
  const app = row.key === "app" ? appOf(key) : undefined;
  if (row.key === "dataset" ? key !== knowledgeKey : app === undefined) {
    throw refused("Access token is invalid");
  }
  return app;
}
