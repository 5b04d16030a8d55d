import { methodAndPath, type AnyOperation } from "../../operations/operation.ts";
import { isUuidText } from "../storage/ids.ts";

/** Placeholders that accept any text; all others must be UUIDs (server §2). */
const FREE_TEXT = new Set([
  "workflow_run_id",
  "workflow_id",
  "task_id",
  "form_token",
  "batch",
  "node_id",
  "action",
  "model_type",
]);

/** The row of a request, and the values of its placeholders. */
export interface Match {
  readonly row: AnyOperation;
  readonly path: Readonly<Record<string, string>>;
}

/** The row of a request, or why none matches. */
type RouteResult = Match | "no such route" | "other method";

/** Finds the row of a request; `path` is encoded, without `/v1` and query. */
export type Router = (method: string, path: string, version: string) => RouteResult;

interface Route {
  readonly row: AnyOperation;
  readonly method: string;
  readonly segments: readonly string[];
}

/** Compares versions such as `1.14.2` number by number. */
export function atLeast(version: string, minimum: string): boolean {
  const numbers = (text: string) => text.split(".").map(Number);
  const [actual, required] = [numbers(version), numbers(minimum)];
  const index = required.findIndex((number, each) => (actual[each] ?? 0) !== number);
  return index === -1 || (actual[index] ?? 0) > (required[index] ?? 0);
}

/** Of rows that share a route, the router returns the first. */
export function createRouter(rows: readonly AnyOperation[]): Router {
  const byRoute = new Map<string, Route>();
  for (const row of rows) {
    const [method, path] = methodAndPath(row);
    if (!byRoute.has(row.route)) {
      byRoute.set(row.route, { row, method, segments: path.split("/").slice(1) });
    }
  }
  // Literal segments take precedence over placeholders, as on the server.
  const routes = [...byRoute.values()].sort((a, b) => countPlaceholders(a) - countPlaceholders(b));

  return (method, path, version) => {
    const segments = path.split("/").slice(1);
    const matches = routes.flatMap((route) => {
      if (route.row.since && !atLeast(version, route.row.since)) return [];
      const values = matchSegments(route.segments, segments);
      return values ? [{ route, values }] : [];
    });
    if (matches.length === 0) return "no such route";
    const match = matches.find(({ route }) => route.method === method);
    return match ? { row: match.route.row, path: match.values } : "other method";
  };
}

const countPlaceholders = ({ segments }: Route) =>
  segments.filter((segment) => segment.startsWith("{")).length;

function matchSegments(
  pattern: readonly string[],
  segments: readonly string[],
): Record<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined;
  const values: Record<string, string> = {};
  for (const [index, expected] of pattern.entries()) {
    const segment = decodeSegment(segments[index] ?? "");
    if (!expected.startsWith("{")) {
      if (segment !== expected) return undefined;
      continue;
    }
    const name = expected.slice(1, -1);
    if (segment === "" || !(FREE_TEXT.has(name) || isUuidText(segment))) return undefined;
    values[name] = segment;
  }
  return values;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
