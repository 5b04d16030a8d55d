import { numberWords } from "./number-words.ts";

/** A number, a date or a time as it is written, and what it may mean: `1.500` is 1500 or 1.5. */
export interface Figure {
  readonly kind: "number" | "date" | "time";
  readonly text: string;
  /** Where it begins and ends in its text. */
  readonly start: number;
  readonly end: number;
  readonly readings: readonly string[];
  /** A unit or a currency, of a date the year; undefined if it has none. */
  readonly unit?: string | undefined;
  /** The same in the smallest unit of its kind: 90 minutes are `5400 s`. */
  readonly amount?: string | undefined;
}

/** The number of a list item, which does not count. */
export const LIST_NUMBER = /^[ \t]{0,8}\d{1,3}[.)]\s/gm;

/** The figures of a text in Unicode form NFKC, in order. */
export function figuresIn(text: string): Figure[] {
  let rest = text;
  const found: Figure[] = [];
  /** Figures are blanked out, so that what follows keeps its place. */
  const take = (pattern: RegExp, read: (written: string, found: RegExpExecArray) => Meaning) => {
    for (const match of rest.matchAll(pattern)) {
      const [written] = match;
      const start = match.index + (written.length - written.trimStart().length);
      const end = start + written.trim().length;
      found.push({ text: written.trim(), start, end, ...read(written.trim(), match) });
    }
    rest = rest.replaceAll(pattern, (written) => "\n".padStart(written.length, ","));
  };
  for (const pattern of datePatterns())
    take(pattern, (written, { groups = {} }) => dateOf(written, groups));
  for (const pattern of TIMES) take(pattern, (_, { groups = {} }) => timeOf(groups));
  rest = rest.replaceAll(LIST_NUMBER, (item) => " ".repeat(item.length));
  take(NUMBER, numberOf);
  for (const { pattern, values } of numberWords(text, MEASURE))
    take(pattern, (written, { groups = {} }) => {
      const digits = values(groups["words"] ?? written);
      return measured(digits === undefined ? [] : [String(digits)], groups);
    });
  return found.filter(({ readings }) => readings.length > 0).toSorted((a, b) => a.start - b.start);
}

type Meaning = Pick<Figure, "kind" | "readings" | "unit" | "amount">;
type Parts = Readonly<Partial<Record<string, string>>>;

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

function dateOf(text: string, { year, month = "", day = "" }: Parts): Meaning {
  const [first, second] = [monthNumbers().get(month) ?? Number(month), Number(day)];
  const hasAnyOrder = /^\d{1,2}\//.test(text);
  const readings = [`${first}-${second}`, ...(hasAnyOrder ? [`${second}-${first}`] : [])];
  // The year is compared like a unit.
  return { kind: "date", readings, unit: year };
}

const HALF = String.raw`(?<half>[ap]\.?m\b\.?)`;
const TIMES = [
  String.raw`(?<![\d:.,])(?<hour>\d{1,2})(?::(?<minute>\d{2})(?:\s?(?:${HALF}|Uhr\b))?|[.h]\s?(?<minute2>\d{2})\s?(?:${HALF.replace("half", "half2")}|Uhr\b))(?![\d:])`,
  String.raw`(?<![\d:.,])(?<hour>\d{1,2})(?:\s?${HALF}|\s(?<full>Uhr|o['’]clock)\b|\s?h\s?(?<minute>\d{2})(?!\d))`,
  String.raw`(?<!\p{L})(?<word>noon|midday|midnight)(?!\p{L})`,
].map((source) => new RegExp(source, "giu"));

/** A time by the 24-hour clock; without a half of the day, one until noon may be either. */
function timeOf({ word, hour = "", minute, minute2, half, half2, full }: Parts): Meaning {
  if (word) return { kind: "time", readings: [/night/i.test(word) ? "0:00" : "12:00"] };
  const at = (hours: number) => `${hours}:${minute ?? minute2 ?? "00"}`;
  const written = Number(hour);
  const named = (half ?? half2)?.charAt(0).toLowerCase();
  if (named) return { kind: "time", readings: [at((written % 12) + (named === "p" ? 12 : 0))] };
  const mayBeLater = written >= 1 && written < 12 && !hour.startsWith("0") && full !== "Uhr";
  return { kind: "time", readings: [at(written), ...(mayBeLater ? [at(written + 12)] : [])] };
}

