import { isObject, own } from "../../../lib/json.ts";
import { pythonText } from "../../protocol/validation.ts";
import type { Variables } from "./runs-store.ts";
import type { Selector } from "../definitions/app-definitions.ts";

/** The value of a selector; undefined as long as there is none. */
export function valueAtSelector(variables: Variables, [node, name, ...path]: Selector): unknown {
  const value = variables[node]?.[name];
  return path.reduce((inner, key) => (isObject(inner) ? own(inner, key) : undefined), value);
}

/** The value of a selector, or null. */
export const variableAt = (variables: Variables, selector: Selector): unknown =>
  valueAtSelector(variables, selector) ?? null;

/** Splits a text into fixed parts and selectors: `{{#node.name#}}`. Those of `$output` are fixed. */
export const templateParts = (template: string): (string | Selector)[] =>
  template.split(/(\{\{#[^.#$]+\.[^#]+#\}\})/).flatMap((part): (string | Selector)[] => {
    const [, node, names] = /^\{\{#([^.#$]+)\.([^#]+)#\}\}$/.exec(part) ?? [];
    const [name, ...path] = names?.split(".") ?? [];
    if (node !== undefined && name !== undefined) return [[node, name, ...path]];
    return part === "" ? [] : [part];
  });

/** Fills `{{#node.name#}}`; placeholders of inputs (`$output`) stay. */
export const renderTemplate = (template: string, variables: Variables): string =>
  templateParts(template)
    .map((part) => (typeof part === "string" ? part : outputText(variableAt(variables, part))))
    .join("");

/**
 * A value as text: each item of a list becomes a line with a dash, in Python's spelling; an object
 * becomes indented JSON (server §15.5).
 */
export function outputText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return JSON.stringify(value, null, 2);
  return value.map((item) => `- ${typeof item === "string" ? item : pythonText(item)}`).join("\n");
}

/** The server's name for the type of a value. */
export function typeName(value: unknown): string {
  if (value === null) return "none";
  if (Array.isArray(value)) return "array[any]";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "float";
  return typeof value;
}
