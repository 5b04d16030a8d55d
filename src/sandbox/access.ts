import type { AnyOperation } from "../operations/operation.ts";
import { Refused } from "./handler.ts";
import type { SeenRequest } from "./received.ts";

/** The key of all knowledge bases; applications have one each. */
const knowledgeKey = "dataset-sandbox";

/** Throws Refused 403 for a web page, be it by its own script or by a name of its own. */
export function checkSender({ headers }: SeenRequest, origin: string): void {
  const port = new URL(origin).port;
  const hosts = ["127.0.0.1", "localhost", "[::1]"].map((host) => `${host}:${port}`);
  const known = hosts.includes(headers["host"]?.toLowerCase() ?? "");
  if (known && headers["origin"] === undefined) return;
  throw new Refused(403, "forbidden", "The sandbox serves programs of this machine, no web pages.");
}

/** Name of the application whose key was sent, undefined for the knowledge key; throws 401. */
export function authorized(
  appOf: (key: string) => string | undefined,
  row: AnyOperation,
  header: string | undefined,
): string | undefined {
  const refused = (text: string) => new Refused(401, "unauthorized", text);
  const [scheme = "", key] = header?.trim().split(/\s+/, 2) ?? [];
  if (key === undefined) {
    throw refused("Authorization header must be provided and start with 'Bearer'");
  }
  if (scheme.toLowerCase() !== "bearer") throw refused("Authorization scheme must be 'Bearer'");
  // A key of the other kind is as unknown as any (server §2).
  const app = row.key === "app" ? appOf(key) : undefined;
  if (row.key === "dataset" ? key !== knowledgeKey : app === undefined) {
    throw refused("Access token is invalid");
  }
  return app;
}