/** Units by their words; of a kind that can be converted, with the smallest unit and how many of it. */
const unitList: readonly (readonly [
  unit: string,
  words: string,
  base?: string,
  factor?: number,
])[] = [
  ["%", "% percent prozent procent パーセント"],
  ["EUR", "€ eur euro euros"],
  ["USD", "$ usd dollar dollars"],
  ["GBP", "£ gbp pound pounds"],
  ["CHF", "chf franken"],
  ["JPY", "jpy yen 円"],
  ["CNY", "cny rmb yuan 元"],
  [
    "second",
    "second seconds sec secs sekunde sekunden seconde secondes segundo segundos 秒",
    "s",
    1,
  ],
  ["minute", "minute minutes min mins minuten minuto minutos 分钟 分間 分", "s", 60],
  ["hour", "hour hours hr hrs h stunde stunden heure heures hora horas 小时 時間", "s", 3600],
  ["day", "day days tag tage tagen jour jours día días dia dias 天 日間 日", "s", 86_400],
  ["week", "week weeks woche wochen semaine semaines semana semanas 周 週間", "s", 604_800],
  ["month", "month months monat monate monaten mois mes meses 个月 か月 ヶ月", "months", 1],
  ["year", "year years jahr jahre jahren année années año años 年間", "months", 12],
  ["mg", "mg milligram milligrams", "mg", 1],
  ["g", "g gram grams gramm gramme grammes gramo gramos", "mg", 1000],
  [
    "kg",
    "kg kilo kilos kilogram kilograms kilogramm kilogramme kilogrammes kilogramo kilogramos",
    "mg",
    1_000_000,
  ],
  ["lb", "lb lbs livre livres libra libras"],
  ["mm", "mm millimeter millimeters millimetre millimetres", "mm", 1],
  [
    "cm",
    "cm centimeter centimeters centimetre centimetres zentimeter centimètres centímetros",
    "mm",
    10,
  ],
  ["m", "m meter meters metre metres mètre mètres metro metros", "mm", 1000],
  [
    "km",
    "km kilometer kilometers kilometre kilometres kilomètre kilomètres kilómetro kilómetros",
    "mm",
    1_000_000,
  ],
  ["mile", "mile miles meile meilen milla millas"],
  ["foot", "foot feet ft fuß pied pieds pie pies"],
  ["inch", "inch inches"],
  ["kB", "kb kilobyte kilobytes", "kB", 1],
  ["MB", "mb megabyte megabytes", "kB", 1000],
  ["GB", "gb gigabyte gigabytes", "kB", 1_000_000],
  ["TB", "tb terabyte terabytes", "kB", 1_000_000_000],
  ["°C", "°c celsius"],
  ["°F", "°f fahrenheit"],
];
const units = new Map(
  unitList.flatMap(([unit, words, base, factor]) =>
    words.split(" ").map((word) => [word, { unit, base, factor }] as const),
  ),
);

/** Powers of ten by their words. */
const scales = new Map(
  Object.entries({
    3: "thousand tausend mille mil k 千",
    4: "万 萬",
    6: "million millions mio millionen millón millones",
    8: "億 亿",
    9: "billion billions bn milliarde milliarden mrd milliard milliards",
    12: "trillion trillions",
  }).flatMap(([power, words]) => words.split(" ").map((word) => [word, Number(power)] as const)),
);

const anyOf = (words: Iterable<string>): string =>
  [...words]
    .toSorted((a, b) => b.length - a.length)
    .map((word) =>
      /[\p{L}]$/u.test(word) && !/[\p{Lo}]$/u.test(word)
        ? `${word}(?!\\p{L})`
        : word.replace("$", String.raw`\$`),
    )
    .join("|");

/** What stands behind a number: a power of ten, and a unit. */
const MEASURE = String.raw`(?:\s?(?<scale>${anyOf(scales.keys())})\.?)?(?:[\s-]?(?<unit>${anyOf(units.keys())}))?`;

/** Digits, in groups of three or with decimals: `1,000.5`, `1.000,5`, `1 000`, `1'000`. */
const DIGITS = String.raw`\d{1,3}(?:[,.'’ ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)?`;
const NUMBER = new RegExp(
  String.raw`(?<![\p{Ll}\p{Lu}]\d{0,20})(?:(?<before>[€$£]|EUR|USD|GBP|CHF)\s?)?(?<sign>(?<=^|[\s(])[-−])?(?<digits>${DIGITS})${MEASURE}`,
  "giu",
);

/** What stands before a version, whose last zero counts. */
const VERSIONED = /(?:\p{Lu}[\p{L}\d]{0,39}|[Vv]ersion|(?<!\p{L})v)\s?$/u;
const MAX_NAME = 40;

function numberOf(_: string, { index, input, groups = {} }: RegExpExecArray): Meaning {
  const { digits = "", sign, before, unit, scale } = groups;
  const isVersion = !before && !unit && !scale && /^\d+\.\d+$/.test(digits);
  if (isVersion && VERSIONED.test(input.slice(Math.max(0, index - MAX_NAME), index)))
    return { kind: "number", readings: [digits] };
  const readings = numberReadings(digits).map((each) => (sign ? "-" : "") + each);
  return measured(readings, { ...groups, unit: unit ?? before });
}

/** A number with its power of ten and its unit. */
function measured(written: readonly string[], { scale, unit }: Parts): Meaning {
  const power = scales.get(scale?.toLowerCase() ?? "") ?? 0;
  const readings = written.map((each) => timesTen(each, power));
  const { unit: name, base, factor = 1 } = units.get(unit?.toLowerCase() ?? "") ?? {};
  const amount = base && `${Number((Number(readings[0]) * factor).toPrecision(12))} ${base}`;
  return { kind: "number", readings, unit: name, amount };
}

/** A number with its decimal point so many places further. */
function timesTen(number: string, power: number): string {
  if (power === 0) return number;
  const [whole = "", part = ""] = number.split(".");
  const digits = part.padEnd(power, "0");
  return plainNumber(whole + digits.slice(0, power), digits.slice(power));
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
