import { isObject } from "../../lib/json.ts";
import { countCharacters } from "../knowledge/characters.ts";
import type { AnyOperation, Param, Shape } from "../../operations/operation.ts";
import { HttpError } from "./handler.ts";
import { requestModel } from "./request-models.ts";
import { pythonRepr, pythonType } from "./python-repr.ts";

/** What a value must look like; like the shapes of the table, with lengths of texts. */
export type Rule =
  | Exclude<Shape, { readonly kind: "text" | "list" | "object" }>
  | {
      readonly kind: "text";
      readonly required?: true;
      readonly choices?: readonly string[];
      readonly length?: readonly [number, number];
    }
  | {
      readonly kind: "list";
      readonly required?: true;
      readonly of: Rule;
      readonly length?: readonly [number, number];
      /** May be absent, not null. */
      readonly filled?: true;
    }
  | {
      readonly kind: "object";
      readonly required?: true;
      readonly fields?: Readonly<Record<string, Rule>>;
    };

/** One refused field: where it is, why, and the value that was sent. */
export interface ValidationProblem {
  /** Dotted; empty for the whole body. */
  readonly field: string;
  readonly reason: string;
  /** The server's word for the kind of mistake. */
  readonly type: string;
  readonly value: unknown;
}

/** Text of the server's refusal of a body or query that does not fit a model (server §3). */
function validationText(model: string, findings: readonly ValidationProblem[]): string {
  const errors = findings.length === 1 ? "error" : "errors";
  const lines = findings.flatMap(({ field, reason, type, value }) => [
    ...(field === "" ? [] : [field]),
    `  ${reason} [type=${type}, input_value=${pythonRepr(value)}, input_type=${pythonType(value)}]`,
    `    For further information visit https://errors.pydantic.dev/2.12/v/${type}`,
  ]);
  return [`${findings.length} validation ${errors} for ${model}`, ...lines].join("\n");
}

export const validationError = (
  model: string,
  ...findings: readonly ValidationProblem[]
): HttpError => new HttpError(400, "invalid_param", validationText(model, findings));

/** Checks what a body or the JSON part of a form holds; throws Refused with the server's text. */
export function checkBody(rows: readonly AnyOperation[], body: unknown): void {
  const [row] = rows;
  if (!row) return;
  const model = requestModel(row.id);
  const findings = isObject(body)
    ? findingsIn({ ...bodyRules(rows), ...model.fields }, body, "")
    : [wholeBody(model.body, body)];
  if (findings.length === 0) return;
  const refused = validationError(model.body, ...findings);
  // This one route has its own way of telling (server §3).
  throw model.bare ? new HttpError(400, "", "", { error: refused.message }) : refused;
}

/** Checks the choices of a query; numbers are the handlers' own affair. */
export function checkQuery(row: AnyOperation, query: URLSearchParams): void {
  const model = requestModel(row.id).query;
  if (model === undefined) return;
  const findings = Object.entries(row.params).flatMap(([name, param]) => {
    const value = query.get(name);
    if (param.in !== "query" || value === null) return [];
    return findingsOf(ruleOf(param), value, name);
  });
  if (findings.length > 0) throw validationError(model, ...findings);
}

/** Rules of the fields that rows of one route take; what they set as constants are choices. */
function bodyRules(rows: readonly AnyOperation[]): Record<string, Rule> {
  const rules: Record<string, Rule> = {};
  for (const { params, fixed = {}, route } of rows) {
    for (const [name, param] of Object.entries(params)) {
      const sentInJson = param.in === "body" || param.in === "data";
      // A dotted name is a part of the object that another rule describes.
      if (sentInJson && !name.includes(".")) rules[name] = ruleOf(param);
    }
    for (const name of Object.keys(fixed).filter((each) => !route.includes(`{${each}}`))) {
      const choices = rows.flatMap((each) => each.fixed?.[name] ?? []).sort();
      rules[name] = { kind: "text", choices };
    }
  }
  return rules;
}

