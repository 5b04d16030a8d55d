import { isObject, jsonOrText, stringifyJson } from "../../lib/json.ts";
import { countCharacters, counted } from "../../lib/text.ts";
import { HttpError } from "./response.ts";
import texts from "./validation-errors.json" with { type: "json" };
import { atLeast } from "../../lib/version.ts";
import type { Call } from "./handler.ts";
import { isNumeric } from "../../lib/exact-number.ts";

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
  const found = checks[rule.kind](value, rule);
  if (found) return [{ field, value, ...found }];
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
  object: (value) => (isObject(value) ? undefined : problem("dict_type")),
};

function checkText(value: unknown, { choices, length: [min, max = Infinity] = [0] }: Rule) {
  if (choices?.some((choice) => choice === value)) return undefined;
  if (choices) return problem("literal_error", joinChoices(choices));
  if (typeof value !== "string") return problem("string_type");
  const length = countCharacters(value);
  if (length < min) return problem("string_too_short", counted(min, "character"));
  return length > max ? problem("string_too_long", counted(max, "character")) : undefined;
}

function checkList(value: unknown, { length: [min, max = Infinity] = [0] }: Rule) {
  if (!Array.isArray(value)) return problem("list_type");
  const { length } = value;
  const about = (limit: number) => `${counted(limit, "item")} after validation, not ${length}`;
  if (length < min) return problem("too_short", about(min));
  return length > max ? problem("too_long", about(max)) : undefined;
}

function checkFlag(value: unknown) {
  if (typeof value === "boolean" || value === 0 || value === 1) return undefined;
  if (typeof value !== "string") return problem("bool_type");
  const isWord = /^(true|false|t|f|yes|no|y|n|on|off|1|0)$/i.test(value);
  return isWord ? undefined : problem("bool_parsing");
}

function checkNumber(value: unknown, { kind, range: [min, max] = [-Infinity, Infinity] }: Rule) {
  const prefix = kind === "integer" ? "int" : "float";
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  const isWhole = kind === "number" || Number.isInteger(number);
  if (typeof value === "string" && !(Number.isFinite(number) && isWhole))
    return problem(`${prefix}_parsing`);
  if (typeof number !== "number") return problem(`${prefix}_type`);
  if (!isWhole) return problem("int_from_float");
  if (number < min) return problem("greater_than_equal", String(min));
  return number > max ? problem("less_than_equal", String(max)) : undefined;
}

/** Formats choices as `'a', 'b' or 'c'`. */
function joinChoices(choices: readonly string[]): string {
  const quoted = choices.map((choice) => `'${choice}'`);
  const last = quoted.pop() ?? "";
  return quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`;
}

/** What is wrong with a value: pydantic's type of the error, and what its text is about. */
interface Problem {
  readonly type: keyof typeof texts;
  readonly about?: string;
}

const problem = (type: Problem["type"], about = ""): Problem => ({ type, about });

/** An invalid field by its dotted path, which is empty for the body itself. */
export interface ValidationProblem extends Problem {
  readonly field: string;
  readonly value: unknown;
}

/** The error of a body, query or response that does not fit its model (server §3). */
export class InvalidInput extends HttpError {
  /** The same of servers after 1.17.1 (server §3.1). */
  readonly next: HttpError;

  constructor(model: string, problems: readonly ValidationProblem[], isBare = false) {
    const error = textOf(model, problems);
    super(400, "invalid_param", error, isBare ? { error } : undefined);
    const isResponse = model.endsWith("Response");
    this.next = isResponse ? this : new HttpError(422, "unprocessable_entity", listOf(problems));
  }
}

export const validationError = (model: string, ...problems: readonly ValidationProblem[]) =>
  new InvalidInput(model, problems);

function textOf(model: string, problems: readonly ValidationProblem[]): string {
  const errors = problems.length === 1 ? "error" : "errors";
  const lines = problems.flatMap((problem) => {
    const { field, type, value } = problem;
    return [
      ...(field === "" ? [] : [field]),
      `  ${reasonOf(problem)} [type=${type}, input_value=${pythonRepr(value)}, input_type=${pythonType(value)}]`,
      `    For further information visit ${pageOf(problem)}`,
    ];
  });
  return [`${problems.length} validation ${errors} for ${model}`, ...lines].join("\n");
}

function listOf(problems: readonly ValidationProblem[]): string {
  const list = problems.map((problem) => {
    const { type, field, value: input = null } = problem;
    const loc = field === "" ? [] : field.split(".").map(jsonOrText);
    return { type, loc, msg: reasonOf(problem), input, url: pageOf(problem) };
  });
  return stringifyJson(list);
}

const reasonOf = ({ type, about = "" }: Problem) => texts[type].replace("{about}", () => about);
const pageOf = ({ type }: Problem) => `https://errors.pydantic.dev/2.12/v/${type}`;

/** The error of a field, or of the body if it has no name, that the server's own check of a model rejects. */
export const valueError = (model: string, field: string, value: unknown, about: string) =>
  validationError(model, { field, type: "value_error", about, value });

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
  if (!isObject(value)) return String(value ?? "None");
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
  if (isNumeric(value))
    return typeof value === "bigint" || Number.isInteger(value) ? "int" : "float";
  return TYPES[typeof value] ?? "dict";
}

const defaults = { page: 1, limit: 20 };

/** The largest page and limit of lists without a bound of their own; no list is as long. */
const MAX_NUMBER = 2 ** 31 - 1;

/** Parses the page or the limit of the query; throws the server's text, which has the model (server §3). */
export function numberParam(
  query: URLSearchParams,
  model: string,
  name: keyof typeof defaults,
  [min, max]: readonly [min: number, max: number],
): number {
  const range = [min, Math.min(max, MAX_NUMBER)] as const;
  return Number(validParam(query, model, name, { kind: "integer", range }) ?? defaults[name]);
}

/** Throws HttpError for a flag of the query that is not a boolean; since 1.15 (server §5). */
export function checkFlagParam({ query, version }: Call, name: string, model: string): void {
  if (atLeast(version, "1.15.0")) validParam(query, model, name, { kind: "flag" });
}

function validParam(query: URLSearchParams, model: string, name: string, rule: Rule) {
  const text = query.get(name);
  const problems = text === null ? [] : validate(rule, text, name);
  if (problems.length > 0) throw validationError(model, ...problems);
  return text;
}

/** The page of a knowledge list. */
export interface PageParams {
  /** As requested, even below 1: the response echoes it, like the limit. */
  readonly page: number;
  readonly limit: number;
  readonly rows: number;
  readonly offset: number;
}

/** Parses page and limit with the server's quirks; rejects text (server §5). */
export function parsePage({ query, version }: Call, model: string): PageParams {
  const unbounded = [-Infinity, Infinity] as const;
  const page = numberParam(query, model, "page", unbounded);
  const limit = numberParam(query, model, "limit", unbounded);
  // A limit below 1 selects a default number of rows; one above 100 is reduced silently.
  const minRows = atLeast(version, "1.15.0") ? 1 : 20;
  const rows = limit < 1 ? minRows : Math.min(limit, 100);
  return { page, limit, rows, offset: (Math.max(page, 1) - 1) * rows };
}

/** Fields beside the rows; `has_more` only compares the rows with the limit (server §5). */
export const pageFields = ({ page, limit }: PageParams, rows: number, total: number) => ({
  has_more: rows === limit,
  limit,
  total,
  page,
});
