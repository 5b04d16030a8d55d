/**
 * Returns a function that formats CSV records (RFC 4180). Records of a page are formatted together: one by
 * one, checking the options took two thirds of the time.
 */
export async function csvLines(
  delimiter = ",",
): Promise<(records: readonly (readonly string[])[]) => string> {
  const { stringify } = await import("csv-stringify/sync");
  // By default it leaves a lone line feed unquoted, which readers take for the end of a record.
  const options = { delimiter, record_delimiter: "\r\n", quoted_match: /[\r\n]/ };
  return (records) => stringify(records as string[][], options); // it changes nothing
}

/** Cells of csv and tsv that a spreadsheet would run as formulas. */
export interface Formulas {
  /** The text of a cell; --safe-cells prefixes formulas with an apostrophe. */
  cell(text: string): string;
  /** Warns once if formulas were written unchanged. */
  warn(): Promise<void>;
}

/** Starts like a formula, but is not a number or a single sign. */
const formula = /^(?![+-]\d+(\.\d+)?(e[+-]?\d+)? ?%?$)[=+\-@\t\r][^]/i;

/** Prefixes formulas with an apostrophe if `safe`; otherwise `warn` prints a notice about them. */
export function formulasIn(safe: boolean, notice: (text: string) => Promise<void>): Formulas {
  let found = false;
  return {
    cell(text) {
      if (!formula.test(text)) return text;
      found ||= !safe;
      return safe ? `'${text}` : text;
    },
    async warn() {
      if (!found) return;
      await notice(
        "some cells start like formulas (=, +, -, @): use --safe-cells if you open the output in a spreadsheet",
      );
    },
  };
}
