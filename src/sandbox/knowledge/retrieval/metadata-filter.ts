import { isObject, own } from "../../../lib/json.ts";
import type { MetadataValue } from "../records/knowledge-store.ts";

/** Reports whether a document with these values, by name, matches. */
export type MetadataFilter = (
  values: Readonly<Record<string, MetadataValue | undefined>>,
) => boolean;

type Test = (value: MetadataValue, expected: unknown) => boolean;

const compareTexts =
  (test: (value: string, expected: string) => boolean): Test =>
  (value, expected) =>
    value !== null && test(String(value), String(expected));
const compareNumbers =
  (test: (value: number, expected: number) => boolean): Test =>
  (value, expected) =>
    value !== null && value !== "" && test(Number(value), Number(expected));
const not =
  (test: Test): Test =>
  (value, expected) =>
    !test(value, expected);

const contains = compareTexts((value, expected) => value.includes(expected));
const is = compareTexts((value, expected) => value === expected);
const isEmpty: Test = (value) => value === null || value === "";
const isIn: Test = (value, expected) => {
  const list = Array.isArray(expected)
    ? expected.map(String)
    : String(expected)
        .split(",")
        .map((each) => each.trim());
  return value !== null && list.includes(String(value));
};

/** The comparison operators; a document without the field matches only the negative ones. */
const tests: Readonly<Record<string, Test>> = {
  contains,
  "not contains": not(contains),
  "start with": compareTexts((value, expected) => value.startsWith(expected)),
  "end with": compareTexts((value, expected) => value.endsWith(expected)),
  is,
  "is not": not(is),
  empty: isEmpty,
  "not empty": not(isEmpty),
  in: isIn,
  "not in": not(isIn),
  "=": compareNumbers((value, expected) => value === expected),
  "≠": compareNumbers((value, expected) => value !== expected),
  ">": compareNumbers((value, expected) => value > expected),
  "<": compareNumbers((value, expected) => value < expected),
  "≥": compareNumbers((value, expected) => value >= expected),
  "≤": compareNumbers((value, expected) => value <= expected),
  before: compareNumbers((value, expected) => value < expected),
  after: compareNumbers((value, expected) => value > expected),
};

/** Parses `metadata_filtering_conditions`; undefined if every document matches (server §6). */
export function parseMetadataFilter(sent: unknown): MetadataFilter | undefined {
  if (!isObject(sent) || !Array.isArray(sent["conditions"])) return undefined;
  const conditions = sent["conditions"].filter(isObject);
  if (conditions.length === 0) return undefined;
  return (values) => {
    const matches = ({ name, comparison_operator, value }: Readonly<Record<string, unknown>>) => {
      const test = own(tests, String(comparison_operator));
      return test !== undefined && test(values[String(name)] ?? null, value ?? "");
    };
    return sent["logical_operator"] === "or" ? conditions.some(matches) : conditions.every(matches);
  };
}
