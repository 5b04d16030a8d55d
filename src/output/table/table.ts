import type { Output } from "../../host/host.ts";
import { isObject, own, valueAt } from "../../lib/json.ts";
import { wideOnly } from "../../operations/operation.ts";
import type { Column, Returns } from "../../operations/operation.ts";
import type { Times } from "../formats/times.ts";
import { visible, widthOf } from "./display-width.ts";
import { columnTone } from "./colors.ts";
import type { Colors } from "./display-width.ts";

/** One column: what stands above it and what a row holds there. */
export interface TableField {
  readonly label: string;
  value(row: unknown): unknown;
  /** Do the values stand at the right? Where nothing is said, numbers do. */
  readonly right?: boolean;
  /** Left out of a grid where no row has a value. */
  readonly sparse?: boolean;
  /** Shown in a grid instead of the value. */
  drawing?(row: unknown): Drawing | undefined;
  /** Colour of what a grid shows. */
  tone?(row: unknown): keyof Colors | undefined;
}

/** What fills a place of a grid, whatever its width. */
export interface Drawing {
  /** Columns it likes to have. */
  readonly width: number;
  /** One line of at most that many columns. */
  at(width: number): string;
}

function fieldAt(path: string): TableField {
  const tone = columnTone(path);
  return { label: path, value: (row) => valueAt(row, path), ...(tone && { tone }) };
}

/** What an event stream looks like as a table. */
const eventColumns: readonly Column[] = [
  "event",
  "data.title",
  "data.status",
  "data.elapsed_time",
  "data.error",
];

const columnsOf = (returns: Returns<never>): readonly Column[] =>
  "columns" in returns ? returns.columns : returns.kind === "events" ? eventColumns : [];

function fieldOf(column: Column): TableField {
  if (typeof column === "string") return fieldAt(column);
  const [label, cell, sparse] = column;
  const read = cell as (row: unknown) => unknown; // rows are those of the operation it stands in
  return {
    label,
    ...(sparse && { sparse: true }),
    value(row) {
      try {
        return read(row);
      } catch (error) {
        // A server may leave out what the cell reaches into; anything else is a mistake of ours.
        if (error instanceof TypeError) return undefined;
        throw error;
      }
    },
  };
}

/** The declared columns; those after `more` only where all are wanted. Empty where none are declared. */
export function declaredFields(returns: Returns<never>, all: boolean): readonly TableField[] {
  const columns = columnsOf(returns);
  const cut = columns.indexOf(wideOnly);
  return columns
    .filter((column, index) => column !== wideOnly && (all || cut === -1 || index < cut))
    .map(fieldOf);
}

/** A column by its label, or by the path of any field of the row. */
export const fieldNamed = (returns: Returns<never>, name: string): TableField => {
  const declared = declaredFields(returns, true).find(({ label }) => label === name);
  return declared ? { ...declared, sparse: false } : fieldAt(name);
};

/** Columns of values whose operation declares none: the fields of the first one. */
export const fieldsOf = (row: unknown): readonly TableField[] =>
  isObject(row)
    ? Object.keys(row).map((key) => ({
        label: key,
        value: (each) => (isObject(each) ? own(each, key) : undefined),
      }))
    : [{ label: "value", value: (each) => each }];

/** Fields that a column's cell looks at: `created` reads `created_at`, which may be named as well. */
function fieldsRead(column: Column): string[] {
  if (typeof column === "string") return [];
  const read: string[] = [];
  fieldOf(column).value(
    new Proxy({}, { get: (_, field) => void (typeof field === "string" && read.push(field)) }),
  );
  return read;
}

/** Names that `--columns` and `--sort` know, in the order of the table. */
export const columnNames = (returns: Returns<never>): string[] =>
  declaredFields(returns, true).map(({ label }) => label);

/**
 * Could the row have a column of that name? Any dotted path passes, and everything does where
 * nothing is declared: what a server adds cannot be known.
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

/** Rows in the order of one column: numbers and dates by value, texts as people sort, gaps last. */
export function sorted(rows: readonly unknown[], field: TableField): unknown[] {
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
  readonly paint: Colors;
  readonly headers: boolean;
  readonly accessible: boolean;
  readonly unicode: boolean;
}

/** Between columns. */
export const columnGap = "  ";
/** Columns a line may take: a pipe is endless. */
export const availableWidth = ({ isTTY, columns }: Output): number => (isTTY ? columns : Infinity);

/**
 * One object as lines of name and value. Line ends of texts stay; an object that is too long for the
 * line is written one field a line.
 */
export function sheet(
  row: unknown,
  fields: readonly TableField[],
  { times, paint, headers }: TableStyle,
  out: Output,
): string {
  const lines = fields.map((field) => {
    const value = field.value(row);
    const dated = value instanceof Date && times.zone !== undefined;
    return { label: visible(dated ? `${field.label} (${times.zone})` : field.label), value };
  });
  const indent = headers
    ? Math.max(0, ...lines.map(({ label }) => widthOf(label))) + columnGap.length
    : 0;
  return lines
    .map(({ label, value }) => {
      const text = visible(sheetText(value, times, availableWidth(out) - indent), {
        newlines: true,
      });
      const name = headers ? paint.bold(label) + " ".repeat(indent - widthOf(label)) : "";
      return `${(name + text.replaceAll("\n", `\n${" ".repeat(indent)}`)).trimEnd()}\n`;
    })
    .join("");
}

function sheetText(value: unknown, times: Times, room: number): string {
  const text = cellText(value, times);
  if (!isObject(value) || value instanceof Date || text.length <= room) return text;
  return Object.entries(value)
    .map(([key, each]) => `${key}: ${cellText(each, times)}`)
    .join("\n");
}
