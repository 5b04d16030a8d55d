import { CliError } from "../errors.ts";
import { isObject } from "../lib/json.ts";
import type { RequiredFields } from "../operations/operation.ts";

/** The first missing or mistyped field of a value, with its path; undefined if all are valid. */
export function problemIn(
  fields: RequiredFields,
  value: unknown,
  path: string,
): string | undefined {
  if (typeof fields === "string") {
    if (fits(fields, value)) return undefined;
    const found = fields.startsWith("=") && value ? `is ${JSON.stringify(value)}` : describe(value);
    return `${path || "it"} ${found}, not ${wordFor(fields)}`;
  }
  if (isList(fields)) {
    if (!Array.isArray(value)) return `${path || "it"} ${describe(value)}, not a list`;
    const [each] = fields;
    return first(value.entries(), ([index, item]) => problemIn(each, item, at(path, index)));
  }
  if (!isObject(value)) return `${path || "it"} ${describe(value)}, not an object`;
  const each = fields["*"];
  if (each)
    return first(Object.entries(value), ([name, one]) => problemIn(each, one, at(path, name)));
  return first(Object.entries(fields), ([name, inner]) => {
    const field = name.replace(/\?$/, "");
    const present = value[field] ?? undefined;
    if (present === undefined && field !== name) return undefined;
    return problemIn(inner, value[field], at(path, field));
  });
}

/** A value that is optional in general and required here. Throws `failure`. */
export function requireField<T>(value: T | null | undefined, name: string): T {
  if (value !== undefined && value !== null) return value;
  throw invalidResponse(`${name} ${describe(value)}`);
}

/** The error for a response without the fields that the code depends on. */
export const invalidResponse = (problem: string) =>
  new CliError("failure", `invalid response: ${problem}`, { code: "invalid-response" });

const isList = (fields: RequiredFields): fields is readonly [RequiredFields] =>
  Array.isArray(fields);

const at = (path: string, step: string | number): string =>
  path === "" ? String(step) : `${path}.${step}`;

/** The first problem of any entry. */
function first<T>(
  entries: Iterable<T>,
  check: (entry: T) => string | undefined,
): string | undefined {
  for (const entry of entries) {
    const problem = check(entry);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const fits = (kind: string, value: unknown): boolean => {
  if (kind === "number") return Number.isFinite(value);
  if (kind === "time")
    return Math.abs(Number.isFinite(value) ? Number(value) : Infinity) <= MAX_SECOND;
  if (kind === "scalar") return ["string", "number", "boolean"].includes(typeof value);
  if (kind === "flag") return typeof value === "boolean";
  if (typeof value !== "string") return false;
  if (kind === "id" || kind === "name") return value !== "";
  return kind === "text" || choicesOf(kind).includes(value);
};

/** The texts that `=a|b` allows. */
const choicesOf = (kind: string): string[] => kind.slice(1).split("|");

/** The last second of a JavaScript date. */
const MAX_SECOND = 8.64e12;

const words: Readonly<Record<string, string>> = {
  flag: "true or false",
  id: "an ID",
  name: "a name",
  number: "a number",
  time: "a time",
  scalar: "a single value",
};
const wordFor = (kind: string): string => {
  if (!kind.startsWith("=")) return words[kind] ?? kind;
  const choices = choicesOf(kind);
  return choices.length === 1 ? JSON.stringify(choices[0]) : `one of ${choices.join(", ")}`;
};

function describe(value: unknown): string {
  if (value === undefined) return "is missing";
  if (value === null) return "is null";
  if (value === "") return "is empty";
  if (Array.isArray(value)) return "is a list";
  return `is ${{ string: "text", object: "an object", boolean: String(value) }[typeof value as string] ?? "a number"}`;
}
