import type { Output } from "../../host/host.ts";
import { cut, cutDistinct, ellipsis, shortIdLength, shorten, widthOf } from "../display-width.ts";
import { MAX_TABLE_ROWS, drawTable, rowLine } from "./draw-table.ts";
import type { TableCell } from "./draw-table.ts";
import { gridTexts, layOut, lineWidth, shortId } from "./layout.ts";
import type { GridColumn } from "./layout.ts";
import { sheetText } from "./sheet.ts";
import type { TableField, TableStyle } from "./table.ts";

/**
 * Prints rows as aligned columns and resolves to their number. The rows that are available at once,
 * at most 100, set the widths and are drawn as a table; below it each other row is printed as a line when it
 * arrives. Where all columns are required and do not fit on a line, each row
 * is a sheet.
 */
export async function printGrid(
  rows: AsyncIterable<readonly unknown[]>,
  fieldsOf: (first: readonly unknown[]) => readonly TableField[],
  style: TableStyle,
  out: Output,
): Promise<number> {
  let count = 0;
  let linesOf: ReturnType<typeof rowPrinter> | undefined;
  for await (const { group, isAll } of firstTogether(rows)) {
    let text = "";
    if (isAll) {
      const isEmpty = group.length === 0 && style.human; // said on stderr
      text = isEmpty ? "" : await gridText(group, fieldsOf(group), style);
    } else {
      linesOf ??= rowPrinter(group, fieldsOf(group), style);
      text = await linesOf(group);
    }
    count += group.length;
    if (text !== "") await out.write(text);
    if (out.closed) break;
  }
  return count;
}

/** All rows as aligned columns below their head. */
export async function gridText(
  rows: readonly unknown[],
  fields: readonly TableField[],
  style: TableStyle,
): Promise<string> {
  const columns = layOut(rows, fields, style, true);
  if (!columns) return sheetTexts(rows, fields, style);
  const text = await drawnText(rows, gridTexts(rows, columns, style), columns, style);
  return leftOut(fields, columns, style) + text;
}

/** A line that names the columns of `-o wide` that do not fit, and how to see them. */
function leftOut(
  fields: readonly TableField[],
  columns: readonly GridColumn[],
  { keepsAll, colors }: TableStyle,
): string {
  const shown = columns.map(({ field }) => field);
  const names = fields
    .filter((field) => field.extra && field.kind !== "sparse" && !shown.includes(field))
    .map(({ label }) => label);
  if (!keepsAll || names.length === 0) return "";
  const ways = `--columns +${names[0]} adds one, -o yaml has all`;
  return `${colors.dim(`too narrow for: ${names.join(", ")} (${ways})`)}\n`;
}

/** The rows that columns were laid out for, below their head. */
async function drawnText(
  rows: readonly unknown[],
  texts: readonly (readonly string[])[],
  columns: readonly GridColumn[],
  style: TableStyle,
): Promise<string> {
  const { headers, colors } = style;
  const cells = rows.map((row, index) => rowCells(row, texts[index] ?? [], columns, style));
  const rule = ruleFor(style);
  const head = headers ? headCells(columns, style) : [];
  if (columns.length === 0) return "\n".repeat(rows.length + Number(headers) + Number(rule !== ""));
  const lines = await drawTable(columns, cells, { head, rule });
  if (headers) lines[0] = colors.bold(lines[0] ?? "");
  if (rule !== "") lines[1] = colors.dim(lines[1] ?? "");
  return lines.map((line) => `${line}\n`).join("");
}

/** Prints rows that arrive one by one in the columns of the first ones, the first below their head. */
export function rowPrinter(
  first: readonly unknown[],
  fields: readonly TableField[],
  style: TableStyle,
): (rows: readonly unknown[]) => Promise<string> {
  const columns = layOut(first, fields, style, false);
  const printed = new PrintedTexts();
  return async (rows) => {
    const isFirst = rows === first;
    if (!columns) return (isFirst ? "" : "\n") + sheetTexts(rows, fields, style);
    if (!isFirst) return rows.map((row) => laterLine(row, columns, printed, style)).join("");
    const texts = gridTexts(rows, columns, style);
    for (const [index, row] of rows.entries())
      for (const [place, column] of columns.entries())
        printed.add(column, texts[index]?.[place] ?? "", column.text(row));
    return leftOut(fields, columns, style) + (await drawnText(rows, texts, columns, style));
  };
}

/** Rows one below the other, which have room for the seconds of their times. */
function sheetTexts(
  rows: readonly unknown[],
  fields: readonly TableField[],
  style: TableStyle,
): string {
  const { text, toTheSecond = text } = style.times;
  const times = { ...style.times, text: toTheSecond };
  return rows.map((row) => sheetText(row, fields, { ...style, times })).join("\n");
}

/**
 * Yields the rows that are available without waiting as one group, at most 100, then the others as they
 * arrive. `isAll` marks a first group after which no row follows.
 */
