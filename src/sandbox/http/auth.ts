import type { AppDefinition } from "../apps/definitions/app-definitions.ts";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { HttpError } from "../protocol/handler.ts";
import type { Match } from "./router.ts";

/** The key of all knowledge bases; each application has its own. */
export const KNOWLEDGE_KEY = "dataset-sandbox";

/** The key of an application. */
export const appKey = (name: string): string => `app-${name}`;

/** The key that an `Authorization` header sends; undefined if it has none. */
export const keyIn = (header: string | undefined): string | undefined =>
  header?.trim().split(/\s+/, 2)[1];

/** The values of `Host` that a server accepts. */
export interface HostNames {
  /** Address that it listens on. */
  readonly address: string;
  readonly port: number;
  /** More names, each with a port or for any. */
  readonly allowed: readonly string[];
}

/**
 * Returns why a request is rejected, or undefined if it comes from a program, or from a URL opened by
 * hand. Rejects web pages: another host name for this machine (DNS rebinding), scripts, and embedded
 * resources.
 */
export function rejectionOf(headers: IncomingHttpHeaders, names: HostNames): string | undefined {
  const { host = "", origin, "sec-fetch-site": site } = headers;
  const byHand = site === undefined || site === "none";
  if (origin !== undefined || !byHand) return "The sandbox serves programs, not web pages.";
  if (isAllowed(host.toLowerCase(), names)) return undefined;
  return `The sandbox does not serve the host ${JSON.stringify(host)}; --allow-host allows it.`;
}

function isAllowed(host: string, { address, port, allowed }: HostNames): boolean {
  const own = ["127.0.0.1", "localhost", "[::1]", inUrl(address)].map((name) => `${name}:${port}`);
  const others = allowed.map((name) => name.toLowerCase());
  return own.includes(host) || others.includes(host) || others.includes(host.replace(/:\d+$/, ""));
}

/** An address as URLs have it: IPv6 in brackets. */
const inUrl = (address: string) => (address.includes(":") ? `[${address}]` : address);

/** Origin of a server as a client on this machine reaches it. */
export const originOf = ({ address, port }: HostNames): string =>
  `http://${["0.0.0.0", "::"].includes(address) ? "127.0.0.1" : inUrl(address)}:${port}`;

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
  const [scheme = ""] = header?.trim().split(/\s+/, 1) ?? [];
  const key = keyIn(header);
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
