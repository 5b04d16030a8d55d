import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { Script, createContext } from "node:vm";
import { parseAst } from "rolldown/parseAst";
import { root } from "./paths.ts";

const source = join(root, "src");

/** A regular expression of the programs and its place in the source. */
interface Pattern {
  readonly where: string;
  readonly form: RegExp;
}

/** Patterns that never get long text from others. */
const ownTexts: Readonly<Record<string, string>> = {
  "^(?:(-\\w), )?(--[\\w-]+)(?: <(.+)>)?$": "the programs' own flags",
};

/** Every regular expression of the programs with a quantifier. */
export function patterns(): readonly Pattern[] {
  const found: Pattern[] = [];
  for (const file of readdirSync(source, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts")) continue;
    const text = readFileSync(join(source, file), "utf8");
    JSON.stringify(parseAst(text, { lang: "ts" }, file), (_, node: unknown) => {
      const own = typeof node === "object" && node !== null && "regex" in node ? node : undefined;
      const { pattern, flags } = (own?.regex ?? {}) as { pattern?: string; flags?: string };
      if (pattern !== undefined && /[*+]|\{\d*,\}|\{\d{2,}/.test(pattern) && !ownTexts[pattern])
        found.push({ where: `${file}: /${pattern}/`, form: new RegExp(pattern, flags) });
      return typeof node === "bigint" ? String(node) : node;
    });
  }
  return found;
}

const commonPieces = [
  " ",
  "\n",
  "\r\n",
  "\t",
  "0",
  "a",
  "aA1",
  "_",
  "-",
  ".",
  "/",
  "\\",
  '"',
  '\\"',
  "é",
];

/** Pieces to repeat in a text so that the pattern is tried at every position. */
function pieces({ source: text }: RegExp): string[] {
  const words = text.replace(/\\[a-zA-Z](\{[^}]*\})?/g, " ").match(/\w+|[^\s\w]/g) ?? [];
  return [
    ...new Set([...commonPieces, ...words, ...words.flatMap((word) => [`${word}0`, `${word} `])]),
  ];
}

/** Texts of this length, and one more sign at the end, that repeat a piece after a start. */
function* repeated(form: RegExp) {
  const starts = ["", "a", form.source.startsWith("^\\") ? (form.source[2] ?? "") : "0"];
  for (const piece of pieces(form))
    for (const start of starts)
      yield {
        shown: JSON.stringify(`${start}${piece}`),
        text: (size: number) => `${start}${piece.repeat(Math.ceil(size / piece.length))}\0`,
      };
}

type Limited = (source: string, flags: string, limit: number) => RegExp;

/** Calls a function with V8's own patterns that match nothing after a number of steps back. */
function withLimits<T>(read: (limited: Limited) => T): T {
  // Otherwise, V8 has loops that take steps without counting them.
  setFlagsFromString("--allow-natives-syntax --no-regexp-optimization");
  try {
    const code = "(source, flags, limit) => %NewRegExpWithBacktrackLimit(source, flags, limit)";
    return read(new Script(code).runInThisContext() as Limited);
  } finally {
    setFlagsFromString("--no-allow-natives-syntax --regexp-optimization");
  }
}

const SHORT = 500;
/** Steps back for each character: patterns of linear time take a tenth, those of quadratic time more than twice as many. */
const STEPS = 100;

/** Describes for each pattern a text for which it goes back more often than in linear time. */
export const tooManySteps = (all: readonly Pattern[]): readonly string[] =>
  withLimits((limited) =>
    all.flatMap(({ where, form }) => {
      // At its last place it always matches, unless it was stopped.
      const source = `(?:${form.source})|${form.sticky ? "" : "$(?![^])"}`;
      const own = limited(source, form.flags.replace("g", ""), STEPS * SHORT);
      const slow = [...repeated(form)].find(({ text }) => {
        own.lastIndex = 0;
        return own.exec(text(SHORT)) === null;
      });
      return slow ? [`${where}: ${slow.shown} repeated`] : [];
    }),
  );

const scope = createContext({});
const search = new Script("text.replace(form, '')");
const maxMs = 3000;

/** Measures the ms of processor time for a text: what else runs on the machine does not count. */
function measure(form: RegExp, text: string): number {
  Object.assign(scope, { form, text });
  form.lastIndex = 0;
  const began = process.cpuUsage();
  try {
    search.runInContext(scope, { timeout: maxMs });
  } catch {
    return maxMs;
  }
  return process.cpuUsage(began).user / 1000;
}

const best = (form: RegExp, text: string) => Math.min(...[1, 2, 3].map(() => measure(form, text)));

/**
 * Describes a text for which a pattern takes 24 times as long at eight times the length, that is, more
 * than linear time. Undefined if there is none.
 */
export function explosion({ where, form }: Pattern, length: number): string | undefined {
  for (const { shown, text } of repeated(form)) {
    if (measure(form, text(length)) < 10) continue;
    const [short, long] = [best(form, text(length / 8)), best(form, text(length))];
    if (long > 10 && long > 24 * short) return `${where} takes ${long} ms for ${shown} repeated`;
  }
  return undefined;
}
