import { CliError } from "../errors.ts";
import { isObject } from "../lib/json.ts";
import type { RequiredFields } from "../operations/operation.ts";

/** The first missing or mistyped field of a value, with its path below `path`; undefined if all are valid. */
export function problemIn(
  fields: RequiredFields,
  value: unknown,
  path: string,
): string | undefined {
  const problem = checkFor(fields)(value);
  return problem && `${problem.steps.reduce(at, path) || "it"} ${problem.found}`;
}

/** What is wrong with a part of a value, and where the part is. */
interface Problem {
  readonly steps: readonly string[];
  readonly found: string;
}

type Check = (value: unknown) => Problem | undefined;

/** The checks that were made: to read the fields for each row took eight times as long. */
const checks = new WeakMap<object, Check>();

function checkFor(fields: RequiredFields): Check {
  if (typeof fields === "string") return kindCheck(fields);
  const known = checks.get(fields);
  if (known) return known;
  const check = isList(fields) ? listCheck(checkFor(fields[0])) : objectCheck(fields);
  checks.set(fields, check);
  return check;
}

function kindCheck(kind: string): Check {
  const choices = choicesOf(kind);
  const fits = kinds[kind] ?? ((value) => typeof value === "string" && choices.includes(value));
  return (value) => {
    if (fits(value)) return undefined;
    const found = kind.startsWith("=") && value ? `is ${JSON.stringify(value)}` : describe(value);
    return { steps: [], found: `${found}, not ${wordFor(kind)}` };
  };
}

const listCheck =
  (each: Check): Check =>
  (value) => {
    if (!Array.isArray(value)) return { steps: [], found: `${describe(value)}, not a list` };
    for (let index = 0; index < value.length; index++) {
      const problem = each(value[index]);
      if (problem) return below(String(index), problem);
    }
    return undefined;
  };

function objectCheck(fields: Readonly<Record<string, RequiredFields>>): Check {
  const { "*": every, ...named } = fields;
  const each = every && checkFor(every);
  const parts = Object.entries(named).map(([name, inner]) => {
    const field = name.replace(/\?$/, "");
    return { field, optional: field !== name, check: checkFor(inner) };
  });
  return (value) => {
    if (!isObject(value)) return { steps: [], found: `${describe(value)}, not an object` };
    if (each) {
      for (const name of Object.keys(value)) {
        const problem = each(value[name]);
        if (problem) return below(name, problem);
      }
      return undefined;
    }
    for (const { field, optional, check } of parts) {
      const part = value[field];
      if (optional && (part === undefined || part === null)) continue;
      const problem = check(part);
      if (problem) return below(field, problem);
    }
    return undefined;
  };
}

const at = (path: string, step: string): string => (path === "" ? step : `${path}.${step}`);

const below = (step: string, { steps, found }: Problem): Problem => ({
  steps: [step, ...steps],
  found,
});

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

const isText = (value: unknown): value is string => typeof value === "string";
const isFilled = (value: unknown): boolean => isText(value) && value !== "";

/** Whether a value is of a kind; any other kind is a choice of texts. */
const kinds: Readonly<Record<string, (value: unknown) => boolean>> = {
  number: Number.isFinite,
  time: (value) => Number.isFinite(value) && Math.abs(Number(value)) <= MAX_SECOND,
  scalar: (value) => ["string", "number", "boolean"].includes(typeof value),
  flag: (value) => typeof value === "boolean",
  text: isText,
  id: isFilled,
  name: isFilled,
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
