import { methodAndPath, type AnyOperation } from "../../operations/operation.ts";
import { isUuid } from "../../lib/uuid.ts";

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

/** Compares versions such as `1.14.2` number by number. */
export function atLeast(version: string, minimum: string): boolean {
  const numbers = (text: string) => text.split(".").map(Number);
  const [actual, required] = [numbers(version), numbers(minimum)];
  const index = required.findIndex((number, each) => (actual[each] ?? 0) !== number);
  return index === -1 || (actual[index] ?? 0) > (required[index] ?? 0);
}

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
