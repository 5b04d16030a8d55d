import type { Output } from "../host.ts";
import { isObject, valueAt } from "../json.ts";
import { more } from "../operations/operation.ts";
import type { Column, Returns } from "../operations/operation.ts";
import type { Times } from "./times.ts";
import { pad, shorten, visible, widthOf } from "./text.ts";
import type { Paint } from "./text.ts";

/** One column: what stands above it and what a row holds there. */
export interface Field {
  readonly label: string;
  value(row: unknown): unknown;
}

const fieldAt = (path: string): Field => ({ label: path, value: (row) => valueAt(row, path) });

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

function fieldOf(column: Column): Field {
  if (typeof column === "string") return fieldAt(column);
  const [label, cell] = column;
  const read = cell as (row: unknown) => unknown; // rows are those of the operation it stands in
  return {
    label,
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
export function declaredFields(returns: Returns<never>, all: boolean): readonly Field[] {
  const columns = columnsOf(returns);
  const cut = columns.indexOf(more);
  return columns
    .filter((column, index) => column !== more && (all || cut === -1 || index < cut))
    .map(fieldOf);
}

/** A column by its label, or by the path of any field of the row. */
export const fieldNamed = (returns: Returns<never>, name: string): Field =>
  declaredFields(returns, true).find(({ label }) => label === name) ?? fieldAt(name);

/** Columns of values whose operation declares none: the fields of the first one. */
export const fieldsOf = (row: unknown): readonly Field[] =>
  isObject(row)
    ? Object.keys(row).map((key) => ({
        label: key,
        value: (each) => (isObject(each) ? each[key] : undefined),
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
export function sorted(rows: readonly unknown[], field: Field): unknown[] {
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
export interface Dress {
  readonly times: Times;
  readonly paint: Paint;
  readonly headers: boolean;
  readonly accessible: boolean;
}

interface GridColumn {
  readonly field: Field;
  readonly head: string;
  readonly width: number;
  readonly align: "left" | "right";
}

const gap = "  ";
/** Columns a line may take: a pipe is endless. */
const roomOf = ({ isTTY, columns }: Output): number => (isTTY ? columns : Infinity);
/** Narrowest column that still says something. */
const readable = 8;
/** Narrowest column at all; what finds no room even so is left out. */
const narrowest = 3;
const firstRows = 100;

/**
 * Prints rows as aligned columns and resolves to their number. Widths come from the rows that are
 * there at once, at most 100.
 */
export async function printGrid(
  rows: AsyncIterable<unknown>,
  fields: readonly Field[],
  dress: Dress,
  out: Output,
): Promise<number> {
  let count = 0;
  let line: ((row: unknown) => string) | undefined;
  for await (const group of firstTogether(rows)) {
    let text = "";
    if (!line) {
      const columns = gridColumns(group, fields, dress, out);
      text = gridHead(columns, dress, out);
      line = gridLines(columns, dress, out);
    }
    for (const row of group) text += line(row);
    count += group.length;
    if (text !== "") await out.write(text);
    if (out.closed) break;
  }
  return count;
}

/** The rows that are there without waiting as one group, at most 100, then each by itself. */
async function* firstTogether(rows: AsyncIterable<unknown>): AsyncGenerator<readonly unknown[]> {
  const iterator = rows[Symbol.asyncIterator]();
  const first: unknown[] = [];
  let next: Promise<IteratorResult<unknown>> | undefined;
  let ended = false;
  let failure: { readonly error: unknown } | undefined;
  try {
    while (first.length < firstRows && !ended) {
      next = iterator.next();
      const arrived = first.length === 0 ? await next : await Promise.race([next, turnOfTheLoop()]);
      if (arrived === undefined) break;
      next = undefined;
      if (arrived.done) ended = true;
      else first.push(arrived.value);
    }
  } catch (error) {
    failure = { error };
  }
  try {
    // Rows that came before a failure are shown before it is told.
    if (!failure || first.length > 0) yield first;
    if (failure) throw failure.error;
    while (!ended) {
      const arrived = await (next ?? iterator.next());
      next = undefined;
      if (arrived.done) return;
      yield [arrived.value];
    }
  } finally {
    await iterator.return?.();
  }
}

/** Resolves when everything that needs no waiting has happened. */
const turnOfTheLoop = (): Promise<undefined> =>
  new Promise((resolve) => setImmediate(() => resolve(undefined)));

function gridColumns(
  rows: readonly unknown[],
  fields: readonly Field[],
  { times, headers }: Dress,
  out: Output,
): readonly GridColumn[] {
  const fitting = out.isTTY
    ? fields.slice(0, Math.floor((out.columns + gap.length) / (narrowest + gap.length)))
    : fields;
  const measured = fitting.map((field) => {
    const values = rows
      .map((row) => field.value(row))
      .filter((value) => value !== null && value !== undefined);
    const dated = values.some((value) => value instanceof Date);
    const head = visible(
      dated && times.zone !== undefined ? `${field.label} (${times.zone})` : field.label,
    );
    return {
      field,
      head,
      headWidth: headers ? widthOf(head) : 0,
      cellWidth: Math.max(
        0,
        ...values.map((value) => widthOf(visible(cellText(value, times)), roomOf(out))),
      ),
      whole: values.length > 0 && values.every(isUselessInPart),
      align:
        values.length > 0 && values.every((value) => typeof value === "number") ? "right" : "left",
    } as const;
  });
  const widths = fittedWidths(measured, roomOf(out) - gap.length * (measured.length - 1));
  return measured.map(({ field, head, align }, index) => ({
    field,
    head,
    align,
    width: widths[index] ?? 0,
  }));
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Numbers, times and ids are of no use in part. */
const isUselessInPart = (value: unknown): boolean =>
  typeof value === "number" ||
  value instanceof Date ||
  (typeof value === "string" && uuid.test(value));

/** A column before the room is shared: widths of its head and its widest cell. */
interface Measured {
  readonly headWidth: number;
  readonly cellWidth: number;
  /** Better not shortened. */
  readonly whole: boolean;
}

/** Columns of a text beyond which the heads of other columns are worth more than its end. */
const comfortable = 40;

/** What columns get while there is room, one after the other. */
const claims: readonly ((column: Measured) => number)[] = [
  () => narrowest,
  ({ whole, cellWidth }) => (whole ? 0 : Math.min(cellWidth, readable)),
  ({ whole, cellWidth }) => (whole ? cellWidth : 0),
  ({ cellWidth }) => Math.min(cellWidth, comfortable),
  ({ headWidth }) => headWidth,
  ({ cellWidth }) => cellWidth,
];

/**
 * Widths that need no more than `room` in all: very long texts give way first, then heads, then
 * texts, then what is of no use in part.
 */
function fittedWidths(columns: readonly Measured[], room: number): readonly number[] {
  let widths = columns.map(() => 0);
  for (const claim of claims) {
    const missing = columns.map((column, index) => {
      const wanted = Math.max(column.headWidth, column.cellWidth);
      return Math.max(0, Math.min(claim(column), wanted) - (widths[index] ?? 0));
    });
    const given = shared(missing, room - sum(widths));
    widths = widths.map((width, index) => width + (given[index] ?? 0));
  }
  return widths;
}

/** Room dealt out so that nobody gets more than wanted and those who want most give way first. */
function shared(wanted: readonly number[], room: number): readonly number[] {
  const given = wanted.map(() => 0);
  let left = room;
  const bySize = wanted
    .map((_, index) => index)
    .sort((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0));
  for (const [place, index] of bySize.entries()) {
    const share = Math.floor(left / (bySize.length - place));
    const gets = Math.min(wanted[index] ?? 0, share);
    given[index] = gets;
    left -= gets;
  }
  return given;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

function gridHead(
  columns: readonly GridColumn[],
  { headers, paint, accessible }: Dress,
  out: Output,
): string {
  if (!headers) return "";
  const heads = columns.map(({ head, width, align }) => pad(shorten(head, width), width, align));
  const rule = columns.map(({ width }) => "─".repeat(width)).join(gap);
  return `${paint.bold(heads.join(gap).trimEnd())}\n${out.isTTY && !accessible ? `${paint.dim(rule)}\n` : ""}`;
}

/** Makes the lines of a grid. On a terminal no line is wider than it. */
function gridLines(
  columns: readonly GridColumn[],
  { times }: Dress,
  out: Output,
): (row: unknown) => string {
  const room = roomOf(out) - gap.length * (columns.length - 1);
  const full = sum(columns.map(({ width }) => width)) === room;
  const usual = columns.map(({ width }) => width);
  return (row) => {
    const values = columns.map(({ field }) => field.value(row));
    const texts = values.map((value) => visible(cellText(value, times)));
    const fits = texts.every((text, index) => {
      const width = usual[index] ?? 0;
      return widthOf(text, width) <= width;
    });
    // A row that came after the widths were set takes the room that they left.
    const widths =
      fits || full
        ? usual
        : fittedWidths(
            texts.map((text, index) => ({
              headWidth: usual[index] ?? 0,
              cellWidth: widthOf(text, roomOf(out)),
              whole: isUselessInPart(values[index]),
            })),
            room,
          );
    const cells = texts.map((text, index) => {
      const width = widths[index] ?? 0;
      return pad(shorten(text, width), width, columns[index]?.align ?? "left");
    });
    return `${cells.join(gap).trimEnd()}\n`;
  };
}

/**
 * One object as lines of name and value. Line ends of texts stay; an object that is too long for the
 * line is written one field a line.
 */
export function sheet(
  row: unknown,
  fields: readonly Field[],
  { times, paint, headers }: Dress,
  out: Output,
): string {
  const lines = fields.map((field) => {
    const value = field.value(row);
    const dated = value instanceof Date && times.zone !== undefined;
    return { label: visible(dated ? `${field.label} (${times.zone})` : field.label), value };
  });
  const indent = headers
    ? Math.max(0, ...lines.map(({ label }) => widthOf(label))) + gap.length
    : 0;
  return lines
    .map(({ label, value }) => {
      const text = visible(sheetText(value, times, roomOf(out) - indent), { newlines: true });
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