function ruleOf(param: Param): Rule {
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

const wholeBody = (model: string, value: unknown): ValidationProblem => ({
  field: "",
  reason: `Input should be a valid dictionary or instance of ${model}`,
  type: "model_type",
  value,
});

function findingsIn(
  rules: Readonly<Record<string, Rule>>,
  value: Readonly<Record<string, unknown>>,
  path: string,
): ValidationProblem[] {
  return Object.entries(rules).flatMap(([name, rule]) => {
    const field = path === "" ? name : `${path}.${name}`;
    const given = value[name];
    if (given !== undefined) return findingsOf(rule, given, field);
    if (!rule.required) return [];
    return [{ field, reason: "Field required", type: "missing", value }];
  });
}

function findingsOf(rule: Rule, value: unknown, field: string): ValidationProblem[] {
  const found = (reason: string, type: string): ValidationProblem[] => [
    { field, reason, type, value },
  ];
  // Optional fields of the server's models all take null; those with a default of their own do not.
  if (value === null && !rule.required && !("filled" in rule)) return [];
  switch (rule.kind) {
    case "any":
      return [];
    case "text": {
      if (rule.choices) {
        if (rule.choices.some((choice) => choice === value)) return [];
        return found(`Input should be ${listed(rule.choices)}`, "literal_error");
      }
      if (typeof value !== "string") return found("Input should be a valid string", "string_type");
      const [least, most] = rule.length ?? [0, Infinity];
      const length = countCharacters(value);
      if (length < least) {
        return found(
          `String should have at least ${counted(least, "character")}`,
          "string_too_short",
        );
      }
      if (length > most) {
        return found(`String should have at most ${counted(most, "character")}`, "string_too_long");
      }
      return [];
    }
    case "flag":
      if (isFlag(value)) return [];
      return typeof value === "string"
        ? found("Input should be a valid boolean, unable to interpret input", "bool_parsing")
        : found("Input should be a valid boolean", "bool_type");
    case "number":
    case "integer":
      return numberFindings(rule.kind, value, found);
    case "list": {
      if (!Array.isArray(value)) return found("Input should be a valid list", "list_type");
      const [least, most] = rule.length ?? [0, Infinity];
      const ends = `after validation, not ${value.length}`;
      if (value.length < least) {
        return found(`List should have at least ${counted(least, "item")} ${ends}`, "too_short");
      }
      if (value.length > most) {
        return found(`List should have at most ${counted(most, "item")} ${ends}`, "too_long");
      }
      // Only fields may be null, items of lists never.
      const of: Rule = { ...rule.of, required: true };
      return value.flatMap((item, index) => findingsOf(of, item, `${field}.${index}`));
    }
    case "object":
      if (!isObject(value)) return found("Input should be a valid dictionary", "dict_type");
      return findingsIn(rule.fields ?? {}, value, field);
  }
}

/** Texts that hold a number pass for one; the bounds that some shapes tell nobody checks here. */
function numberFindings(
  kind: "integer" | "number",
  value: unknown,
  found: (reason: string, type: string) => ValidationProblem[],
): ValidationProblem[] {
  const word = kind === "integer" ? "integer" : "number";
  const short = kind === "integer" ? "int" : "float";
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof value === "string" && !Number.isFinite(number)) {
    const tail = `unable to parse string as ${word === "integer" ? "an integer" : "a number"}`;
    return found(`Input should be a valid ${word}, ${tail}`, `${short}_parsing`);
  }
  if (typeof number !== "number") return found(`Input should be a valid ${word}`, `${short}_type`);
  if (kind === "integer" && !Number.isInteger(number)) {
    const tail = "got a number with a fractional part";
    return found(`Input should be a valid integer, ${tail}`, "int_from_float");
  }
  return [];
}

const isFlag = (value: unknown) =>
  typeof value === "boolean" ||
  value === 0 ||
  value === 1 ||
  (typeof value === "string" && /^(true|false|t|f|yes|no|y|n|on|off|1|0)$/i.test(value));

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** `'a', 'b' or 'c'`. */
function listed(choices: readonly string[]): string {
  const quoted = choices.map((choice) => `'${choice}'`);
  const last = quoted.pop() ?? "";
  return quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`;
}
