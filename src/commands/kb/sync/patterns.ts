import { usage } from "../../../errors.ts";
import { isCustomField } from "../documents/index.ts";

/** Values for files that match a glob; `{1}` is the match of its first wildcard. */
export interface Pattern {
  readonly text: string;
  readonly glob: readonly string[];
  readonly values: readonly (readonly [field: string, value: string])[];
}

/**
 * Parses --metadata and --match: `--metadata 'team={1}' --match 'teams/*\/**'` sets team=hr for
 * `teams/hr/leave.md`. Without --match, the values apply to every file. Throws usage.
 */
export function parsePatterns(
  assignments: readonly string[],
  globs: readonly string[],
): readonly Pattern[] {
  if (globs.length > 0 && assignments.length === 0) throw usage("--match requires --metadata");
  const values = assignments.map((text) => {
    const at = text.indexOf("=");
    if (at < 1) throw usage(`invalid --metadata ${JSON.stringify(text)}: expected field=value`);
    const field = text.slice(0, at);
    if (!isCustomField(field)) {
      const name = JSON.stringify(field);
      throw usage(`invalid --metadata ${name}: the field name is reserved or too long`);
    }
    return [field, text.slice(at + 1)] as const;
  });
  if (values.length === 0) return [];
  return (globs.length > 0 ? globs : ["**"]).map((text) => ({
    text,
    glob: globParts(text),
    values,
  }));
}

/** Splits a glob into wildcards and single characters: `a*` → `a`, `*`. */
const globParts = (glob: string): string[] => glob.match(/\*\*\/?|[^]/gu) ?? [];

/**
 * Matches a path against a glob and returns what each wildcard matched, or undefined:
 *
 *     teams/*\/**  with  teams/hr/a/b.md  →  ["hr", "a/b.md"]
 *
 * `*` matches within a path segment, `**` across segments, `?` one character; all are greedy. Not a
 * regular expression, because `*a*a*a*b` backtracks exponentially; failed positions are remembered
 * here, so the work is at most glob × path².
 */
function matchWildcards(glob: readonly string[], path: string): string[] | undefined {
  const characters = [...path];
  const failed = new Set<number>();
  /** The last place where what a part matches from here can end; before `at` if it matches nothing. */
  const lastEnd = (pattern: string, at: number): number => {
    const next = characters[at];
    if (pattern === "?") return next === undefined || next === "/" ? at - 1 : at + 1;
    if (!pattern.startsWith("*")) return next === pattern ? at + 1 : at - 1;
    const slash = pattern === "*" ? characters.indexOf("/", at) : -1;
    return slash < 0 ? characters.length : slash;
  };
  /** What the wildcards from a part on match of the rest of the path. */
  const matchRest = (part: number, at: number): string[] | undefined => {
    const pattern = glob[part];
    if (pattern === undefined) return at === characters.length ? [] : undefined;
    const key = part * (characters.length + 1) + at;
    if (failed.has(key)) return undefined;
    const first = pattern.startsWith("*") ? at : at + 1;
    for (let end = lastEnd(pattern, at); end >= first; end--) {
      if (pattern === "**/" && end > at && characters[end - 1] !== "/") continue;
      const rest = matchRest(part + 1, end);
      if (rest && /^[*?]/.test(pattern)) rest.unshift(characters.slice(at, end).join(""));
      if (rest) return rest;
    }
    failed.add(key);
    return undefined;
  };
  return matchRest(0, 0);
}

/** The values of the first pattern that matches a path. */
export function patternValues(
  path: string,
  patterns: readonly Pattern[],
): Readonly<Record<string, string>> {
  for (const { glob, values } of patterns) {
    const wildcards = matchWildcards(glob, path);
    if (!wildcards) continue;
    const groups = [path, ...wildcards];
    return Object.fromEntries(
      values.map(([field, value]) => [
        field,
        value.replace(/\{(\d+)\}/g, (_, number: string) => groups[Number(number)] ?? ""),
      ]),
    );
  }
  return {};
}

/** Does the pattern match none of these paths? */
export const matchesNone = ({ glob }: Pattern, paths: readonly string[]): boolean =>
  !paths.some((path) => matchWildcards(glob, path));
