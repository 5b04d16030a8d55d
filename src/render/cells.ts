import type { Output } from "../host.ts";
import { safeCell } from "./formats.ts";
import type { Style } from "./formats.ts";
import { cellText } from "./table.ts";
import type { Times } from "./times.ts";

/** What a spreadsheet takes for a formula: a number is none, nor is a sign alone. */
const formula = /^(?![+-]\d+(\.\d+)?(e[+-]?\d+)? ?%?$)[=+\-@\t\r][^]/i;

/** Makes the text of a value in csv, tsv and md. The first two may be opened in a spreadsheet. */
export function cellsFor(
  { format, safeCells, onFormula }: Style,
  times: Times,
  out: Output,
): (value: unknown) => string {
  return (value) => {
    const text = cellText(value, times);
    const safe = safeCell(text, out);
    if (format === "md" || !formula.test(text)) return safe;
    if (safeCells) return `'${safe}`;
    // Nobody opens what a pipe gets by itself in a spreadsheet.
    if (format !== undefined) onFormula?.();
    return safe;
  };
}
