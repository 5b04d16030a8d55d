import { sum } from "../../lib/numbers.ts";
import type { Output } from "../../host/host.ts";
import { isUuid } from "../../lib/uuid.ts";
import { availableWidth, cellText } from "./table.ts";
import type { TableField, TableStyle } from "./table.ts";
import { pad, shorten, visible, widthOf } from "./display-width.ts";
import { MAX_TABLE_ROWS, columnGap, drawTable } from "./draw-table.ts";
import type { TableCell, TableColumn } from "./draw-table.ts";
import { fittedWidths, narrowest } from "./widths.ts";

interface GridColumn extends TableColumn {
  readonly field: TableField;
  readonly label: string;
}

/**
 * Prints rows as aligned columns and resolves to their number. The rows that are available at once,
 * at most 100, set the widths. If these are all, they are drawn as a table; otherwise each row is
 * printed as a line when it arrives.
 */
export async function printGrid(
  rows: AsyncIterable<unknown>,
  fields: readonly TableField[],
  style: TableStyle,
  out: Output,
): Promise<number> {
  let count = 0;
  let columns: readonly GridColumn[] | undefined;
  for await (const { group, isAll } of firstTogether(rows)) {
    let text = "";
    if (isAll) text = await gridText(group, fields, style, out);
    else {
      if (!columns) {
        columns = gridColumns(group, fields, style, out);
        text = gridHead(columns, style, out);
      }
      for (const row of group) text += gridLine(row, columns, style, out);
    }
    count += group.length;
    if (text !== "") await out.write(text);
    if (out.closed) break;
  }
  return count;
}

/** All rows as aligned columns below their head: a drawn table on a terminal, lines in a pipe. */
export async function gridText(
  rows: readonly unknown[],
  fields: readonly TableField[],
  style: TableStyle,
  out: Output,
): Promise<string> {
  const columns = gridColumns(rows, fields, style, out);
  if (!out.isTTY || columns.length === 0 || rows.length > MAX_TABLE_ROWS) {
    const lines = rows.map((row) => gridLine(row, columns, style, out));
    return gridHead(columns, style, out) + lines.join("");
  }
  const { headers, colors } = style;
  const rule = ruleFor(style, out);
  const lines = await drawTable(
    columns,
    rows.map((row) => rowCells(row, rowTexts(row, columns, style), columns, style)),
    { head: headers ? headCells(columns) : [], rule },
  );
  if (headers) lines[0] = colors.bold(lines[0] ?? "");
  if (rule !== "") lines[1] = colors.dim(lines[1] ?? "");
  return lines.map((line) => `${line}\n`).join("");
}

/**
 * Yields the rows that are available without waiting as one group, at most 100, then each by itself.
 * `isAll` marks a first group after which no row follows.
 */
async function* firstTogether(
  rows: AsyncIterable<unknown>,
): AsyncGenerator<{ readonly group: readonly unknown[]; readonly isAll: boolean }> {
  const iterator = rows[Symbol.asyncIterator]();
  const first: unknown[] = [];
  let next: Promise<IteratorResult<unknown>> | undefined;
  let isAll = false;
  let failure: { readonly error: unknown } | undefined;
  try {
    while (!isAll) {
      next = iterator.next();
      const result = first.length === 0 ? await next : await Promise.race([next, nextTick()]);
      if (result === undefined) break;
      isAll = result.done === true;
      if (first.length === MAX_TABLE_ROWS) break;
      next = undefined;
      if (!isAll) first.push(result.value);
    }
  } catch (error) {
    failure = { error };
  }
  try {
    // Rows that came before a failure are printed before it is thrown.
    if (!failure || first.length > 0) yield { group: first, isAll };
    if (failure) throw failure.error;
    while (!isAll) {
      const result = await (next ?? iterator.next());
      next = undefined;
      if (result.done) return;
      yield { group: [result.value], isAll: false };
    }
  } finally {
    await iterator.return?.();
  }
}

/** Resolves on the next event-loop turn. */
const nextTick = (): Promise<undefined> =>
  new Promise((resolve) => setImmediate(() => resolve(undefined)));

