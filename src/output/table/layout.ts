import { groupBy } from "../../lib/collect.ts";
import { sum } from "../../lib/numbers.ts";
import { isUuid } from "../../lib/text.ts";
import { cut, cutDistinct, ellipsis, shortIdLength, visible, widthOf } from "../display-width.ts";
import { columnGap } from "./draw-table.ts";
import type { TableColumn } from "./draw-table.ts";
import { cellTextOf, humanTimes } from "./table.ts";
import type { TableField, TableStyle } from "./table.ts";
import { isNumeric } from "../../lib/exact-number.ts";

/** A column of a grid with its place on the line. */
export interface GridColumn extends TableColumn {
  readonly field: TableField;
  readonly label: string;
  readonly role: MeasuredColumn["role"];
  /** Characters shown of an ID. */
  readonly idLength: number;
  /** Text of a cell in full, safe for a terminal. */
  text(row: unknown): string;
  /** Those of the rows that it was laid out for. */
  readonly texts: readonly string[];
}

interface Measured extends Omit<GridColumn, "width">, MeasuredColumn {}

/**
 * The columns of a grid that fit into the available width; undefined if required ones do not
 * fit. `areAll`: no further rows follow.
 */
export function layOut(
  rows: readonly unknown[],
  fields: readonly TableField[],
  style: TableStyle,
  areAll: boolean,
): readonly GridColumn[] | undefined {
  const available = style.columns;
  const name = fields.find(({ kind }) => kind === "name") ?? fields[0];
  const measured = fields
    .map((field) => measure(field, field === name, rows, style))
    .filter(({ field: { kind }, texts }) => {
      // What is only planned has no ID yet; but an ID may follow in a later row.
      const isHidden = kind === "sparse" || (kind === "id" && areAll && style.human);
      return !isHidden || texts.some((text) => text !== "");
    });
  const kept = fittingColumns(measured, available).flatMap((index) => measured[index] ?? []);
  if (style.keepsAll && !isWideEnough(kept, measured)) return undefined;
  const fits = lineWidth(kept.map(({ full }) => full)) <= available;
  // An ID between its short form and its whole one would be neither.
  const shared = kept.map((column) =>
    fits || column.idLength === Infinity ? column : { ...column, full: column.min },
  );
  const widths = sharedWidths(shared, available);
  return kept.map((column, index) => ({ ...column, width: widths[index] ?? 0 }));
}

/** Columns that only `-o wide` has, of which a table shows at least these, or it would be as narrow as without. */
const MIN_EXTRA = 2;

/** Are all required columns among those that are kept? */
const isWideEnough = (kept: readonly Measured[], all: readonly Measured[]): boolean =>
  kept.length === all.length ||
  (all.every((column) => column.field.extra || kept.includes(column)) &&
    kept.filter(({ field }) => field.extra).length >= MIN_EXTRA);

function measure(
  field: TableField,
  isName: boolean,
  rows: readonly unknown[],
  style: TableStyle,
): Measured {
  const available = style.columns;
  const present = rows
    .map((row) => field.value(row))
    .filter((value) => value !== null && value !== undefined);
  const times = humanTimes(present, style.times);
  const cellStyle = { ...style, times };
  const text = (row: unknown) => withPlainMarks(visible(cellTextOf(field, row, cellStyle)), style);
  const texts = rows.map(text);
  const hasDates = present.some((value) => value instanceof Date);
  const label = visible(
    hasDates && times.zone !== undefined ? `${field.label} (${times.zone})` : field.label,
  );
  const widest = (each: readonly string[]) => largest(each.map((cell) => widthOf(cell, available)));
  const idLength = style.human && areIds(field, present) ? shortIdLength(texts) : Infinity;
  const shortest = widest(texts.map((each) => shortId(each, { idLength })));
  const headWidth = Math.max(1, style.headers ? widthOf(label) : 0);
  const chartWidth = largest(rows.map((row) => field.chart?.(row)?.width ?? 0));
  const full = Math.max(headWidth, chartWidth, style.keepsAll ? widest(texts) : shortest);
  const role = full === Infinity ? "picture" : roleOf(field, present, isName);
  const sparse = style.keepsAll ? "sparse-of-all" : "sparse";
  const shape = field.kind === "sparse" ? sparse : role;
  const [low, share, high] = minimums[areAddresses(present) ? "address" : shape] ?? [full, 0, full];
  const least = Math.min(high, Math.max(low, share && Math.floor(available * share)));
  const areNumbers =
    present.length > 0 &&
    // Some servers send a count as text.
    (field.kind === "count" || present.every(isNumeric));
  return {
    field,
    label,
    role,
    text,
    texts,
    idLength,
    full,
    min: Math.min(full, idLength === Infinity ? least : Math.max(shortest, headWidth)),
    align: (field.right ?? areNumbers) ? "right" : "left",
  };
}

