import { methodAndPath, type AnyOperation } from "../../operations/operation.ts";
import { isUuid } from "../../lib/text.ts";
import { atLeast } from "../../lib/version.ts";
import type { AppDefinition } from "../apps/definitions/app-definitions.ts";
import { HttpError } from "../protocol/errors.ts";
import { KNOWLEDGE_KEY } from "../protocol/ids.ts";

/** Placeholders that accept any text; all others must be UUIDs (server §2). */
const FREE_TEXT =
  "workflow_run_id workflow_id task_id form_token batch node_id action model_type".split(" ");

/** The route of a request. */
export interface Match {
  /** The rows of the route, and the first of them. */
  readonly rows: readonly AnyOperation[];
  readonly row: AnyOperation;
  /** The values of its placeholders. */
  readonly path: Readonly<Record<string, string>>;
}

/** Finds the route of a request, or why there is none; `path` is encoded, without /v1 and query. */
export type Router = (
  method: string,
  path: string,
  version: string,
) => Match | "no such route" | "other method";

/** Creates a router for the rows. */
export function createRouter(all: readonly AnyOperation[]): Router {
  const firsts = all.filter(
    (row, index) => all.findIndex(({ route }) => route === row.route) === index,
  );
  const routes = firsts.map((row) => {
    const [method, path] = methodAndPath(row);
    const rows = all.filter(({ route }) => route === row.route);
    return { row, rows, method, segments: path.split("/").slice(1) };
  });
  // Literal segments take precedence over placeholders, as on the server.
  routes.sort((a, b) => a.row.route.split("{").length - b.row.route.split("{").length);

  return (method, encodedPath, version) => {
    const decoded = encodedPath.split("/").slice(1).map(decodeSegment);
    const matches = routes.flatMap(({ segments, ...route }) => {
      if (route.row.since && !atLeast(version, route.row.since)) return [];
      const path = matchSegments(segments, decoded);
      return path ? [{ ...route, path }] : [];
    });
    if (matches.length === 0) return "no such route";
    return matches.find((match) => match.method === method) ?? "other method";
  };
}

function matchSegments(
  pattern: readonly string[],
  segments: readonly string[],
): Record<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined;
  const values: Record<string, string> = {};
  for (const [index, expected] of pattern.entries()) {
    const segment = segments[index] ?? "";
    const name = /^\{(.*)\}$/.exec(expected)?.[1];
    const matches = name === undefined ? segment === expected : isValue(name, segment);
    if (!matches) return undefined;
    if (name !== undefined) values[name] = segment;
  }
  return values;
}

const isValue = (name: string, segment: string) =>
  segment !== "" && (FREE_TEXT.includes(name) || isUuid(segment));

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The key that an `Authorization` header sends; undefined if it has none. */
export const keyIn = (header: string | undefined): string | undefined =>
  header?.trim().split(/\s+/, 2)[1];

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
