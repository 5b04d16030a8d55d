import { CliError } from "../../../errors.ts";
import { isOwnField } from "./plan.ts";

/** Values for files whose path fits, with `{1}` for what its first wildcard stands for. */
export interface Pattern {
  readonly text: string;
  readonly glob: readonly string[];
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
  const wrong = (message: string) => new CliError("usage", message, { sideEffect: "none" });
  if (matches.length > 0 && assignments.length === 0)
    throw wrong("--match says for which files --metadata is, which is missing");
  const values = assignments.map((text) => {
    const at = text.indexOf("=");
    if (at < 1) throw wrong(`--metadata ${JSON.stringify(text)} is no field=value`);
    const field = text.slice(0, at);
    if (!isOwnField(field))
      throw wrong(`--metadata ${JSON.stringify(field)}: this field is not yours to set`);
    return [field, text.slice(at + 1)] as const;
  });
  if (values.length === 0) return [];
  return (matches.length > 0 ? matches : ["**"]).map((text) => ({
    text,
    glob: partsOf(text),
    values,
  }));
}

/** Wildcards and single characters. */
const partsOf = (glob: string): string[] => glob.match(/\*\*\/?|[^]/gu) ?? [];

/**
 * What the wildcards of a glob stand for, each as much as it can; undefined where the path does not
 * fit. `*` is one step of a path, `**` any number of them, `?` a character. No regular expression:
 * of `*a*a*a*b` it would try every way to share out a path.
 */
function wildcardsIn(glob: readonly string[], path: string): string[] | undefined {
  const characters = [...path];
  /** Where each part ends. */
  const ends: number[] = [];
  /** From where the rest is known not to fit. */
  const dead = new Set<number>();

  /** Does the rest of the path fit? `begun`: the part has taken characters already. */
  const fits = (part: number, place: number, begun: boolean): boolean => {
    if (part === glob.length) return place === characters.length;
    const key = (part * (characters.length + 1) + place) * 2 + Number(begun);
    if (dead.has(key)) return false;
    const found = partFits(part, place, begun);
    if (!found) dead.add(key);
    return found;
  };
  const partFits = (part: number, place: number, begun: boolean): boolean => {
    const wanted = glob[part] ?? "";
    const next = characters[place];
    const endsAt = (end: number) => {
      ends[part] = end;
      return fits(part + 1, end, false);
    };
    if (!wanted.startsWith("*")) {
      const same = wanted === "?" ? next !== undefined && next !== "/" : next === wanted;
      return same && endsAt(place + 1);
    }
    const goesOn = next !== undefined && (wanted !== "*" || next !== "/");
    if (goesOn && fits(part, place + 1, true)) return true;
    return (wanted !== "**/" || !begun || characters[place - 1] === "/") && endsAt(place);
  };
  if (!fits(0, 0, false)) return undefined;
  return glob.flatMap((part, index) =>
    /^[*?]/.test(part) ? [characters.slice(ends[index - 1] ?? 0, ends[index]).join("")] : [],
  );
}

/** The values of the first pattern that a path fits. */
export function patternValues(
  path: string,
  patterns: readonly Pattern[],
): Readonly<Record<string, string>> {
  for (const { glob, values } of patterns) {
    const found = wildcardsIn(glob, path);
    if (!found) continue;
    const all = [path, ...found];
    return Object.fromEntries(
      values.map(([field, value]) => [
        field,
        value.replace(/\{(\d+)\}/g, (_, number: string) => all[Number(number)] ?? ""),
      ]),
    );
  }
  return {};
}

/** Does it fit none of these paths? */
export const fitsNone = ({ glob }: Pattern, paths: readonly string[]): boolean =>
  !paths.some((path) => wildcardsIn(glob, path));
