import { methodAndPath, type AnyOperation } from "../../operations/operation.ts";
import { isUuidText } from "../storage/ids.ts";

/** Placeholders that the server takes as free text; all others must be UUIDs (server §2). */
const freeText = new Set([
  "workflow_run_id",
  "workflow_id",
  "task_id",
  "form_token",
  "batch",
  "node_id",
  "action",
  "model_type",
]);

/** A row that answers a request, and what stood in the place of its placeholders. */
export interface Match {
  readonly row: AnyOperation;
  readonly path: Readonly<Record<string, string>>;
}

/** What a request means: a row, or why there is none. */
type Routed = Match | "no such route" | "other method";

/** Finds the row of a request; `path` is still encoded and has no `/v1` and no query. */
export type Router = (method: string, path: string, version: string) => Routed;

interface Route {
  readonly row: AnyOperation;
  readonly method: string;
  readonly segments: readonly string[];
}

/** Is the version at least the other one? `1.14.2` and the like, compared number by number. */
export function atLeast(version: string, wanted: string): boolean {
  const numbers = (text: string) => text.split(".").map(Number);
  const [ours, theirs] = [numbers(version), numbers(wanted)];
  const at = theirs.findIndex((number, index) => (ours[index] ?? 0) !== number);
  return at === -1 || (ours[at] ?? 0) > (theirs[at] ?? 0);
}

/** Rows that share a route are one: the first of them stands for all. */
export function createRouter(rows: readonly AnyOperation[]): Router {
  const byRoute = new Map<string, Route>();
  for (const row of rows) {
    const [method, path] = methodAndPath(row);
    if (!byRoute.has(row.route)) {
      byRoute.set(row.route, { row, method, segments: path.split("/").slice(1) });
    }
  }
  // Fixed words win over placeholders, as in the server's own table of routes.
  const routes = [...byRoute.values()].sort((a, b) => placeholders(a) - placeholders(b));

  return (method, path, version) => {
    const segments = path.split("/").slice(1);
    const found = routes.flatMap((route) => {
      if (route.row.since && !atLeast(version, route.row.since)) return [];
      const values = matched(route.segments, segments);
      return values ? [{ route, values }] : [];
    });
    if (found.length === 0) return "no such route";
    const hit = found.find(({ route }) => route.method === method);
    return hit ? { row: hit.route.row, path: hit.values } : "other method";
  };
}

const placeholders = ({ segments }: Route) =>
  segments.filter((segment) => segment.startsWith("{")).length;

function matched(
  pattern: readonly string[],
  segments: readonly string[],
): Record<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined;
  const values: Record<string, string> = {};
  for (const [index, expected] of pattern.entries()) {
    const segment = decoded(segments[index] ?? "");
    if (!expected.startsWith("{")) {
      if (segment !== expected) return undefined;
      continue;
    }
    const name = expected.slice(1, -1);
    if (segment === "" || !(freeText.has(name) || isUuidText(segment))) return undefined;
    values[name] = segment;
  }
  return values;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
