import type { ConditionReader } from "./reader.ts";

/** The comparisons of numbers by their operators. */
export const comparisons = {
  ">=": (a: number, b: number) => a >= b,
  "<=": (a: number, b: number) => a <= b,
  ">": (a: number, b: number) => a > b,
  "<": (a: number, b: number) => a < b,
  "=": (a: number, b: number) => a === b,
} as const;

/** The comparisons in words. */
export const bounds = {
  "at least": ">=",
  "at most": "<=",
  exactly: "=",
  "less than": "<",
  "more than": ">",
} as const satisfies Readonly<Record<string, keyof typeof comparisons>>;

const boundPhrases = Object.keys(bounds) as (keyof typeof bounds)[]; // the keys of a constant

/** A number with its comparison: `at most 3`. */
export interface Limit {
  readonly operator: keyof typeof comparisons;
  readonly value: number;
}

export const meetsLimit = ({ operator, value }: Limit, actual: number): boolean =>
  comparisons[operator](actual, value);

/** Reads `at most 30s`. */
export const readDuration = (reader: ConditionReader): Limit => ({
  operator: bounds[reader.oneOf(boundPhrases)],
  value: reader.seconds(),
});

/** Reads `within 30s`, or nothing. */
export function readTimeLimit(reader: ConditionReader): Limit | undefined {
  if (reader.isAtEnd()) return undefined;
  reader.oneOf(["within"]);
  return { operator: "<=", value: reader.seconds() };
}

/** Reads `at most 3`, or `3` for exactly three. */
export function readAmount(reader: ConditionReader): Limit {
  const bound = reader.takes(...boundPhrases) ?? "exactly";
  return { operator: bounds[bound], value: reader.count() };
}
