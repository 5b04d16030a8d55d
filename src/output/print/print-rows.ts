import { oneByOne } from "../../lib/collect.ts";
import type { Returns } from "../../operations/operation.ts";
import { cellLines } from "../formats/cell-lines.ts";
import type { LineFormat } from "../formats/cell-lines.ts";
import type { Reappearing } from "../live/open-rows.ts";
import { printGrid } from "../table/grid.ts";
import { sheetText } from "../table/sheet.ts";
import { cellText, fieldNamed } from "../table/table.ts";
import type { TableField } from "../table/table.ts";
import {
  each,
  eachBatch,
  fieldsFor,
  isDefaultForm,
  tableStyle,
  terminalFormOf,
} from "./printing.ts";
import type { Printing, RowBatches } from "./printing.ts";

/** Prints rows as a grid; those that change are redrawn on a terminal. */
export async function printTable(rows: RowBatches, printing: Printing): Promise<number> {
  const { returns, style, out } = printing;
  const fields = fieldsFor(printing, undefined);
  const reappearing = style.terminal && isDefaultForm(style) ? reappearingOf(returns) : undefined;
  if (!reappearing || !style.terminal)
    return printGrid(rows, fields, await tableStyle(printing), out);
  const { printReappearing } = await import("../live/open-rows.ts");
  return printReappearing(
    rows,
    { ...reappearing, fields },
    await tableStyle(printing),
    style.terminal,
  );
}

function reappearingOf(returns: Returns<never>): Reappearing | undefined {
  const { reappears, namePath = "id" } = "columns" in returns ? returns : {};
  return reappears && { idPath: namePath, isOpen: reappears as Reappearing["isOpen"] }; // rows of this type
}

/** Prints objects as sheets, with an empty line between them. */
export async function printSheets(rows: RowBatches, printing: Printing): Promise<number> {
  const style = await tableStyle(printing);
  let between = "";
  return each(rows, printing.out, (row) => {
    const isFilled = (field: TableField) =>
      field.kind !== "sparse" || cellText(field.value(row), style.times) !== "";
    const fields = fieldsFor(printing, row).filter(isFilled);
    const text = between + sheetText(row, fields, style, printing.out);
    between = "\n";
    return text;
  });
}

/** Prints rows in the form of their own that they have on a terminal. */
export async function printTerminalForm(rows: RowBatches, printing: Printing): Promise<number> {
  const { returns, out } = printing;
  const form = terminalFormOf(returns);
  const styles = { style: await tableStyle(printing), out };
  const { checkText, hitText, printResults } = await import("../table/terminal-forms.ts");
  const fieldOf = (label: string) => fieldNamed(returns, label);
  let rank = 0;
  switch (form?.form) {
    case "checks":
      return each(rows, out, (row) => checkText(row, form, fieldOf, styles));
    case "hits":
      return each(rows, out, (row) => hitText(row, ++rank, form.query, styles));
    case "results":
      return printResults(oneByOne(rows), form, fieldOf, styles);
    case undefined:
      return 0;
  }
}

/** Prints objects as lines of name, tab and value. */
export async function printPairs(rows: RowBatches, printing: Printing): Promise<number> {
  const { style, out } = printing;
  const lines = await cellLines("tsv", style, out);
  let between = "";
  return each(rows, out, (row) => {
    const pairs = fieldsFor(printing, row).map((field) => {
      const value = field.value(row);
      return style.headers ? [field.label, value] : [value];
    });
    const block = between + lines.rows(pairs);
    between = "\n";
    return block;
  });
}

/** Prints rows as lines of full cells, below a line of labels unless tsv is only the default. */
export async function printLines(
  rows: RowBatches,
  printing: Printing,
  form: LineFormat,
): Promise<number> {
  const { style, out } = printing;
  const lines = await cellLines(form, style, out);
  const hasHead = style.headers && style.format !== undefined;
  let fields: readonly TableField[] | undefined;
  return eachBatch(
    rows,
    out,
    (batch) => {
      const columns = (fields ??= fieldsFor(printing, batch[0]));
      return lines.rows(batch.map((row) => columns.map((field) => field.value(row))));
    },
    (first) => {
      const labels = fieldsFor(printing, first).map(({ label }) => label);
      return hasHead && labels.length > 0 ? lines.head(labels) : "";
    },
  );
}
