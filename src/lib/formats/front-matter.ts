import { isObject } from "../json.ts";
import { parseYaml } from "./yaml.ts";

/** The YAML block between two `---` lines at the top of a text. */
export type FrontMatter =
  | { readonly kind: "none" }
  | { readonly kind: "good"; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: "broken"; readonly line: number; readonly reason: string };

/** Parses the front matter of a text, or reports the line and the reason why it is invalid. */
export async function parseFrontMatter(text: string): Promise<FrontMatter> {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  if (lines[0]?.trimEnd() !== "---") return { kind: "none" };
  const end = lines.findIndex((line, index) => index > 0 && /^(---|\.\.\.)\s*$/.test(line));
  if (end === -1) return { kind: "broken", line: 1, reason: "missing closing ---" };
  const yaml = await parseYaml(lines.slice(1, end).join("\n"));
  if ("problem" in yaml) return { kind: "broken", line: yaml.line + 1, reason: yaml.problem };
  const { value: fields } = yaml;
  if (fields === null) return { kind: "good", fields: {} };
  if (!isObject(fields)) return { kind: "broken", line: 2, reason: "expected name: value pairs" };
  return { kind: "good", fields };
}
