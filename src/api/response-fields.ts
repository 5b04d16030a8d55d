import { CliError } from "../errors.ts";
import { isObject } from "../lib/json.ts";
import type { RequiredFields } from "../operations/operation.ts";

/** What is missing in a value or of another type, by its path; undefined where it holds all that is read. */
export function problemIn(reads: RequiredFields, value: unknown, path: string): string | undefined {
  if (typeof reads === "string") {
    return fits(reads, value)
      ? undefined
      : `${path || "it"} ${found(value)}, not ${wordFor(reads)}`;
  }
  if (isList(reads)) {
    if (!Array.isArray(value)) return `${path || "it"} ${found(value)}, not a list`;
    const [each] = reads;
    return first(value.entries(), ([index, item]) => problemIn(each, item, at(path, index)));
  }
  if (!isObject(value)) return `${path || "it"} ${found(value)}, not an object`;
  return first(Object.entries(reads), ([name, inner]) => {
    const field = name.replace(/\?$/, "");
    const there = value[field] ?? undefined;
    if (there === undefined && field !== name) return undefined;
    return problemIn(inner, value[field], at(path, field));
  });
}

/** A value that only some answers of its kind hold, where it must be there. Throws `failure`. */
export function needed<T>(value: T | null | undefined, name: string): T {
  if (value !== undefined && value !== null) return value;
  throw invalid(`${name} ${found(value)}`);
}

/** The error for an answer that does not hold what is read of it. */
export const invalid = (problem: string) =>
  new CliError("failure", `invalid response: ${problem}`, { code: "invalid-response" });

const isList = (reads: RequiredFields): reads is readonly [RequiredFields] => Array.isArray(reads);

const at = (path: string, step: string | number): string =>
  path === "" ? String(step) : `${path}.${step}`;

/** The first thing that is said of any entry. */
function first<T>(
  entries: Iterable<T>,
  said: (entry: T) => string | undefined,
): string | undefined {
  for (const entry of entries) {
    const text = said(entry);
    if (text !== undefined) return text;
  }
  return undefined;
}

const fits = (kind: string, value: unknown): boolean => {
  if (kind === "number") return Number.isFinite(value);
  if (kind === "time") return Math.abs(Number.isFinite(value) ? Number(value) : Infinity) <= latest;
  if (kind === "scalar") return ["string", "number", "boolean"].includes(typeof value);
  if (kind === "flag") return typeof value === "boolean";
  if (kind === "id") return typeof value === "string" && value !== "";
  return typeof value === "string" && (kind === "text" || kind === `=${value}`);
};

/** Seconds that a date can hold. */
const latest = 8.64e12;

const words: Readonly<Record<string, string>> = {
  flag: "true or false",
  id: "an id",
  number: "a number",
  time: "a time",
  scalar: "a single value",
};
const wordFor = (kind: string): string =>
  kind.startsWith("=") ? JSON.stringify(kind.slice(1)) : (words[kind] ?? kind);

function found(value: unknown): string {
  if (value === undefined) return "is missing";
  if (value === null) return "is null";
  if (value === "") return "is empty";
  if (Array.isArray(value)) return "is a list";
  return `is ${{ string: "text", object: "an object", boolean: String(value) }[typeof value as string] ?? "a number"}`;
}
