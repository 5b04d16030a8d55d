import type { Variables } from "../storage/runs-store.ts";
import type { Selector } from "./app-definitions.ts";

/** The value of a selector, or null. */
export const variableAt = (variables: Variables, [node, name]: Selector): unknown =>
  variables[node]?.[name] ?? null;

/** Splits a text into fixed parts and selectors: `{{#node.name#}}`. Those of `$output` are fixed. */
export const templateParts = (template: string): (string | Selector)[] =>
  template.split(/(\{\{#[^.#$]+\.[^#]+#\}\})/).flatMap((part): (string | Selector)[] => {
    const [, node, name] = /^\{\{#([^.#$]+)\.([^#]+)#\}\}$/.exec(part) ?? [];
    if (node !== undefined && name !== undefined) return [[node, name]];
    return part === "" ? [] : [part];
  });

/** Fills `{{#node.name#}}`; placeholders of inputs (`$output`) stay. */
export const renderTemplate = (template: string, variables: Variables): string =>
  templateParts(template)
    .map((part) => (typeof part === "string" ? part : outputText(variableAt(variables, part))))
    .join("");

/** A value as text; each item of a list becomes a line with a dash. */
export function outputText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map((item) => `- ${outputText(item)}`).join("\n");
  return JSON.stringify(value);
}
