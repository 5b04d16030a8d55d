import { counted } from "../../lib/plural.ts";
import { isObject } from "../../lib/json.ts";
import { countCharacters } from "../../lib/utf8.ts";
import type { AnyOperation, Param } from "../../operations/operation.ts";
import { HttpError } from "./handler.ts";
import { type Problem, validationError, type ValidationProblem } from "./pydantic.ts";
import { looseParams, requestModel, type Rule } from "../http/request-models.ts";

/** Validates a body or the JSON part of a form by the rows that share the route of `row`; throws HttpError with the server's text. */
export function checkBody(row: AnyOperation, rows: readonly AnyOperation[], body: unknown): void {
  const model = requestModel(row.id);
  const reason = `Input should be a valid dictionary or instance of ${model.body}`;
  const problems = isObject(body)
    ? // The fields of the model come first, in its order.
      validateFields({ ...model.fields, ...bodyRules(rows), ...model.fields }, body, "")
    : [{ field: "", value: body, type: "model_type", reason }];
  if (problems.length === 0) return;
  const error = validationError(model.body, ...problems);
  // One route has its own error format (server §3).
  throw model.bare ? new HttpError(400, "", "", { error: error.message }) : error;
}

/** Validates the choices of a query; handlers parse the numbers. */
export function checkQuery(row: AnyOperation, query: URLSearchParams): void {
  const model = requestModel(row.id).query;
  if (model === undefined) return;
  const problems = Object.entries(row.params).flatMap(([name, param]) => {
    const value = query.get(name);
    return param.in === "query" && value !== null ? validate(paramRule(param), value, name) : [];
  });
  if (problems.length > 0) throw validationError(model, ...problems);
}

/** Rules of the body fields of rows that share a route; their constants are the choices. */
function bodyRules(rows: readonly AnyOperation[]): Record<string, Rule> {
  const rules: Record<string, Rule> = {};
  for (const row of rows) {
    for (const [name, param] of Object.entries(row.params)) {
      const isJsonField = param.in === "body" || param.in === "data";
      // A dotted name is part of an object with a rule of its own.
      if (isJsonField && !name.includes(".")) rules[name] = looseParams[name] ?? paramRule(param);
    }
    for (const name of bodyConstants(row)) {
      const choices = rows.flatMap((each) => each.fixed?.[name] ?? []).sort();
      rules[name] = { kind: "text", choices };
    }
  }
  return rules;
}

/** Names of the constants that a row sends in its body. */
export const bodyConstants = ({ fixed = {}, route }: AnyOperation) =>
  Object.keys(fixed).filter((name) => !route.includes(`{${name}}`));

/** Kinds of rules by kind of parameter; others are texts. */
const KINDS: { readonly [Kind in Param["kind"]]?: Rule["kind"] } = {
  integer: "integer",
  number: "number",
  duration: "number",
  flag: "flag",
  json: "any",
};

function paramRule({ kind, many, required, length, choices, shape }: Param): Rule {
  const rule: Rule = { kind: KINDS[kind] ?? "text", ...(choices && { choices }), ...shape };
  return {
    ...(many ? { kind: "list", of: { kind: "text" } } : rule),
    ...(required && { required }),
    ...(length && { length }),
  };
}

function validateFields(
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
