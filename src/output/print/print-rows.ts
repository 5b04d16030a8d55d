import type { Output } from "../../host/host.ts";
import { collect, oneByOne, slices } from "../../lib/collect.ts";
import type { Returns, TerminalForm } from "../../operations/operation.ts";
import { colorsFor } from "../display-width.ts";
import { cellLines } from "../formats/cell-lines.ts";
import type { LineFormat } from "../formats/cell-lines.ts";
import type { Style } from "../formats/text-formats.ts";
import type { ViewStyle } from "../live/event-lines.ts";
import { printGrid } from "../table/grid.ts";
import { sheetText } from "../table/sheet.ts";
import {
  cellText,
  declaredFields,
  fieldNamed,
  fieldsOf,
  sortRows,
  valueFields,
} from "../table/table.ts";
import type { TableField, TableStyle } from "../table/table.ts";
import { clockFor, timesFor } from "../style.ts";

/** Prints rows as a grid. */
export const printTable = async (rows: RowBatches, printing: Printing): Promise<number> => {
  const fields = fieldsFor(printing, undefined);
  const isShown = ({ label }: TableField) => fields.some((field) => field.label === label);
  const withValues = (first: readonly unknown[]) => [
    ...fields,
    ...valueFields(printing.returns, first).filter((field) => !isShown(field)),
  ];
  const fieldsIn = printing.style.format === "wide" ? withValues : () => fields;
  return printGrid(rows, fieldsIn, await tableStyle(printing), printing.out);
};

/** Prints objects as sheets, with an empty line between them. */
export async function printSheets(rows: RowBatches, printing: Printing): Promise<number> {
  const style = await tableStyle(printing);
  return eachApart(rows, printing.out, (row) => {
    const isFilled = (field: TableField) =>
      field.kind !== "sparse" || cellText(field.value(row), style.times) !== "";
    return sheetText(row, fieldsFor(printing, row).filter(isFilled), style);
  });
}

/** Writes the text of each value, with an empty line between them. */
function eachApart(rows: RowBatches, out: Output, textOf: (row: unknown) => string) {
  let between = "";
  return each(rows, out, (row) => {
    const text = between + textOf(row);
    between = "\n";
    return text;
  });
}

/** Prints rows in the form of their own that they have on a terminal. */
export async function printTerminalForm(rows: RowBatches, printing: Printing): Promise<number> {
  const { returns, out } = printing;
  const form = terminalFormOf(returns);
  const style = await tableStyle(printing);
  const { checkText, chunkText, hitText, printResults } =
    await import("../table/terminal-forms.ts");
  const fieldOf = (label: string) => fieldNamed(returns, label);
  let rank = 0;
  switch (form?.form) {
    case "checks":
      return each(rows, out, (row) => checkText(row, form, fieldOf, style));
    case "hits":
      return each(rows, out, (row) => hitText(row, ++rank, form.query, style));
    case "chunks":
      return each(rows, out, (row) => chunkText(row, style));
    case "results":
      return printResults(oneByOne(rows), form, fieldOf, { style, out });
    case undefined:
      return 0;
  }
}

