import type { Output } from "../../host/host.ts";
import { isObject, own, valueAt } from "../../lib/json.ts";
import { readColumn, wideOnly } from "../../operations/operation.ts";
import type { Column, Returns } from "../../operations/operation.ts";
import type { Times } from "../formats/times.ts";
import { visible, widthOf } from "./display-width.ts";
import { columnColor } from "./colors.ts";
import { columnGap, drawTable } from "./draw-table.ts";
import type { Colors } from "./display-width.ts";

/** One column of a table. */
export interface TableField {
  readonly label: string;
  value(row: unknown): unknown;
  /** Aligned right; by default numbers are. */
  readonly right?: boolean;
  /** Omitted from a grid in which no row has a value. */
  readonly sparse?: boolean;
  /** Drawn in a grid instead of the value. */
  chart?(row: unknown): TextChart | undefined;
  /** Color of the cell in a grid. */
  color?(row: unknown): keyof Colors | undefined;
}

/** A chart that fills a cell of a grid. */
export interface TextChart {
  /** Preferred width, in columns of the terminal. */
  readonly width: number;
  /** One line of at most that many columns. */
  draw(width: number): string;
}

function fieldAt(path: string): TableField {
  const color = columnColor(path);
  return { label: path, value: (row) => valueAt(row, path), ...(color && { color }) };
}

/** Columns of an event stream as a table. */
const eventColumns: readonly Column[] = [
  "event",
  "data.title",
  "data.status",
  "data.elapsed_time",
  "data.error",
];

function columnsOf(returns: Returns<never>): readonly Column[] {
  if ("columns" in returns) return returns.columns;
  return returns.kind === "events" ? eventColumns : [];
}

function fieldOf(column: Column): TableField {
  if (typeof column === "string") return fieldAt(column);
  return { ...readColumn(column), ...(column[2] === "sparse" && { sparse: true }) };
}

/** The declared columns; those after `wideOnly` only with `all`. Empty if none are declared. */
export function declaredFields(returns: Returns<never>, all: boolean): readonly TableField[] {
  const columns = columnsOf(returns);
  const end = columns.indexOf(wideOnly);
  return columns
    .filter((column, index) => column !== wideOnly && (all || end === -1 || index < end))
    .map(fieldOf);
}

/** A column by its label, or by the path of any field of the row. */
export const fieldNamed = (returns: Returns<never>, name: string): TableField => {
  const declared = declaredFields(returns, true).find(({ label }) => label === name);
  return declared ? { ...declared, sparse: false } : fieldAt(name);
};

/** Columns of values whose operation declares none: the fields of the first value. */
export const fieldsOf = (row: unknown): readonly TableField[] =>
  isObject(row)
    ? Object.keys(row).map((key) => ({
        label: key,
        value: (each) => (isObject(each) ? own(each, key) : undefined),
      }))
    : [{ label: "value", value: (each) => each }];

/** Fields that a column reads: `created` reads `created_at`, which is a valid name, too. */
function fieldsRead(column: Column): string[] {
  if (typeof column === "string") return [];
  const [, cell] = column;
  if (typeof cell === "string") return cell.split(".", 1);
  const read: string[] = [];
  fieldOf(column).value(
    new Proxy({}, { get: (_, field) => void (typeof field === "string" && read.push(field)) }),
  );
  return read;
}

/** Names that `--columns` and `--sort` accept, in the order of the table. */
export const columnNames = (returns: Returns<never>): string[] =>
  declaredFields(returns, true).map(({ label }) => label);

/**
 * Whether rows may have a column of that name. Any dotted path may exist, and any name does if no
 * columns are declared, since a server may add fields.
 */
export function isColumn(returns: Returns<never>, name: string): boolean {
  if (name.split(".").includes("")) return false;
  if (returns.kind === "events" || name.includes(".")) return true;
  const names = columnNames(returns);
  return (
    names.length === 0 ||
    names.includes(name) ||
    columnsOf(returns).some((column) => fieldsRead(column).includes(name))
  );
}

/** Text of a cell in full; nested values are compact JSON. */
export function cellText(value: unknown, times: Times): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (value instanceof Date) return times.text(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Rows sorted by one column: numbers and dates by value, texts in natural order, gaps last. */
export function sortRows(rows: readonly unknown[], field: TableField): unknown[] {
  const texts = new Intl.Collator("en", { numeric: true });
  return rows
    .map((row) => ({ row, key: keyOf(field.value(row)) }))
    .sort(({ key: one }, { key: other }) => {
      if (typeof one === "number" && typeof other === "number") return one - other;
      const gaps = Number(one === undefined) - Number(other === undefined);
      return gaps || texts.compare(cellText(one, anyTimes), cellText(other, anyTimes));
    })
    .map(({ row }) => row);
}

const keyOf = (value: unknown): unknown => {
  if (value instanceof Date) return value.getTime();
  return typeof value === "boolean" ? Number(value) : (value ?? undefined);
};

const anyTimes: Times = { text: (date) => date.toISOString() };

/** What all columns of a table share. */
export interface TableStyle {
  readonly times: Times;
  readonly colors: Colors;
  readonly headers: boolean;
  readonly accessible: boolean;
  readonly unicode: boolean;
}

/** Columns that a line may take: unlimited in a pipe. */
export const availableWidth = ({ isTTY, columns }: Output): number => (isTTY ? columns : Infinity);

/**
 * One object as a table of names and values. Line ends of texts stay; an object that does not fit on
 * the line is written one field a line.
 */
export async function recordTable(
  row: unknown,
  fields: readonly TableField[],
  { times, colors, headers }: TableStyle,
  out: Output,
): Promise<string> {
  const labels = fields.map((field) => {
    const hasZone = field.value(row) instanceof Date && times.zone !== undefined;
    return visible(hasZone ? `${field.label} (${times.zone})` : field.label);
  });
  const labelWidth = Math.max(1, ...labels.map((label) => widthOf(label)));
  const indent = headers ? labelWidth + columnGap.length : 0;
  const rows = fields.map((field, index) => {
    const available = availableWidth(out) - indent;
    const text = visible(sheetText(field.value(row), times, available), { newlines: true });
    const value = text.replaceAll("\n", `\n${" ".repeat(indent)}`);
    const label = labels[index] ?? "";
    return [
      ...(headers ? [{ text: label, colored: colors.bold(label) }] : []),
      { text: value, colored: value },
    ];
  });
  const lines = await drawTable(
    [
      ...(headers ? [{ width: labelWidth, align: "left" } as const] : []),
      { width: Infinity, align: "left" },
    ],
    rows,
  );
  return lines.map((line) => `${line}\n`).join("");
}

function sheetText(value: unknown, times: Times, available: number): string {
  const text = cellText(value, times);
  if (!isObject(value) || value instanceof Date || text.length <= available) return text;
  return Object.entries(value)
    .map(([key, each]) => `${key}: ${cellText(each, times)}`)
    .join("\n");
}
