import { isObject } from "../../lib/json.ts";
import { countCharacters, counted } from "../../lib/text.ts";
import { HttpError } from "./errors.ts";

/** The rule for a value: a shape of the operations table, with lengths of text and lists. */
export interface Rule {
  readonly kind: "any" | "flag" | "number" | "integer" | "text" | "list" | "object";
  readonly required?: true;
  /** May be undefined, but not null. */
  readonly filled?: true;
  readonly choices?: readonly string[];
  /** Characters of a text, or items of a list. */
  readonly length?: readonly [min: number, max?: number];
  readonly range?: readonly [min: number, max: number];
  readonly of?: Rule;
  readonly fields?: Readonly<Record<string, Rule>>;
}

export function validateFields(
  rules: Readonly<Record<string, Rule>>,
  value: Readonly<Record<string, unknown>>,
  path: string,
): ValidationProblem[] {
  return Object.entries(rules).flatMap(([name, rule]) => {
    const field = path === "" ? name : `${path}.${name}`;
    if (value[name] !== undefined) return validate(rule, value[name], field);
    return rule.required ? [{ field, type: "missing", value }] : [];
  });
}

/** Returns the problems of a value, or of its fields or items. */
export function validate(rule: Rule, value: unknown, field: string): ValidationProblem[] {
  // Optional fields of the server's models accept null, unless they have a default value.
  if (value === null && !rule.required && !rule.filled) return [];
  const problem = checks[rule.kind](value, rule);
  if (problem) return [{ field, value, ...problem }];
  if (isObject(value)) return validateFields(rule.fields ?? {}, value, field);
  if (!Array.isArray(value) || !rule.of) return [];
  // Fields may be null, items of lists may not.
  const item: Rule = { ...rule.of, required: true };
  return value.flatMap((each, index) => validate(item, each, `${field}.${index}`));
}

/** The problem of a value by the kind of its rule; fields and items are checked on their own. */
const checks: Record<Rule["kind"], (value: unknown, rule: Rule) => Problem | undefined> = {
  any: () => undefined,
  text: checkText,
  flag: checkFlag,
  number: checkNumber,
  integer: checkNumber,
  list: checkList,
  object: (value) => (isObject(value) ? undefined : { type: "dict_type" }),
};

function checkText(value: unknown, { choices, length }: Rule): Problem | undefined {
  if (choices) {
    if (choices.some((choice) => choice === value)) return undefined;
    return { type: "literal_error", reason: `Input should be ${joinChoices(choices)}` };
  }
  if (typeof value !== "string") return { type: "string_type" };
  const limit = exceededLimit(countCharacters(value), length, "character");
  return limit && { type: `string_${limit.type}`, reason: `String should have ${limit.text}` };
}

function checkList(value: unknown, { length }: Rule): Problem | undefined {
  if (!Array.isArray(value)) return { type: "list_type" };
  const limit = exceededLimit(value.length, length, "item");
  const reason = `List should have ${limit?.text} after validation, not ${value.length}`;
  return limit && { type: limit.type, reason };
}

/** Returns the limit that a length exceeds, e.g. "at most 1 item". */
function exceededLimit(
  length: number,
  [min, max = Infinity]: Rule["length"] & {} = [0],
  noun: string,
): { readonly type: string; readonly text: string } | undefined {
  if (length < min) return { type: "too_short", text: `at least ${counted(min, noun)}` };
  if (length > max) return { type: "too_long", text: `at most ${counted(max, noun)}` };
  return undefined;
}

function checkFlag(value: unknown): Problem | undefined {
  if (typeof value === "boolean" || value === 0 || value === 1) return undefined;
  if (typeof value !== "string") return { type: "bool_type" };
  const isWord = /^(true|false|t|f|yes|no|y|n|on|off|1|0)$/i.test(value);
  return isWord ? undefined : { type: "bool_parsing" };
}

