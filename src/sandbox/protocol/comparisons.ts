import { own } from "../../lib/json.ts";

type Compare = (value: unknown, expected: unknown) => boolean;

const text = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

const texts =
  (test: (value: string, expected: string) => boolean): Compare =>
  (value, expected) =>
    value !== null && test(text(value), text(expected));

const numbers =
  (test: (value: number, expected: number) => boolean): Compare =>
  (value, expected) =>
    value !== null && value !== "" && test(Number(value), Number(expected));

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
  "=": numbers((value, expected) => value === expected),
  "≠": numbers((value, expected) => value !== expected),
  ">": numbers((value, expected) => value > expected),
  "<": numbers((value, expected) => value < expected),
  "≥": numbers((value, expected) => value >= expected),
  "≤": numbers((value, expected) => value <= expected),
  before: numbers((value, expected) => value < expected),
  after: numbers((value, expected) => value > expected),
};

/**
 * Compares a value, or null for none, as conditions of workflows and of metadata do; an unknown
 * comparison never holds.
 */
export function compares(name: string, value: unknown, expected: unknown): boolean {
  const positive = name.replace(/^not | not$/, "");
  const compare = own(comparisons, positive);
  return compare !== undefined && compare(value, expected) === (name === positive);
}