const areIds = ({ kind }: TableField, present: readonly unknown[]): boolean =>
  kind === "id" ||
  (kind !== "whole-id" &&
    present.length > 0 &&
    present.every((value) => typeof value === "string" && isUuid(value)));

const areAddresses = (present: readonly unknown[]): boolean =>
  present.length > 0 &&
  present.every((value) => typeof value === "string" && /^https?:\/\//.test(value));

function roleOf(
  field: TableField,
  present: readonly unknown[],
  isName: boolean,
): MeasuredColumn["role"] {
  if (field.kind === "id") return "id";
  if (isName) return "name";
  if (field.minor) return "minor";
  if (field.chart && present.length === 0) return "chart";
  if (field.kind === "whole-id") return "value";
  const isValue = (value: unknown) =>
    isNumeric(value) || typeof value === "boolean" || value instanceof Date;
  return field.right === true || (present.length > 0 && present.every(isValue)) ? "value" : "text";
}

const largest = (numbers: readonly number[]): number =>
  numbers.reduce((max, each) => Math.max(max, each), 0);

/** The start of a UUID; other IDs have no known structure and stay whole. */
export const shortId = (text: string, { idLength }: Pick<GridColumn, "idLength">): string =>
  idLength < text.length && isUuid(text) ? text.slice(0, idLength) : text;

const withPlainMarks = (text: string, { human, unicode }: TableStyle): string =>
  human && !unicode ? text.replaceAll("⏎", "\\n").replace(/(?<=\d)×(?= )|^×(?=\d)/, "x") : text;

/** Texts of the cells of a column, cut to its width; different names stay different. */
function cellsOf(column: GridColumn, mark: string): string[] {
  const { role, width, texts } = column;
  if (texts.every((text) => widthOf(text, width) <= width)) return [...texts];
  const short = texts.map((text) => shortId(text, column));
  return role === "name"
    ? cutDistinct(short, width, mark)
    : short.map((text) => cut(text, width, mark));
}

/**
 * Texts of all cells, by row, of the rows that the columns were laid out for. Rows that look alike where
 * they differ show the difference.
 */
export function gridTexts(
  rows: readonly unknown[],
  columns: readonly GridColumn[],
  { unicode }: TableStyle,
): string[][] {
  const mark = ellipsis(unicode);
  const shown = columns.map((column) => cellsOf(column, mark));
  const isCut = ({ role, texts }: GridColumn, index: number) =>
    role === "text" && texts.some((text, row) => text !== shown[index]?.[row]);
  for (const alike of columns.some(isCut) ? alikeRows(rows.length, shown) : []) {
    for (const [index, { role, width, texts: full }] of columns.entries()) {
      if (role !== "text") continue;
      const texts = cutDistinct(
        alike.map((row) => full[row] ?? ""),
        width,
        mark,
      );
      for (const [place, row] of alike.entries()) shown[index]?.splice(row, 1, texts[place] ?? "");
    }
  }
  return rows.map((_, row) => shown.map((texts) => texts[row] ?? ""));
}

function alikeRows(count: number, shown: readonly (readonly string[])[]): number[][] {
  const lineOf = (row: number) => shown.map((texts) => texts[row] ?? "").join("\0");
  const groups = groupBy(Array.from({ length: count }).keys(), lineOf);
  return [...groups.values()].filter(({ length }) => length > 1);
}

interface MeasuredColumn {
  /** Columns with which every cell can still be read. */
  readonly min: number;
  /** Columns with which nothing is cut; Infinity for a picture that takes the remaining width. */
  readonly full: number;
  /** How soon it is dropped, see `dropOrder`. */
  readonly role: "name" | "id" | "picture" | "value" | "text" | "minor" | "chart";
}

/** Part of the line that the name may take before other texts are cut. */
const nameShare = 0.5;

/** The minimum of a column: a share of the line within limits. Columns of other roles are never cut. */
const minimums: Readonly<Record<string, readonly [least: number, share: number, most: number]>> = {
  name: [12, 0.35, 40],
  text: [10, 0.2, 30],
  // It is there for what its few texts say, such as why runs failed.
  sparse: [10, 0.4, 40],
  // Its end tells servers apart: columns after it are dropped first.
  address: [10, 0.6, Infinity],
  // Without `-o wide`, which is for the other columns, it has more room.
  "sparse-of-all": [12, 0.1, 40],
  chart: [8, 0, 8],
  picture: [8, 0, 8],
};

/** Columns that a line with these columns takes. */
export const lineWidth = (widths: readonly number[]): number =>
  sum(widths) + columnGap.length * Math.max(0, widths.length - 1);

/** Indexes of the columns that fit with their minimum widths, in order; the least important are dropped. */
function fittingColumns(columns: readonly MeasuredColumn[], available: number): readonly number[] {
  let kept = [...columns.keys()];
  const minWidth = () => lineWidth(kept.map((index) => columns[index]?.min ?? 0));
  for (const index of dropOrder(columns)) {
    if (minWidth() <= available) break;
    kept = kept.filter((each) => each !== index);
  }
  return kept;
}

/** Charts repeat numbers of other columns. The name is never dropped. */
const dropOrder = (columns: readonly MeasuredColumn[]): number[] =>
  [["chart"], ["minor"], ["value", "text"], ["picture"], ["id"]].flatMap((roles) =>
    [...columns.keys()].reverse().filter((index) => roles.includes(columns[index]?.role ?? "")),
  );

/** Widths of columns on a line: first the minimums, then half of it for the name, then texts, then the rest. */
export function sharedWidths(
  columns: readonly MeasuredColumn[],
  available: number,
): readonly number[] {
  const free = available - columnGap.length * Math.max(0, columns.length - 1);
  const claims: readonly ((column: MeasuredColumn) => number)[] = [
    ({ min }) => min,
    ({ full, role }) => (role === "name" ? Math.min(full, Math.floor(free * nameShare)) : 0),
    ({ full, role }) => (role === "chart" || role === "picture" ? 0 : full),
    ({ full }) => full,
  ];
  let widths: readonly number[] = columns.map(() => 0);
  for (const claim of claims) {
    const missing = columns.map((column, index) =>
      Math.max(0, claim(column) - (widths[index] ?? 0)),
    );
    const shares = shareOut(missing, free - sum(widths));
    widths = widths.map((width, index) => width + (shares[index] ?? 0));
  }
  return widths;
}

/** Shares out a width: [2, 9, 9] of 12 is [2, 5, 5]. The largest requests are reduced first. */
function shareOut(requests: readonly number[], available: number): readonly number[] {
  const shares = requests.map(() => 0);
  let left = Math.max(0, available);
  const bySize = [...requests.entries()].sort(([, one], [, other]) => one - other);
  for (const [place, [index, request]] of bySize.entries()) {
    const share = Math.min(request, Math.floor(left / (bySize.length - place)));
    shares[index] = share;
    left -= share;
  }
  return shares;
}
