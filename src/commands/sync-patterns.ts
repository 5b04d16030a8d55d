import { CliError } from "../errors.ts";

/** Values for files whose path fits, with `{1}` for what its first wildcard stands for. */
export interface Pattern {
  readonly fits: RegExp;
  readonly values: readonly (readonly [field: string, value: string])[];
}

/**
 * Reads `--metadata 'team={1}' --match 'teams/*\/**'`. Without --match the values are for every
 * file. Throws usage.
 */
export function patternsOf(
  assignments: readonly string[],
  matches: readonly string[],
): readonly Pattern[] {
  const wrong = (message: string) => new CliError("usage", message, { changed: "nothing" });
  if (matches.length > 0 && assignments.length === 0)
    throw wrong("--match says for which files --metadata is, which is missing");
  const values = assignments.map((text) => {
    const at = text.indexOf("=");
    if (at < 1) throw wrong(`--metadata ${JSON.stringify(text)} is no field=value`);
    return [text.slice(0, at), text.slice(at + 1)] as const;
  });
  if (values.length === 0) return [];
  return (matches.length > 0 ? matches : ["**"]).map((glob) => ({ fits: regexOf(glob), values }));
}

/** `*` is one step of a path, `**` any number of them, `?` a character. */
function regexOf(glob: string): RegExp {
  const source = glob.replace(/\*\*\/?|\*|\?|[.+^${}()|[\]\\/]/g, (found) => {
    if (found === "**/") return "((?:.*/)?)";
    if (found === "**") return "(.*)";
    if (found === "*") return "([^/]*)";
    return found === "?" ? "([^/])" : `\\${found}`;
  });
  return new RegExp(`^${source}$`, "u");
}

/** The values of the first pattern that a path fits. */
export function patternValues(
  path: string,
  patterns: readonly Pattern[],
): Readonly<Record<string, string>> {
  for (const { fits, values } of patterns) {
    const found = fits.exec(path);
    if (!found) continue;
    return Object.fromEntries(
      values.map(([field, value]) => [
        field,
        value.replace(/\{(\d+)\}/g, (_, number: string) => found[Number(number)] ?? ""),
      ]),
    );
  }
  return {};
}