/** Accepts text with a number. */
function checkNumber(value: unknown, { kind, range }: Rule): Problem | undefined {
  const prefix = kind === "integer" ? "int" : "float";
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  const isWhole = kind === "number" || Number.isInteger(number);
  if (typeof value === "string" && !(Number.isFinite(number) && isWhole)) {
    return { type: `${prefix}_parsing` as const };
  }
  if (typeof number !== "number") return { type: `${prefix}_type` as const };
  if (!isWhole) return { type: "int_from_float" };
  const [min, max] = range ?? [-Infinity, Infinity];
  const reason = "Input should be";
  if (number < min) {
    return { type: "greater_than_equal", reason: `${reason} greater than or equal to ${min}` };
  }
  if (number > max) {
    return { type: "less_than_equal", reason: `${reason} less than or equal to ${max}` };
  }
  return undefined;
}

/** Formats choices as `'a', 'b' or 'c'`. */
function joinChoices(choices: readonly string[]): string {
  const quoted = choices.map((choice) => `'${choice}'`);
  const last = quoted.pop() ?? "";
  return quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`;
}

/** pydantic's fixed error texts by error type. */
const REASONS = {
  missing: "Field required",
  string_type: "Input should be a valid string",
  bool_type: "Input should be a valid boolean",
  bool_parsing: "Input should be a valid boolean, unable to interpret input",
  int_type: "Input should be a valid integer",
  int_parsing: "Input should be a valid integer, unable to parse string as an integer",
  int_from_float: "Input should be a valid integer, got a number with a fractional part",
  float_type: "Input should be a valid number",
  float_parsing: "Input should be a valid number, unable to parse string as a number",
  list_type: "Input should be a valid list",
  dict_type: "Input should be a valid dictionary",
  model_attributes_type: "Input should be a valid dictionary or object to extract fields from",
} as const;

/** What is wrong with a value; `reason` is required for types without a fixed text. */
export type Problem =
  | { readonly type: keyof typeof REASONS; readonly reason?: undefined }
  | { readonly type: string; readonly reason: string };

/** An invalid field by its dotted path, which is empty for the body itself. */
export type ValidationProblem = Problem & { readonly field: string; readonly value: unknown };

/** The error of a body, query or response that does not fit its model (server §3). */
export function validationError(
  model: string,
  ...problems: readonly ValidationProblem[]
): HttpError {
  const errors = problems.length === 1 ? "error" : "errors";
  const lines = problems.flatMap((problem) => {
    const { field, type, value } = problem;
    const reason = problem.reason ?? REASONS[problem.type];
    return [
      ...(field === "" ? [] : [field]),
      `  ${reason} [type=${type}, input_value=${pythonRepr(value)}, input_type=${pythonType(value)}]`,
      `    For further information visit https://errors.pydantic.dev/2.12/v/${type}`,
    ];
  });
  const text = [`${problems.length} validation ${errors} for ${model}`, ...lines].join("\n");
  return new HttpError(400, "invalid_param", text);
}

/** Formats a value like Python's repr(); long ones lose their middle, as in pydantic's errors. */
export function pythonRepr(value: unknown): string {
  const text = pythonText(value);
  const characters = [...text];
  if (characters.length <= 50) return text;
  return `${characters.slice(0, 25).join("")}...${characters.slice(-24).join("")}`;
}

/** Formats a value like Python's repr(), whole. */
export function pythonText(value: unknown): string {
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return quote(value);
  if (Array.isArray(value)) return `[${value.map(pythonText).join(", ")}]`;
  if (typeof value !== "object" || value === null) return String(value ?? "None");
  const fields = Object.entries(value).map(
    ([name, field]) => `${quote(name)}: ${pythonText(field)}`,
  );
  return `{${fields.join(", ")}}`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\0": "\\x00",
};

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(/[\\\n\r\t\0]/g, (character) => ESCAPES[character] ?? character);
  return `${mark}${mark === "'" ? escaped.replaceAll("'", "\\'") : escaped}${mark}`;
}

const TYPES: Readonly<Record<string, string>> = { string: "str", boolean: "bool", object: "dict" };

/** The Python type of a value: `str`, `dict` and so on. */
export function pythonType(value: unknown): string {
  if (value === null || value === undefined) return "NoneType";
  if (Array.isArray(value)) return "list";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  return TYPES[typeof value] ?? "dict";
}
