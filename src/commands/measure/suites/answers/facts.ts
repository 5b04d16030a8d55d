import { counted, unicodeForm } from "../../../../lib/text.ts";
import { quoted } from "../../../wf/expect/index.ts";

/** A number or a date as it is written, and what it may mean: `1.500` is 1500 or 1.5. */
interface Figure {
  readonly text: string;
  readonly readings: readonly string[];
  /** `%` or a currency; undefined if it has none. */
  readonly unit?: string | undefined;
}

/** What a text states beside its wording. */
type Facts = ReturnType<typeof factsIn>;

/** How many differences are named. */
const MAX_NAMED = 3;

/** The numbers, dates and names that an answer lacks, and other counts of negations; undefined if all agree. */
export function differingFacts(answer: string, expected: string): string | undefined {
  const [here, there] = [factsIn(answer), factsIn(expected)];
  const words = new Set(
    [...unicodeForm(answer).matchAll(WORD)]
      .flatMap(([word]) => [word, ...word.split(/['’]/)])
      .map(nameKey),
  );
  const names = there.names.filter((name) => !words.has(nameKey(name)));
  const problems = [
    ...missingFigures("date", here.dates, there.dates),
    ...missingFigures("number", here.numbers, there.numbers),
    ...[...new Set(names)].map((name) => `name ${quoted(name)} is missing`),
    ...(here.negations === there.negations
      ? []
      : [`${counted(here.negations, "negation")} instead of ${there.negations}`]),
  ];
  return problems.length === 0 ? undefined : firstDifferences(problems);
}

/** The first of several differences, and how many there are besides. */
export function firstDifferences<T>(
  all: readonly T[],
  shown: (each: T) => string = String,
): string {
  const more = all.length - MAX_NAMED;
  const rest = more > 0 ? [counted(more, "more difference")] : [];
  return [...all.slice(0, MAX_NAMED).map(shown), ...rest].join(", ");
}

/** Whether a text has all numbers and dates of a sentence, and a negation if that has one. */
export const hasFacts = (text: Facts, sentence: Facts): boolean =>
  lacking(text.dates, sentence.dates).length === 0 &&
  lacking(text.numbers, sentence.numbers).length === 0 &&
  (sentence.negations === 0 || text.negations > 0);

function missingFigures(kind: string, here: readonly Figure[], there: readonly Figure[]): string[] {
  const others = lacking(there, here).slice(0, MAX_NAMED).map(quoted).join(", ");
  const found = others === "" ? "" : ` (found: ${others})`;
  return lacking(here, there).map((text) => `${kind} ${quoted(text)} is missing${found}`);
}

/** Those of the second list that are not in the first one, each once. */
function lacking(here: readonly Figure[], there: readonly Figure[]): string[] {
  const units = new Map<string, Set<string | undefined>>();
  for (const { readings, unit } of here)
    for (const each of readings) units.set(each, (units.get(each) ?? new Set()).add(unit));
  // A unit or a year that only one of them has does not differ.
  const isHere = ({ readings, unit }: Figure) =>
    readings.some((each) => {
      const known = units.get(each);
      return known && (unit === undefined || known.has(undefined) || known.has(unit));
    });
  return [...new Set(there.filter((each) => !isHere(each)).map(({ text }) => text))];
}

export function factsIn(original: string) {
  let text = unicodeForm(original);
  const dates: Figure[] = [];
  const numbers: Figure[] = [];
  for (const pattern of datePatterns())
    text = text.replaceAll(pattern, (...found) => {
      dates.push(dateOf(String(found[0]), found.at(-1) as DateParts));
      return ", ";
    });
  // The number of a list item does not count.
  text = text.replaceAll(/^[ \t]{0,8}\d{1,3}[.)]\s/gm, "").replaceAll(NUMBER, (written: string) => {
    numbers.push(numberOf(written));
    return ", ";
  });
  const isGerman = (text.match(GERMAN)?.length ?? 0) >= 2;
  // Capitalized words that follow another word; none in German, where any noun is one.
  const names = isGerman ? [] : (text.match(NAME) ?? []).filter((name) => !/^I\b/.test(name));
  return { dates, numbers, names, negations: countNegations(text) };
}

const WORD = /[\p{L}\p{M}\p{N}]+(?:['’]\p{L}+)*/gu;
const NAME = /(?<=[\p{L}\p{N},;]\s{1,2})\p{Lu}[\p{L}\p{M}\p{N}]*(?:['’]\p{L}+)*/gu;
const GERMAN =
  /(?<!\p{L})(?:der|das|und|ist|nicht|ein|eine|für|mit|auf|im|zu|sie|wird|sind)(?!\p{L})/giu;

const nameKey = (word: string): string => word.toLowerCase().replace(/['’]s$/, "");

/** What a date pattern finds. */
type DateParts = Readonly<Partial<Record<"year" | "month" | "day", string>>>;

/** Languages whose names of months are known. */
const languages = ["en", "de", "fr", "es", "it", "pt", "nl"];

/** Numbers of months by their names, as each language writes them; made at the first use. */
const monthNumbers = () => (knownMonths ??= readMonths());
let knownMonths: ReturnType<typeof readMonths> | undefined;

function readMonths() {
  const monthsIn = (language: string, month: "long" | "short") => {
    const format = new Intl.DateTimeFormat(language, { month, timeZone: "UTC" });
    return Array.from({ length: 12 }, (_, index) => {
      return [format.format(Date.UTC(2024, index, 1)).replace(".", ""), index + 1] as const;
    });
  };
  return new Map([
    ...monthsIn("en", "short"),
    ...languages.flatMap((one) => monthsIn(one, "long")),
  ]);
}

const datePatterns = () => (knownPatterns ??= makePatterns());
let knownPatterns: ReturnType<typeof makePatterns> | undefined;

function makePatterns() {
  const name = `(?<month>${[...monthNumbers().keys()].toSorted((a, b) => b.length - a.length).join("|")})(?!\\p{L})\\.?`;
  const day = String.raw`(?<day>\d{1,2})`;
  const year = String.raw`(?<year>\d{4})(?!\d)`;
  return [
    String.raw`(?<!\d)(?<year>\d{4})([-/.])(?<month>\d{1,2})\2${day}(?!\d)`,
    String.raw`(?:(?<year>\d{4})\s?[年년]\s?)?(?<month>\d{1,2})\s?[月월]\s?${day}\s?[日号號일]`,
    String.raw`(?<!\d)${day}\.\s?(?<month>\d{1,2})\.\s?${year}`,
    String.raw`(?<!\d)(?<month>\d{1,2})/${day}/${year}`,
    String.raw`(?<!\d)${day}(?:st|nd|rd|th|er|\.)?\s{1,2}(?:(?:of|de)\s)?${name}(?:,?\s{1,2}(?:de\s)?${year})?`,
    String.raw`(?<!\p{L})${name}\s{1,2}${day}(?!\d)(?:st|nd|rd|th)?(?:,?\s{1,2}${year})?`,
  ].map((source) => new RegExp(source, "gu"));
}

function dateOf(text: string, { year, month = "", day = "" }: DateParts): Figure {
  const [first, second] = [monthNumbers().get(month) ?? Number(month), Number(day)];
  const hasAnyOrder = /^\d{1,2}\//.test(text);
  const readings = [`${first}-${second}`, ...(hasAnyOrder ? [`${second}-${first}`] : [])];
  // The year is compared like a unit.
  return { text, readings, unit: year };
}

const units: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "%": "% percent prozent procent パーセント",
    EUR: "€ eur euro euros",
    USD: "$ usd dollar dollars",
    GBP: "£ gbp pound pounds",
    CHF: "chf franken",
    JPY: "jpy yen 円",
    CNY: "cny rmb yuan 元",
  }).flatMap(([unit, words]) => words.split(" ").map((word) => [word, unit] as const)),
);
const UNIT = [...units.keys()]
  .map((word) => (/^[a-z]/.test(word) ? `${word}(?!\\p{L})` : word.replace("$", String.raw`\$`)))
  .join("|");

/** Digits, in groups of three or with decimals: `1,000.5`, `1.000,5`, `1 000`, `1'000`. */
const DIGITS = String.raw`\d{1,3}(?:[,.'’ ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)?`;
const NUMBER = new RegExp(
  String.raw`(?:(?<!\p{L})(?:[€$£]|EUR|USD|GBP|CHF)\s?)?(?:(?<=^|[\s(])[-−])?(?:${DIGITS})(?:\s?(?:${UNIT}))?`,
  "giu",
);

function numberOf(written: string): Figure {
  const text = written.trim();
  const [digits = ""] = new RegExp(DIGITS, "u").exec(text) ?? [];
  const sign = /[-−]/.test(text) ? "-" : "";
  const unit = units.get(text.replace(digits, "").replace(/[-−]/, "").trim().toLowerCase());
  return { text, readings: numberReadings(digits).map((each) => sign + each), unit };
}

/** The numbers that digits with separators may mean, the usual one first: `1,000` → `1000`. */
export function numberReadings(digits: string): string[] {
  const separators = digits.replaceAll(/\d/g, "");
  const last = separators.at(-1) ?? "";
  const whole = plainNumber(digits.replaceAll(/\D/g, ""), "");
  if (last === "") return [whole];
  const at = digits.lastIndexOf(last);
  const decimal = plainNumber(digits.slice(0, at).replaceAll(/\D/g, ""), digits.slice(at + 1));
  const isGrouped = /^[1-9]\d{0,2}([,.'’ ])\d{3}(?:\1\d{3})*$/u.test(digits);
  if (!isGrouped) return [decimal];
  return separators === "." ? [whole, decimal] : [whole];
}

/** Without zeros that say nothing. A text, since long numbers are exact, too. */
const plainNumber = (whole: string, part: string): string =>
  [whole.replace(/^0+(?=\d)/, ""), part.replace(/(?<!0)0+$/, "")]
    .filter((each) => each !== "")
    .join(".");

const negations = new Set(
  `not no never none nobody nothing neither nor without
  nicht kein keine keinen keinem keiner keines nie niemals niemand nichts ohne weder
  pas jamais sans aucun aucune rien nunca jamás sin ningún ninguna ninguno nada nadie tampoco
  non senza nessun nessuno nessuna niente não sem nenhum nenhuma ninguém
  niet geen nooit zonder не нет без никогда`.split(/\s+/),
);

/** Signs and endings that negate in Chinese, Japanese and Korean. */
const NEGATIONS = /ない|ません|なかった|ずに|[不没沒無无未]|않|없|못/gu;
/** Words with such signs that negate nothing, such as `must` in Japanese and `but` in Chinese. */
const AFFIRMATIONS = /(?:なり|いけ)ません|(?:なら|いけ)ない|不[过過仅僅但同断斷]|未来|無料|无论/gu;

function countNegations(text: string): number {
  const words = [...text.matchAll(WORD)].flatMap(([word]) => fullWords(word.toLowerCase()));
  const signs = text.replaceAll(AFFIRMATIONS, "").match(NEGATIONS) ?? [];
  return words.filter((word) => negations.has(word)).length + signs.length;
}

/** The words of a short form in lower case: `don't` → `do`, `not`. */
export function fullWords(word: string): string[] {
  if (word === "cannot") return ["can", "not"];
  const [, verb] = /^(\p{L}+)n['’]t$/u.exec(word) ?? [];
  if (verb === undefined) return [word];
  return [({ ca: "can", wo: "will", sha: "shall" } as Record<string, string>)[verb] ?? verb, "not"];
}
