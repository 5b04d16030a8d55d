import type { MetadataValue } from "./metadata-values.ts";
import { isObject } from "../../lib/json.ts";

/** Reports whether a document with these values, by name, matches. */
export type MetadataFilter = (
  values: Readonly<Record<string, MetadataValue | undefined>>,
) => boolean;

type Test = (value: MetadataValue, expected: unknown) => boolean;

const text: (test: (value: string, expected: string) => boolean) => Test =
  (test) => (value, expected) =>
    value !== null && test(String(value), String(expected));
const number: (test: (value: number, expected: number) => boolean) => Test =
  (test) => (value, expected) =>
    value !== null && value !== "" && test(Number(value), Number(expected));
const toList = (expected: unknown): string[] =>
  Array.isArray(expected)
    ? expected.map(String)
    : String(expected)
        .split(",")
        .map((each) => each.trim());

/** The comparison operators; a document without the field matches only the negative ones. */
const tests: Readonly<Record<string, Test>> = {
  contains: text((value, expected) => value.includes(expected)),
  "not contains": (value, expected) => value === null || !String(value).includes(String(expected)),
  "start with": text((value, expected) => value.startsWith(expected)),
  "end with": text((value, expected) => value.endsWith(expected)),
  is: text((value, expected) => value === expected),
  "is not": (value, expected) => value === null || String(value) !== String(expected),
  empty: (value) => value === null || value === "",
  "not empty": (value) => value !== null && value !== "",
  in: (value, expected) => value !== null && toList(expected).includes(String(value)),
  "not in": (value, expected) => value === null || !toList(expected).includes(String(value)),
  "=": number((value, expected) => value === expected),
  "≠": number((value, expected) => value !== expected),
  ">": number((value, expected) => value > expected),
  "<": number((value, expected) => value < expected),
  "≥": number((value, expected) => value >= expected),
  "≤": number((value, expected) => value <= expected),
  before: number((value, expected) => value < expected),
  after: number((value, expected) => value > expected),
};

/** Parses `metadata_filtering_conditions`; undefined if every document matches (server §6). */
export function parseMetadataFilter(sent: unknown): MetadataFilter | undefined {
  if (!isObject(sent) || !Array.isArray(sent["conditions"])) return undefined;
  const conditions = sent["conditions"].filter(isObject);
  if (conditions.length === 0) return undefined;
  return (values) => {
    const matches = ({ name, comparison_operator, value }: Readonly<Record<string, unknown>>) => {
      const test = tests[String(comparison_operator)];
      return test !== undefined && test(values[String(name)] ?? null, value ?? "");
    };
    return sent["logical_operator"] === "or" ? conditions.some(matches) : conditions.every(matches);
  };
}
