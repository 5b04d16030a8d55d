import type { Output } from "../../host/host.ts";
import type { TerminalForm } from "../../operations/operation.ts";
import { colorOfStatus } from "../colors.ts";
import { visible, wrap } from "../display-width.ts";
import { availableWidth, cellText } from "./table.ts";
import type { TableField, TableStyle } from "./table.ts";

type CheckColumns = Extract<TerminalForm, { form: "checks" }>;

/** Signs of results; in ASCII the words themselves. */
const signs: Readonly<Record<string, string>> = {
  ok: "✓",
  yes: "✓",
  warning: "!",
  unknown: "?",
  problem: "✗",
  no: "✗",
};

/**
 * The result of a check as lines that are not wider than the terminal: sign, name and text, below them
 * what to do next.
 */
export function checkText(
  row: unknown,
  { result, name, text, next }: CheckColumns,
  fieldOf: (label: string) => TableField,
  { style, out }: { readonly style: TableStyle; readonly out: Output },
): string {
  const at = (label: string) => visible(cellText(fieldOf(label).value(row), style.times));
  const { unicode, colors } = style;
  const word = at(result);
  const sign = (unicode ? signs[word] : undefined) ?? word;
  const color = colorOfStatus(word);
  const colored = color ? colors[color](sign) : sign;
  const width = availableWidth(out);
  const [first = "", ...others] = hanging(`${at(name)}: ${at(text)}`, `${sign} `, width);
  const step = next === undefined ? "" : at(next);
  const steps = step === "" ? [] : hanging(step, `  ${unicode ? "→" : "->"} `, width);
  return [colored + first.slice(sign.length), ...others, ...steps]
    .map((line) => `${line}\n`)
    .join("");
}

/** A text after a lead, its further lines indented like the first. */
function hanging(text: string, lead: string, width: number): string[] {
  const indent = " ".repeat(lead.length);
  return wrap(text, Math.max(1, width - lead.length)).map(
    (line, index) => (index === 0 ? lead : indent) + line,
  );
}