export async function* firstTogether(
  rows: AsyncIterable<readonly unknown[]>,
): AsyncGenerator<{ readonly group: readonly unknown[]; readonly isAll: boolean }> {
  const iterator = rows[Symbol.asyncIterator]();
  let first: readonly unknown[] = [];
  /** What did not arrive at once; if it failed, that is thrown below the rows before it. */
  let next: Promise<IteratorResult<readonly unknown[]>> | undefined;
  let isAll = false;
  try {
    while (!isAll && !next && first.length <= MAX_TABLE_ROWS) {
      const arriving = iterator.next();
      const result =
        first.length === 0
          ? await arriving
          : await Promise.race([arriving.catch(() => undefined), nextTick()]);
      if (result === undefined) next = arriving;
      else if (result.done) isAll = true;
      else first = [...first, ...result.value];
    }
    yield { group: first.slice(0, MAX_TABLE_ROWS), isAll };
    const rest = first.slice(MAX_TABLE_ROWS);
    if (rest.length > 0) yield { group: rest, isAll: false };
    while (!isAll) {
      const result = await (next ?? iterator.next());
      next = undefined;
      if (result.done) return;
      yield { group: result.value, isAll: false };
    }
  } finally {
    await iterator.return?.();
  }
}

const nextTick = (): Promise<undefined> =>
  new Promise((resolve) => setImmediate(() => resolve(undefined)));

const ruleFor = ({ headers, accessible, unicode, human }: TableStyle): string => {
  if (!headers || accessible || !human) return "";
  return unicode ? "─" : "-";
};

const headCells = (columns: readonly GridColumn[], { unicode }: TableStyle): readonly TableCell[] =>
  columns.map(({ label, width }) => {
    const text = unicode ? shorten(label, width) : cut(label, width, "");
    return { text, colored: text };
  });

const rowCells = (
  row: unknown,
  texts: readonly string[],
  columns: readonly GridColumn[],
  { colors }: TableStyle,
): readonly TableCell[] =>
  columns.map(({ field, width }, index) => {
    const text = field.chart?.(row)?.draw(width) ?? texts[index] ?? "";
    const color = field.color?.(row);
    return { text, colored: color === undefined ? text : colors[color](text) };
  });

/** A row that arrived after the widths were set, as a line that is not wider than the terminal. */
function laterLine(
  row: unknown,
  columns: readonly GridColumn[],
  printed: PrintedTexts,
  style: TableStyle,
): string {
  const full = columns.map((column) => column.text(row));
  const fitted = widenedFor(full, columns, style.columns);
  const free = style.columns - lineWidth(fitted.map(({ width }) => width));
  const mark = ellipsis(style.unicode);
  const texts = fitted.map((column, index) =>
    printed.cutNew(column, full[index] ?? "", mark, free),
  );
  return `${rowLine(rowCells(row, texts, fitted, style), fitted)}\n`;
}

/** The columns for a row whose texts need more width: it takes what the columns left free. */
function widenedFor(
  texts: readonly string[],
  columns: readonly GridColumn[],
  available: number,
): readonly GridColumn[] {
  const missing = (index: number) => {
    const column = columns[index];
    if (!column) return 0;
    const text = shortId(texts[index] ?? "", column);
    return Math.max(0, widthOf(text, available) - column.width);
  };
  const tooNarrow = [...columns.keys()].filter((index) => missing(index) > 0);
  if (tooNarrow.length === 0) return columns;
  const widths = columns.map(({ width }) => width);
  let free = available - lineWidth(widths);
  // A cut number is a wrong one, so it may take width from the name.
  for (const index of tooNarrow.toSorted(
    (one, other) => rank(columns[one]) - rank(columns[other]),
  )) {
    const added = Math.min(columns[index]?.role === "value" ? Infinity : free, missing(index));
    widths[index] = (widths[index] ?? 0) + added;
    free -= added;
  }
  const name = columns.findIndex(({ role }) => role === "name");
  if (free < 0) widths[name] = Math.max(0, (widths[name] ?? 0) + free);
  return columns.map((column, index) => ({ ...column, width: widths[index] ?? 0 }));
}

const rank = (column: GridColumn | undefined): number =>
  ["value", "id", "name", "text"].indexOf(column?.role ?? "text");

/** Cut names and IDs that are printed, to keep later ones different from them. */
class PrintedTexts {
  #full = new Map<string, string>();

  add({ label, role }: GridColumn, shown: string, full: string): void {
    if (shown === full || (role !== "name" && role !== "id")) return;
    if (this.#full.size >= MAX_REMEMBERED) this.#full = new Map();
    this.#full.set(`${label}\0${shown}`, full);
  }

  /** Cuts the text of a later row; an ID may take the free columns, since it is the last. */
  cutNew(column: GridColumn, full: string, mark: string, free: number): string {
    if (widthOf(full, column.width) <= column.width) return full;
    const isShortId = column.idLength < full.length;
    let shown = isShortId ? shortId(full, column) : cut(full, column.width, mark);
    const earlier = this.#full.get(`${column.label}\0${shown}`);
    if (earlier !== undefined && earlier !== full) {
      shown = isShortId
        ? full.slice(0, Math.min(shortIdLength([earlier, full]), column.width + free))
        : (cutDistinct([earlier, full], column.width, mark)[1] ?? shown);
    }
    this.add(column, shown, full);
    return shown;
  }
}

/** Cut texts that later ones are compared with; enough for any screen. */
const MAX_REMEMBERED = 20_000;
