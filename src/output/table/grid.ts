import type { Output } from "../../host/host.ts";
import { cellText, columnGap, availableWidth } from "./table.ts";
import type { TableStyle, TableField } from "./table.ts";
import { pad, shorten, visible, widthOf } from "./display-width.ts";
import { fittedWidths, narrowest, sum } from "./widths.ts";

interface GridColumn {
  readonly field: TableField;
  readonly head: string;
  readonly width: number;
  readonly align: "left" | "right";
}

const firstRows = 100;

/**
 * Prints rows as aligned columns and resolves to their number. Widths come from the rows that are
 * there at once, at most 100.
 */
export async function printGrid(
  rows: AsyncIterable<unknown>,
  fields: readonly TableField[],
  dress: TableStyle,
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

/** Rows that are all there as aligned columns, below their head. */
export function gridText(
  rows: readonly unknown[],
  fields: readonly TableField[],
  dress: TableStyle,
  out: Output,
): string {
  const columns = gridColumns(rows, fields, dress, out);
  return gridHead(columns, dress, out) + rows.map(gridLines(columns, dress, out)).join("");
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
    const dated = values.some((value) => value instanceof Date);
    const numbers = values.length > 0 && values.every((value) => typeof value === "number");
    const right = field.right ?? numbers;
    const head = visible(
      dated && times.zone !== undefined ? `${field.label} (${times.zone})` : field.label,
    );
    const texts = values.map((value) =>
      widthOf(visible(cellText(value, times)), availableWidth(out)),
    );
    const drawings = rows.map((row) => field.drawing?.(row)?.width ?? 0);
    return {
      field,
      head,
      headWidth: headers ? widthOf(head) : 0,
      cellWidth: Math.max(largest(texts), largest(drawings)),
      whole: values.length > 0 && (field.right === true || values.every(isUselessInPart)),
      align: right ? "right" : "left",
    } as const;
  });
  const widths = fittedWidths(
    measured,
    availableWidth(out) - columnGap.length * (measured.length - 1),
  );
  return measured.map(({ field, head, align }, index) => ({
    field,
    head,
    align,
    width: widths[index] ?? 0,
  }));
}

const largest = (numbers: readonly number[]): number =>
  numbers.reduce((most, each) => Math.max(most, each), 0);

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Numbers, times and ids are of no use in part. */
const isUselessInPart = (value: unknown): boolean =>
  typeof value === "number" ||
  value instanceof Date ||
  (typeof value === "string" && uuid.test(value));

function gridHead(
  columns: readonly GridColumn[],
  { headers, paint, accessible, unicode }: TableStyle,
  out: Output,
): string {
  if (!headers) return "";
  const heads = columns.map(({ head, width, align }) => pad(shorten(head, width), width, align));
  const rule = columns.map(({ width }) => (unicode ? "─" : "-").repeat(width)).join(columnGap);
  return `${paint.bold(heads.join(columnGap).trimEnd())}\n${out.isTTY && !accessible ? `${paint.dim(rule)}\n` : ""}`;
}

/** Makes the lines of a grid. On a terminal no line is wider than it. */
function gridLines(
  columns: readonly GridColumn[],
  { times, paint }: TableStyle,
  out: Output,
): (row: unknown) => string {
  const room = availableWidth(out) - columnGap.length * (columns.length - 1);
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
              cellWidth: widthOf(text, availableWidth(out)),
              whole: isUselessInPart(values[index]),
            })),
            room,
          );
    const cells = columns.map(({ field, align }, index) => {
      const width = widths[index] ?? 0;
      const text = field.drawing?.(row)?.at(width) ?? shorten(texts[index] ?? "", width);
      const tone = field.tone?.(row);
      return pad(text, width, align, tone === undefined ? text : paint[tone](text));
    });
    return `${cells.join(columnGap).trimEnd()}\n`;
  };
}
