import type { Formulas } from "../../commands/command-spec.ts";

/** A number is no formula, nor is a sign alone. */
const formula = /^(?![+-]\d+(\.\d+)?(e[+-]?\d+)? ?%?$)[=+\-@\t\r][^]/i;

/** With `safe` an apostrophe stands before each formula; without it `notice` tells of them. */
export function formulasIn(safe: boolean, notice: (text: string) => Promise<void>): Formulas {
  let met = false;
  return {
    cell(text) {
      if (!formula.test(text)) return text;
      met ||= !safe;
      return safe ? `'${text}` : text;
    },
    async warn() {
      if (!met) return;
      await notice(
        "some cells begin like formulas (=, +, -, @): use --safe-cells if a spreadsheet opens the output",
      );
    },
  };
}
