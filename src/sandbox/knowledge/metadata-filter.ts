import type { MetadataValue } from "./metadata-values.ts";
import { isObject } from "../../lib/json.ts";

/** Does a document with these values, by name, belong to the result? */
export type MetadataFilter = (
  values: Readonly<Record<string, MetadataValue | undefined>>,
) => boolean;

type Test = (value: MetadataValue, wanted: unknown) => boolean;

const text: (test: (value: string, wanted: string) => boolean) => Test =
  (test) => (value, wanted) =>
    value !== null && test(String(value), String(wanted));
const number: (test: (value: number, wanted: number) => boolean) => Test =
  (test) => (value, wanted) =>
    value !== null && value !== "" && test(Number(value), Number(wanted));
const listed = (wanted: unknown): string[] =>
  Array.isArray(wanted)
    ? wanted.map(String)
    : String(wanted)
        .split(",")
        .map((each) => each.trim());

/** What each comparison means; a document without the field fails all but the negative ones. */
const tests: Readonly<Record<string, Test>> = {
  contains: text((value, wanted) => value.includes(wanted)),
  "not contains": (value, wanted) => value === null || !String(value).includes(String(wanted)),
  "start with": text((value, wanted) => value.startsWith(wanted)),
  "end with": text((value, wanted) => value.endsWith(wanted)),
  is: text((value, wanted) => value === wanted),
  "is not": (value, wanted) => value === null || String(value) !== String(wanted),
  empty: (value) => value === null || value === "",
  "not empty": (value) => value !== null && value !== "",
  in: (value, wanted) => value !== null && listed(wanted).includes(String(value)),
  "not in": (value, wanted) => value === null || !listed(wanted).includes(String(value)),
  "=": number((value, wanted) => value === wanted),
  "≠": number((value, wanted) => value !== wanted),
  ">": number((value, wanted) => value > wanted),
  "<": number((value, wanted) => value < wanted),
  "≥": number((value, wanted) => value >= wanted),
  "≤": number((value, wanted) => value <= wanted),
  before: number((value, wanted) => value < wanted),
  after: number((value, wanted) => value > wanted),
};

/** Reads `metadata_filtering_conditions`; undefined where everything belongs (server §6). */
export function parseMetadataFilter(sent: unknown): MetadataFilter | undefined {
  if (!isObject(sent) || !Array.isArray(sent["conditions"])) return undefined;
  const conditions = sent["conditions"].filter(isObject);
  if (conditions.length === 0) return undefined;
  return (values) => {
    const meets = ({ name, comparison_operator, value }: Readonly<Record<string, unknown>>) => {
      const test = tests[String(comparison_operator)];
      return test !== undefined && test(values[String(name)] ?? null, value ?? "");
    };
    return sent["logical_operator"] === "or" ? conditions.some(meets) : conditions.every(meets);
  };
}
