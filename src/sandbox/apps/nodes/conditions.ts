import type { Variables } from "../records/runs-store.ts";
import { outputText, variableAt } from "../records/templates.ts";
import type { Condition } from "../definitions/node-types.ts";

/** The comparisons that the server knows, by their names; texts are compared as such. */
const operators: Readonly<Record<string, (actual: unknown, expected: unknown) => boolean>> = {
  contains: (a, b) => (Array.isArray(a) ? a.includes(b) : outputText(a).includes(outputText(b))),
  "not contains": (a, b) =>
    !(Array.isArray(a) ? a.includes(b) : outputText(a).includes(outputText(b))),
  "start with": (a, b) => outputText(a).startsWith(outputText(b)),
  "end with": (a, b) => outputText(a).endsWith(outputText(b)),
  is: (a, b) => outputText(a) === outputText(b),
  "is not": (a, b) => outputText(a) !== outputText(b),
  empty: (a) => isEmpty(a),
  "not empty": (a) => !isEmpty(a),
  "=": (a, b) => Number(a) === Number(b),
  "≠": (a, b) => Number(a) !== Number(b),
  ">": (a, b) => Number(a) > Number(b),
  "<": (a, b) => Number(a) < Number(b),
  "≥": (a, b) => Number(a) >= Number(b),
  "≤": (a, b) => Number(a) <= Number(b),
};

const isEmpty = (value: unknown) =>
  value === null || value === "" || (Array.isArray(value) && value.length === 0);

/** Reports whether a condition holds; an unknown comparison never does. */
export const holds = (
  variables: Variables,
  { variable_selector, comparison_operator, value }: Condition,
): boolean =>
  operators[comparison_operator]?.(variableAt(variables, variable_selector), value) ?? false;

/** Joins the results of conditions; there must be one. */
export const joined = (results: readonly boolean[], by: "and" | "or" = "and"): boolean =>
  results.length > 0 && (by === "and" ? results.every(Boolean) : results.some(Boolean));