/** Prints objects as lines of name, tab and value. */
export async function printPairs(rows: RowBatches, printing: Printing): Promise<number> {
  const { style, out } = printing;
  const lines = await cellLines("tsv", style, out);
  return eachApart(rows, out, (row) => {
    const pairs = fieldsFor(printing, row).map((field) => {
      const value = field.value(row);
      return style.headers ? [field.label, value] : [value];
    });
    return lines.rows(pairs);
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

/** What is printed how and where. */
export interface Printing {
  readonly returns: Returns<never>;
  readonly style: Style;
  readonly out: Output;
}

/** Rows, in the batches in which they arrive. */
export type RowBatches = AsyncIterable<readonly unknown[]>;

/** Whether values are printed in the default form of their kind. */
export const isDefaultForm = ({ format, jq, columns }: Style): boolean =>
  jq === undefined &&
  columns === undefined &&
  (format === undefined || format === "grid" || format === "wide");

/** The form of its own that a result has on a terminal. */
export const terminalFormOf = (returns: Returns<never>): TerminalForm | undefined =>
  "terminalForm" in returns ? returns.terminalForm : undefined;

/** The values of a stream, each mapped. */
export async function* mapped<T, U>(
  values: AsyncIterable<T>,
  to: (value: T) => U | Promise<U>,
): AsyncGenerator<U> {
  for await (const value of values) yield to(value);
}

/** Rows in the requested order, which all of them are read for. */
export const ordered = (rows: RowBatches, { returns, style }: Printing): RowBatches =>
  style.sort === undefined && !style.reverse ? rows : orderedRows(rows, returns, style);

/** Rows beyond twice those that are printed, after which the others are forgotten. */
const SURPLUS = 1000;

async function* orderedRows(batches: RowBatches, returns: Returns<never>, style: Style) {
  const { sort, reverse, places: { from, to } = { from: 0, to: Infinity } } = style;
  const field = sort === undefined ? undefined : fieldNamed(returns, sort);
  /** The rows that come first in that order, of those that are kept; equal ones as they came. */
  const first = (rows: readonly unknown[]) =>
    field ? sortRows(rows, field, reverse).slice(0, to) : rows.slice(-to);
  let kept: unknown[] = [];
  for await (const batch of batches) {
    for (const row of batch) kept.push(row);
    if (kept.length > 2 * to + SURPLUS) kept = first(kept);
  }
  const rows = first(kept);
  yield (field ? rows : rows.reverse()).slice(from);
}

/** All rows. */
export const allOf = async (batches: RowBatches): Promise<unknown[]> =>
  (await collect(batches)).flat();

/** Values whose text is one write: more than a page has. */
const MAX_VALUES = 1000;

/**
 * Writes the texts of the values as they arrive, after `head` (even without values). Resolves to the
 * number of values; stops when the reader closes the output.
 */
export async function eachBatch<T>(
  batches: AsyncIterable<readonly T[]>,
  out: Output,
  textOf: (values: readonly T[]) => string,
  head: (first?: T) => string = () => "",
): Promise<number> {
  let count = 0;
  for await (const batch of batches) {
    for (const values of slices(batch, MAX_VALUES)) {
      const text = (count === 0 ? head(values[0]) : "") + textOf(values);
      count += values.length;
      if (text !== "") await out.write(text);
      if (out.closed) return count;
    }
  }
  if (count === 0 && head() !== "") await out.write(head());
  return count;
}

/** The same with the text of each value. */
export const each = <T>(
  batches: AsyncIterable<readonly T[]>,
  out: Output,
  textOf: (value: T) => string,
): Promise<number> => eachBatch(batches, out, (values) => values.map(textOf).join(""));

/** Columns of a table: requested, declared, or else the fields of the first row. */
export function fieldsFor({ returns, style }: Printing, first: unknown): readonly TableField[] {
  const named = style.columns?.map((name) => fieldNamed(returns, name));
  if (named && !style.addsColumns) return named;
  const declared = declaredFields(returns, style.format === "wide");
  const own = declared.length > 0 || first === undefined ? declared : fieldsOf(first);
  if (!named) return own;
  const isNamed = ({ label }: TableField) => named.some((each) => each.label === label);
  // Where not all of them fit, those that were asked for stay.
  const others = own.filter((field) => !isNamed(field));
  return [...others.map((field, index) => ({ ...field, extra: index > 0 })), ...named];
}

/** How tables are displayed. */
export async function tableStyle(
  { style, out }: Printing,
  keepsAll = style.format === "wide" || style.columns !== undefined,
): Promise<TableStyle> {
  return {
    times: timesFor(style, out.isTTY),
    colors: await colorsFor(style.color),
    headers: style.headers,
    accessible: style.accessible,
    unicode: style.unicode,
    human: out.isTTY,
    keepsAll,
    get columns() {
      return out.columns;
    },
  };
}

/** How live views are displayed. */
export const viewStyle = async (printing: Printing): Promise<ViewStyle> =>
  Object.assign(await tableStyle(printing), {
    clock: clockFor(printing.style, printing.out.isTTY),
    now: printing.style.now,
    past: "past" in printing.returns,
  });
