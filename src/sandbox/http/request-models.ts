import type { AnyOperation, Param } from "../../operations/operation.ts";
import data from "./request-models.json" with { type: "json" };
import { type Rule, validationError, validate, validateFields } from "../protocol/validation.ts";
import { isObject } from "../../lib/json.ts";
import { HttpError } from "../protocol/errors.ts";

/** The server's name for a request body, and where its checks differ from the operations table. */
interface RequestModel {
  readonly body: string;
  /** Name of the query model; undefined if the server does not check the choices of the query. */
  readonly query?: string;
  /**
   * Rules that override those of the row: names that are too long are truncated, not rejected, or
   * have another error text, like an empty query (server §11).
   */
  readonly fields?: Readonly<Record<string, Rule>>;
  /** The error response is `{error}` only. */
  readonly bare?: true;
  /** The end user is checked first (server §2). */
  readonly user?: true;
}

// The types of JSON have no literals.
const { models, params } = data as unknown as {
  /** By operation ID; error texts contain the names (server §3). */
  readonly models: Readonly<Record<string, RequestModel>>;
  readonly params: Readonly<Record<string, Rule>>;
};

/** Parameters of which the models check less than the operations table (server §6). */
export const looseParams = params;

/** Returns the model of an operation; unknown names are formed like the recorded ones. */
export const requestModel = (operationId: string): RequestModel =>
  models[operationId] ?? {
    body: `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Payload`,
  };

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
