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

const order = new Intl.Collator("en", { numeric: true });

/** Rows in the order of one column: numbers and dates by value, texts as people sort, gaps last. */
export const sorted = (rows: readonly unknown[], field: Field): unknown[] =>
  rows
    .map((row) => ({ row, key: keyOf(field.value(row)) }))
    .sort((one, other) => compared(one.key, other.key))
    .map(({ row }) => row);

const keyOf = (value: unknown): unknown =>
  value instanceof Date ? value.getTime() : typeof value === "boolean" ? Number(value) : value;

function compared(one: unknown, other: unknown): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  const gaps =
    Number(one === null || one === undefined) - Number(other === null || other === undefined);
  if (gaps !== 0) return gaps;
  return order.compare(cellText(one, anyTimes), cellText(other, anyTimes));
}

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
  readonly side: "left" | "right";
}

const gap = "  ";
/** Narrowest column that still says something. */
const readable = 8;
/** Narrowest column at all; what finds no room even so is left out. */
const narrowest = 3;
const firstRows = 100;

/**
 * Prints rows as aligned columns and resolves to their number. Widths come from the rows that are
 * there at once, at most 100; what comes later is shortened to them on a terminal.
 */
export async function printGrid(
  rows: AsyncIterable<unknown>,
  fields: readonly Field[],
  dress: Dress,
  out: Output,
): Promise<number> {
  let count = 0;
  let columns: readonly GridColumn[] | undefined;
  for await (const group of firstTogether(rows)) {
    let text = "";
    if (!columns) {
      columns = gridColumns(group, fields, dress, out);
      text += gridHead(columns, dress, out);
    }
    for (const row of group) text += gridLine(row, columns, dress.times, out);
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
  const rest = { [Symbol.asyncIterator]: () => iterator };
  let waiting: Promise<IteratorResult<unknown>> | undefined;
  let failure: { readonly error: unknown } | undefined;
  try {
    while (first.length < firstRows) {
      waiting = iterator.next();
      const arrived =
        first.length === 0 ? await waiting : await Promise.race([waiting, turnOfTheLoop()]);
      if (arrived === undefined) break;
      waiting = undefined;
      if (arrived.done) {
        yield first;
        return;
      }
      first.push(arrived.value);
    }
  } catch (error) {
    if (first.length === 0) throw error;
    failure = { error };
  }
  // Rows that came before a failure are shown before it is told.
  yield first;
  if (failure) throw failure.error;
  if (waiting) {
    const arrived = await waiting;
    if (arrived.done) return;
    yield [arrived.value];
  }
  for await (const row of rest) yield [row];
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
  const fitting = Number.isFinite(out.columns)
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
        ...values.map((value) => widthOf(visible(cellText(value, times)), out.columns)),
      ),
      whole: values.length > 0 && values.every(loosesByCutting),
      side:
        values.length > 0 && values.every((value) => typeof value === "number") ? "right" : "left",
    } as const;
  });
  const widths = fittedWidths(measured, out.columns - gap.length * (measured.length - 1));
  return measured.map(({ field, head, side }, index) => ({
    field,
    head,
    side,
    width: widths[index] ?? 0,
  }));
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Numbers, times and ids are of no use in part. */
const loosesByCutting = (value: unknown): boolean =>
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

/** Widths that need no more than `room` in all. Heads give way first, then texts, then the rest. */
export function fittedWidths(columns: readonly Measured[], room: number): readonly number[] {
  const wanted = columns.map(({ headWidth, cellWidth }) => Math.max(headWidth, cellWidth));
  if (sum(wanted) <= room) return wanted;
  const kept = columns.map(({ whole, cellWidth }) => (whole ? Math.max(cellWidth, narrowest) : 0));
  const texts = columns.map(({ whole }, index) => (whole ? 0 : (wanted[index] ?? 0)));
  const left = room - sum(kept);
  if (left < sum(texts.map((width) => Math.min(width, readable)))) return shared(wanted, room);
  const given = shared(texts, left);
  return kept.map((width, index) => width + (given[index] ?? 0));
}

/** Room dealt out so that nobody gets more than wanted and the widest give way first. */
function shared(wanted: readonly number[], room: number): readonly number[] {
  const given = wanted.map(() => 0);
  let left = room;
  for (let open = wanted.length; open > 0 && left > 0;) {
    const needy = wanted.flatMap((width, index) => (width > (given[index] ?? 0) ? [index] : []));
    open = needy.length;
    const share = Math.max(1, Math.floor(left / Math.max(1, open)));
    for (const index of needy) {
      const had = given[index] ?? 0;
      const gets = Math.min(share, (wanted[index] ?? 0) - had, left);
      given[index] = had + gets;
      left -= gets;
    }
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
  const heads = columns.map(({ head, width, side }) =>
    pad(out.isTTY ? shorten(head, width) : head, width, side),
  );
  const rule = columns.map(({ width }) => "─".repeat(width)).join(gap);
  return `${paint.bold(heads.join(gap).trimEnd())}\n${out.isTTY && !accessible ? `${paint.dim(rule)}\n` : ""}`;
}

function gridLine(row: unknown, columns: readonly GridColumn[], times: Times, out: Output): string {
  const cells = columns.map(({ field, width, side }) => {
    const text = visible(cellText(field.value(row), times));
    return pad(out.isTTY ? shorten(text, width) : text, width, side);
  });
  return `${cells.join(gap).trimEnd()}\n`;
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
      const text = visible(sheetText(value, times, out.columns - indent), { newlines: true });
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
