import { isObject } from "../../lib/json.ts";
import { countCharacters } from "../knowledge/characters.ts";
import type { AnyOperation, Param } from "../../operations/operation.ts";
import { HttpError } from "./handler.ts";
import { requestModel, type Rule } from "./request-models.ts";
import { pythonRepr, pythonType } from "./python-repr.ts";

/** An invalid field. */
export interface ValidationProblem {
  /** Dotted path; empty for the body itself. */
  readonly field: string;
  readonly reason: string;
  /** Error type of pydantic. */
  readonly type: string;
  readonly value: unknown;
}

/** Formats the error text of a body or query that does not fit its model (server §3). */
function validationText(model: string, problems: readonly ValidationProblem[]): string {
  const errors = problems.length === 1 ? "error" : "errors";
  const lines = problems.flatMap(({ field, reason, type, value }) => [
    ...(field === "" ? [] : [field]),
    `  ${reason} [type=${type}, input_value=${pythonRepr(value)}, input_type=${pythonType(value)}]`,
    `    For further information visit https://errors.pydantic.dev/2.12/v/${type}`,
  ]);
  return [`${problems.length} validation ${errors} for ${model}`, ...lines].join("\n");
}

export const validationError = (
  model: string,
  ...problems: readonly ValidationProblem[]
): HttpError => new HttpError(400, "invalid_param", validationText(model, problems));

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
    return [{ field, reason: "Field required", type: "missing", value }];
  });
}

function validateValue(rule: Rule, value: unknown, field: string): ValidationProblem[] {
  const problem = (reason: string, type: string): ValidationProblem[] => [
    { field, reason, type, value },
  ];
  // Optional fields of the server's models accept null, unless they have a default value.
  if (value === null && !rule.required && !("filled" in rule)) return [];
  switch (rule.kind) {
    case "any":
      return [];
    case "text": {
      if (rule.choices) {
        if (rule.choices.some((choice) => choice === value)) return [];
        return problem(`Input should be ${joinChoices(rule.choices)}`, "literal_error");
      }
      if (typeof value !== "string")
        return problem("Input should be a valid string", "string_type");
      const [min, max] = rule.length ?? [0, Infinity];
      const length = countCharacters(value);
      if (length < min) {
        return problem(
          `String should have at least ${pluralize(min, "character")}`,
          "string_too_short",
        );
      }
      if (length > max) {
        return problem(
          `String should have at most ${pluralize(max, "character")}`,
          "string_too_long",
        );
      }
      return [];
    }
    case "flag":
      if (isFlag(value)) return [];
      return typeof value === "string"
        ? problem("Input should be a valid boolean, unable to interpret input", "bool_parsing")
        : problem("Input should be a valid boolean", "bool_type");
    case "number":
    case "integer":
      return validateNumber(rule.kind, value, problem);
    case "list": {
      if (!Array.isArray(value)) return problem("Input should be a valid list", "list_type");
      const [min, max] = rule.length ?? [0, Infinity];
      const ends = `after validation, not ${value.length}`;
      if (value.length < min) {
        return problem(`List should have at least ${pluralize(min, "item")} ${ends}`, "too_short");
      }
      if (value.length > max) {
        return problem(`List should have at most ${pluralize(max, "item")} ${ends}`, "too_long");
      }
      // Fields may be null, items of lists may not.
      const of: Rule = { ...rule.of, required: true };
      return value.flatMap((item, index) => validateValue(of, item, `${field}.${index}`));
    }
    case "object":
      if (!isObject(value)) return problem("Input should be a valid dictionary", "dict_type");
      return validateFields(rule.fields ?? {}, value, field);
  }
}

/** Accepts text with a number; does not check the bounds of a shape. */
function validateNumber(
  kind: "integer" | "number",
  value: unknown,
  problem: (reason: string, type: string) => ValidationProblem[],
): ValidationProblem[] {
  const word = kind === "integer" ? "integer" : "number";
  const short = kind === "integer" ? "int" : "float";
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof value === "string" && !Number.isFinite(number)) {
    const detail = `unable to parse string as ${word === "integer" ? "an integer" : "a number"}`;
    return problem(`Input should be a valid ${word}, ${detail}`, `${short}_parsing`);
  }
  if (typeof number !== "number")
    return problem(`Input should be a valid ${word}`, `${short}_type`);
  if (kind === "integer" && !Number.isInteger(number)) {
    const detail = "got a number with a fractional part";
    return problem(`Input should be a valid integer, ${detail}`, "int_from_float");
  }
  return [];
}

const isFlag = (value: unknown) =>
  typeof value === "boolean" ||
  value === 0 ||
  value === 1 ||
  (typeof value === "string" && /^(true|false|t|f|yes|no|y|n|on|off|1|0)$/i.test(value));

const pluralize = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** Formats choices as `'a', 'b' or 'c'`. */
function joinChoices(choices: readonly string[]): string {
  const quoted = choices.map((choice) => `'${choice}'`);
  const last = quoted.pop() ?? "";
  return quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`;
}