function gridColumns(
  rows: readonly unknown[],
  fields: readonly TableField[],
  { times, headers }: TableStyle,
  out: Output,
): readonly GridColumn[] {
  const isFilled = (field: TableField) =>
    rows.some((row) => cellText(field.value(row), times) !== "");
  const filled = fields.filter((field) => !field.sparse || isFilled(field));
  const fitting = out.isTTY
    ? filled.slice(0, Math.floor((out.columns + columnGap.length) / (narrowest + columnGap.length)))
    : filled;
  const measured = fitting.map((field) => {
    const values = rows
      .map((row) => field.value(row))
      .filter((value) => value !== null && value !== undefined);
    const hasDates = values.some((value) => value instanceof Date);
    const areNumbers = values.length > 0 && values.every((value) => typeof value === "number");
    const label = visible(
      hasDates && times.zone !== undefined ? `${field.label} (${times.zone})` : field.label,
    );
    const texts = values.map((value) =>
      widthOf(visible(cellText(value, times)), availableWidth(out)),
    );
    const charts = rows.map((row) => field.chart?.(row)?.width ?? 0);
    return {
      field,
      label,
      headWidth: Math.max(1, headers ? widthOf(label) : 0),
      cellWidth: Math.max(largest(texts), largest(charts)),
      whole: values.length > 0 && (field.right === true || values.every(isUselessInPart)),
      align: (field.right ?? areNumbers) ? "right" : "left",
    } as const;
  });
  const gaps = columnGap.length * (measured.length - 1);
  const widths = fittedWidths(measured, availableWidth(out) - gaps);
  return measured.map(({ field, label, align }, index) => ({
    field,
    label,
    align,
    width: widths[index] ?? 0,
  }));
}

const largest = (numbers: readonly number[]): number =>
  numbers.reduce((max, each) => Math.max(max, each), 0);

/** Numbers, times, and IDs are useless when they are shortened. */
const isUselessInPart = (value: unknown): boolean =>
  typeof value === "number" ||
  value instanceof Date ||
  (typeof value === "string" && isUuid(value));

/** The character of the rule below the head; empty where there is none. */
const ruleFor = ({ headers, accessible, unicode }: TableStyle, { isTTY }: Output): string => {
  if (!headers || accessible || !isTTY) return "";
  return unicode ? "─" : "-";
};

const headCells = (columns: readonly GridColumn[]): readonly TableCell[] =>
  columns.map(({ label, width }) => {
    const text = shorten(label, width);
    return { text, colored: text };
  });

/** Full texts of the cells of a row. */
const rowTexts = (
  row: unknown,
  columns: readonly GridColumn[],
  { times }: TableStyle,
): readonly string[] => columns.map(({ field }) => visible(cellText(field.value(row), times)));

/** Cells of a row: its texts, shortened to the widths, or charts instead of them. */
const rowCells = (
  row: unknown,
  texts: readonly string[],
  columns: readonly GridColumn[],
  { colors }: TableStyle,
): readonly TableCell[] =>
  columns.map(({ field, width }, index) => {
    const text = field.chart?.(row)?.draw(width) ?? shorten(texts[index] ?? "", width);
    const color = field.color?.(row);
    return { text, colored: color === undefined ? text : colors[color](text) };
  });

const lineOf = (cells: readonly TableCell[], columns: readonly TableColumn[]): string =>
  cells
    .map(({ text, colored }, index) => {
      const { width = 0, align } = columns[index] ?? {};
      return pad(text, width, align, colored);
    })
    .join(columnGap)
    .trimEnd();

function gridHead(columns: readonly GridColumn[], style: TableStyle, out: Output): string {
  if (!style.headers) return "";
  const rule = ruleFor(style, out);
  const head = `${style.colors.bold(lineOf(headCells(columns), columns))}\n`;
  if (rule === "") return head;
  const rules = columns.map(({ width }) => rule.repeat(width));
  return `${head}${style.colors.dim(rules.join(columnGap))}\n`;
}

/** A row as a line. On a terminal the line is not wider than it. */
function gridLine(
  row: unknown,
  columns: readonly GridColumn[],
  style: TableStyle,
  out: Output,
): string {
  const texts = rowTexts(row, columns, style);
  const widened = widenedFor(row, texts, columns, out);
  return `${lineOf(rowCells(row, texts, widened, style), widened)}\n`;
}

/** The columns for a row that arrived after the widths were set: it may use the space that they left. */
function widenedFor(
  row: unknown,
  texts: readonly string[],
  columns: readonly GridColumn[],
  out: Output,
): readonly GridColumn[] {
  const textAt = (index: number) => texts[index] ?? "";
  if (columns.every(({ width }, index) => widthOf(textAt(index), width) <= width)) return columns;
  const available = availableWidth(out) - columnGap.length * (columns.length - 1);
  if (sum(columns.map(({ width }) => width)) === available) return columns;
  const widths = fittedWidths(
    columns.map(({ field, width }, index) => ({
      headWidth: width,
      cellWidth: widthOf(textAt(index), availableWidth(out)),
      whole: isUselessInPart(field.value(row)),
    })),
    available,
  );
  return columns.map((column, index) => ({ ...column, width: widths[index] ?? 0 }));
}
