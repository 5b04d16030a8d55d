import { own, stringifyJson } from "../../lib/json.ts";
import { compareNumbers, typedNumber } from "../../lib/exact-number.ts";

type Compare = (value: unknown, expected: unknown) => boolean;

const text = (value: unknown): string =>
  typeof value === "string" ? value : (stringifyJson(value) ?? "");

const texts =
  (test: (value: string, expected: string) => boolean): Compare =>
  (value, expected) =>
    value !== null && test(text(value), text(expected));

const numbers =
  (test: (order: number) => boolean): Compare =>
  (value, expected) => {
    const [one, other] = [typedNumber(text(value)), typedNumber(text(expected))];
    if (value === null || value === "") return false;
    return test(one === undefined || other === undefined ? Number.NaN : compareNumbers(one, other));
  };

const containsText = texts((value, expected) => value.includes(expected));

/** The server's comparisons by name; those with `not` are the opposites. */
const comparisons: Readonly<Record<string, Compare>> = {
  contains: (value, expected) =>
    Array.isArray(value) ? value.includes(expected) : containsText(value, expected),
  "start with": texts((value, expected) => value.startsWith(expected)),
  "end with": texts((value, expected) => value.endsWith(expected)),
  is: texts((value, expected) => value === expected),
  empty: (value) => value === null || value === "" || (Array.isArray(value) && value.length === 0),
  in(value, expected) {
    const list: unknown[] = Array.isArray(expected) ? expected : text(expected).split(",");
    return value !== null && list.some((each) => text(each).trim() === text(value));
  },
  "=": numbers((order) => order === 0),
  "≠": numbers((order) => order !== 0),
  ">": numbers((order) => order > 0),
  "<": numbers((order) => order < 0),
  "≥": numbers((order) => order >= 0),
  "≤": numbers((order) => order <= 0),
  before: numbers((order) => order < 0),
  after: numbers((order) => order > 0),
};

/** Compares a value, or null for none, as workflows and metadata do; an unknown comparison never holds. */
export function compares(name: string, value: unknown, expected: unknown): boolean {
  const positive = name.replace(/^not | not$/, "");
  const compare = own(comparisons, positive);
  return compare !== undefined && compare(value, expected) === (name === positive);
}
