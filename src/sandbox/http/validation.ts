import { isObject } from "../../lib/json.ts";
import { countCharacters } from "../knowledge/characters.ts";
import type { AnyOperation, Param } from "../../operations/operation.ts";
import { HttpError } from "./handler.ts";
import { isBooleanWord, validationError, type ValidationProblem } from "./pydantic.ts";
import { requestModel, type Rule } from "./request-models.ts";

/** Validates a body or the JSON part of a form; throws HttpError with the server's text. */
export function checkBody(rows: readonly AnyOperation[], body: unknown): void {
  const [row] = rows;
  if (!row) return;
  const model = requestModel(row.id);
  const problems = isObject(body)
    ? validateFields({ ...bodyRules(rows), ...model.fields }, body, "")
    : [notADictionary(model.body, body)];
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
    if (param.in !== "query" || value === null) return [];
    return validateValue(paramRule(param), value, name);
  });
  if (problems.length > 0) throw validationError(model, ...problems);
}

/** Rules of the body fields of rows that share a route; their constants are the choices. */
function bodyRules(rows: readonly AnyOperation[]): Record<string, Rule> {
  const rules: Record<string, Rule> = {};
  for (const { params, fixed = {}, route } of rows) {
    for (const [name, param] of Object.entries(params)) {
      const isJsonField = param.in === "body" || param.in === "data";
      // A dotted name is part of an object with a rule of its own.
      if (isJsonField && !name.includes(".")) rules[name] = paramRule(param);
    }
    for (const name of Object.keys(fixed).filter((each) => !route.includes(`{${each}}`))) {
      const choices = rows.flatMap((each) => each.fixed?.[name] ?? []).sort();
      rules[name] = { kind: "text", choices };
    }
  }
  return rules;
}

function paramRule(param: Param): Rule {
  const required = param.required && { required: param.required };
  const length = param.length && { length: param.length };
  if (param.many) return { kind: "list", of: { kind: "text" }, ...required, ...length };
  switch (param.kind) {
    case "integer":
      return { kind: "integer", ...required, ...(param.range && { range: param.range }) };
    case "number":
    case "duration":
      return { kind: "number", ...required };
    case "flag":
      return { kind: "flag", ...required };
    case "json":
      return { ...(param.shape ?? { kind: "any" }), ...required };
    default:
      return {
        kind: "text",
        ...required,
        ...length,
        ...(param.choices && { choices: param.choices }),
      };
  }
}

const notADictionary = (model: string, value: unknown): ValidationProblem => ({
  field: "",
  reason: `Input should be a valid dictionary or instance of ${model}`,
  type: "model_type",
  value,
});

function validateFields(
  rules: Readonly<Record<string, Rule>>,
  value: Readonly<Record<string, unknown>>,
  path: string,
): ValidationProblem[] {
  return Object.entries(rules).flatMap(([name, rule]) => {
    const field = path === "" ? name : `${path}.${name}`;
    const fieldValue = value[name];
    if (fieldValue !== undefined) return validateValue(rule, fieldValue, field);
    if (!rule.required) return [];
    return [{ field, type: "missing", value }];
  });
}

function validateValue(rule: Rule, value: unknown, field: string): ValidationProblem[] {
  // Optional fields of the server's models accept null, unless they have a default value.
  if (value === null && !rule.required && !("filled" in rule)) return [];
  const place = { field, value };
  switch (rule.kind) {
    case "any":
      return [];
    case "text":
      return validateText(rule, place);
    case "flag":
      if (isFlag(value)) return [];
      return [{ ...place, type: typeof value === "string" ? "bool_parsing" : "bool_type" }];
    case "number":
    case "integer":
      return validateNumber(rule.kind, place);
    case "list":
      return validateList(rule, place);
    case "object":
      if (!isObject(value)) return [{ ...place, type: "dict_type" }];
      return validateFields(rule.fields ?? {}, value, field);
  }
}

type Place = Pick<ValidationProblem, "field" | "value">;
type RuleOf<Kind> = Extract<Rule, { readonly kind: Kind }>;

function validateText({ choices, length }: RuleOf<"text">, place: Place): ValidationProblem[] {
  const { value } = place;
  if (choices) {
    if (choices.some((choice) => choice === value)) return [];
    const reason = `Input should be ${joinChoices(choices)}`;
    return [{ ...place, type: "literal_error", reason }];
  }
  if (typeof value !== "string") return [{ ...place, type: "string_type" }];
  const limit = exceededLimit(countCharacters(value), length, "character");
  if (limit === undefined) return [];
  return [{ ...place, type: `string_${limit.type}`, reason: `String should have ${limit.text}` }];
}

function validateList({ of, length }: RuleOf<"list">, place: Place): ValidationProblem[] {
  const { field, value } = place;
  if (!Array.isArray(value)) return [{ ...place, type: "list_type" }];
  const limit = exceededLimit(value.length, length, "item");
  if (limit !== undefined) {
    const reason = `List should have ${limit.text} after validation, not ${value.length}`;
    return [{ ...place, type: limit.type, reason }];
  }
  // Fields may be null, items of lists may not.
  const rule: Rule = { ...of, required: true };
  return value.flatMap((item, index) => validateValue(rule, item, `${field}.${index}`));
}

/** Returns the limit that a length exceeds, e.g. "at most 1 item". */
function exceededLimit(
  length: number,
  [min, max]: readonly [number, number] = [0, Infinity],
  noun: string,
): { readonly type: string; readonly text: string } | undefined {
  if (length < min) return { type: "too_short", text: `at least ${pluralize(min, noun)}` };
  if (length > max) return { type: "too_long", text: `at most ${pluralize(max, noun)}` };
  return undefined;
}

/** Accepts text with a number; does not check the bounds of a shape. */
function validateNumber(kind: "integer" | "number", place: Place): ValidationProblem[] {
  const { value } = place;
  const prefix = kind === "integer" ? "int" : "float";
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof value === "string" && !Number.isFinite(number)) {
    return [{ ...place, type: `${prefix}_parsing` as const }];
  }
  if (typeof number !== "number") return [{ ...place, type: `${prefix}_type` as const }];
  if (kind === "number" || Number.isInteger(number)) return [];
  return [{ ...place, type: "int_from_float" }];
}

const isFlag = (value: unknown) =>
  typeof value === "boolean" ||
  value === 0 ||
  value === 1 ||
  (typeof value === "string" && isBooleanWord(value));

const pluralize = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** Formats choices as `'a', 'b' or 'c'`. */
function joinChoices(choices: readonly string[]): string {
  const quoted = choices.map((choice) => `'${choice}'`);
  const last = quoted.pop() ?? "";
  return quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`;
}
