import { entities } from "../../lib/formats/junit.ts";
import { durationUnits, groupDigits } from "../../lib/numbers.ts";
import { unicodeForm } from "../../lib/text.ts";
import { isChart } from "../report-model.ts";
import { share } from "../table/text-lines.ts";
import type { Cell, Chart, Detail, Heading, RowMarks, Section, Tone } from "../report-model.ts";
import { cellText, humanTimes } from "../table/table.ts";
import { columnColor } from "../style.ts";
import type { Times } from "../style.ts";
import { visible } from "../display-width.ts";

/** What a table is called, and how its rows unfold. */
export interface TableOptions {
  readonly caption: string;
  readonly times: Times;
  /** The details of the row of this name, unless the table has none. */
  readonly unfold?: (details: readonly Detail[], name: string, isOpen: boolean) => string;
  /** The anchors of the page, to which those of the rows are added; none for a table in details. */
  readonly anchors?: Anchors;
}

/** A table in a region that scrolls if it is wider than the page. */
export function tableHtml(
  { columns, rows, details, marks }: Pick<Section, "columns" | "rows" | "details" | "marks">,
  { caption, times, unfold, anchors }: TableOptions,
): string {
  const shown = pageColumns(columns, rows, times);
  const named = nameColumn(shown, rows);
  const lines = rows.map((cells, row) => {
    const cell = cells[named] ?? null;
    const name = isChart(cell) ? "" : readCell(cell, "", times).text;
    const anchor = anchors && anchorOf(name, anchors);
    const line = rowHtml(cells, shown, { named, name, anchor });
    const { states, attributes } = marksHtml(marks?.(row));
    const id = anchor === undefined ? "" : ` id="${anchor}"`;
    if (details === undefined || unfold === undefined) return `<tr${id}${attributes}>${line}</tr>`;
    const blocks = details(row);
    const group = `<tbody${id}${attributes}><tr>${line}</tr>`;
    if (blocks.length === 0) return `${group}</tbody>`;
    const more = unfold(blocks, name, row === 0 && states > 0);
    return `${group}<tr class="more"><td colspan="${columns.length}">${more}</td></tr></tbody>`;
  });
  const isWide = shown.some(({ chart }) => chart === "span");
  const classes = [
    rows.length > 1 && "sortable",
    anchors && rows.length > 1 && "found",
    marks && "marked",
    details && "unfolds",
    isWide && "wide",
  ];
  return [
    `<section class="scroll" tabindex="0" aria-label="${escapeLine(`Table: ${caption}`)}">`,
    `<table${classesOf(classes)}>`,
    `<caption>${hiddenText(caption)}</caption>`,
    `<thead><tr>${shown.map(headHtml).join("")}</tr></thead>`,
    details && rows.length > 0 ? lines.join("\n") : `<tbody>${lines.join("\n")}</tbody>`,
    "</table></section>",
  ].join("\n");
}

/** The column whose cells name the rows: the first one of texts without a tone. */
function nameColumn(columns: readonly PageColumn[], rows: Section["rows"]): number {
  const named = columns.find(({ heading, index, right, chart, hasDates }) => {
    if (right || chart !== undefined || hasDates || columnColor(heading.label)) return false;
    return rows.every((row) => typeof row[index] === "string" && row[index] !== "");
  });
  return named?.index ?? 0;
}

function headHtml({ heading, chart, hasDates, right, times }: PageColumn): string {
  const zone = hasDates && times.zone !== undefined ? ` (${times.zone})` : "";
  const label = `${heading.label}${zone}`;
  const { ticks = [] } = heading;
  const scale =
    ticks.length === 0
      ? ""
      : `<span class="ticks" aria-hidden="true">${ticks.map((tick) => `<span>${escapeLine(tick)}</span>`).join("")}</span>`;
  const empty = chart === undefined ? "Item" : chartLabels[chart];
  const text = label === "" ? hiddenText(empty) + scale : escapeLine(label);
  const classes = [right && "number", chart && `of-${chart}`];
  const sorted = chart === undefined ? ' data-sort="1"' : "";
  return `<th scope="col"${classesOf(classes)}${sorted}>${text}</th>`;
}

function rowHtml(
  cells: readonly Cell[],
  columns: readonly PageColumn[],
  { named, name, anchor }: { named: number; name: string; anchor: string | undefined },
): string {
  const link =
    anchor === undefined
      ? ""
      : `<a class="anchor" href="#${anchor}" aria-label="${escapeLine(`Link to ${name}`)}"></a>`;
  const line = columns.map((column) => {
    const cell = cells[column.index] ?? null;
    const value = column.right || column.hasDates ? sortValue(cell) : undefined;
    const attributes =
      classesOf([column.right && "number", isChart(cell) && "drawn"]) +
      (value === undefined || isChart(cell) ? "" : ` data-value="${value}"`);
    const content = cellContent(cell, column);
    const { label } = column.heading;
    const data = label === "" ? "" : ` data-label="${escapeLine(label)}"`;
    return column.index === named && content !== ""
      ? `<th scope="row"${attributes}>${content}${link}</th>`
      : `<td${attributes}${data}>${content}</td>`;
  });
  return line.join("");
}

const MAX_ANCHOR = 60;

/** Anchors of a page, and for each how often it was wanted. */
export type Anchors = Map<string, number>;

/** An anchor that a row keeps in later pages as long as names do not change; no other one of the page is the same. */
function anchorOf(name: string, anchors: Anchors): string {
  const words =
    unicodeForm(name, "NFC")
      .toLowerCase()
      .match(new RegExp(String.raw`[\p{L}\p{N}]+`, "gu")) ?? [];
  const plain = `row-${[...words.join("-")].slice(0, MAX_ANCHOR).join("")}`;
  let anchor = plain;
  let number = anchors.get(plain) ?? 0;
  while (anchors.has(anchor)) anchor = `${plain}-${++number}`;
  anchors.set(plain, number);
  anchors.set(anchor, Math.max(1, number));
  return anchor;
}

/** The words by which a row is filtered as an attribute: `state:failed`, each on a line. */
function marksHtml(marks: RowMarks = {}) {
  const words = Object.entries(marks).flatMap(([kind, all]) =>
    all.map((word) => `${kind}:${word.replace(/\s+/g, " ")}`),
  );
  const attributes = words.length === 0 ? "" : ` data-marks="${escapeHtml(words.join("\n"))}"`;
  return { states: marks.state?.length ?? 0, attributes };
}

/** The attribute with these classes; empty without any. */
export function classesOf(names: readonly (string | false | undefined)[]): string {
  const classes = names.filter(Boolean).join(" ");
  return classes === "" ? "" : ` class="${classes}"`;
}

const units: Readonly<Record<string, number>> = {
  ...durationUnits,
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
};

const amounts = /(\d[\d,]*(?:\.\d+)?)\s*(ms|KiB|MiB|[smhdB](?![a-z]))?/g;

/**
 * The number by which a cell is sorted: `2m 05s` → 125000, `3/4` → 0.75, `77–97 %` → 77, `-0.5` → -0.5.
 * Undefined for a cell without one.
 */
export function sortValue(cell: Cell): number | undefined {
  if (typeof cell === "number") return cell;
  if (cell instanceof Date) return cell.getTime();
  if (typeof cell === "object" && cell !== null)
    return "text" in cell ? sortValue(cell.text) : undefined;
  if (typeof cell !== "string" || !/^[+×-]?\d/.test(cell)) return undefined;
  const fraction = /^(\d+)\/(\d+)$/.exec(cell);
  if (fraction) return Number(fraction[1]) / Number(fraction[2]);
  const sign = cell.startsWith("-") ? -1 : 1;
  const parts = [...cell.matchAll(amounts)].map(([, number = "", unit]) => ({
    value: Number(number.replaceAll(",", "")) * (unit === undefined ? 1 : (units[unit] ?? 1)),
    unit,
  }));
  // Only the parts of a duration add up.
  const added = parts.every(({ unit }) => unit !== undefined) ? parts : parts.slice(0, 1);
  return sign * added.reduce((total, { value }) => total + value, 0);
}

/** A column of a table on a page, with what its cells have in common. */
interface PageColumn {
  readonly heading: Heading;
  readonly index: number;
  /** The kind of its charts, if it has any. */
  readonly chart: Chart["chart"] | undefined;
  readonly hasDates: boolean;
  /** Aligned right. */
  readonly right: boolean;
  readonly times: Times;
}

const pageColumns = (columns: readonly Heading[], rows: Section["rows"], times: Times) =>
  columns.map((heading, index): PageColumn => {
    const cells = rows.map((row) => row[index] ?? null);
    const isNumeric = cells.some((cell) => typeof cell === "number");
    const others = cells.some((cell) => cell !== null && typeof cell !== "number");
    return {
      heading,
      index,
      chart: cells.find(isChart)?.chart,
      hasDates: cells.some((cell) => cell instanceof Date),
      right: heading.right ?? (isNumeric && !others),
      times: humanTimes(cells, times),
    };
  });

function cellContent(cell: Cell, { heading, times }: PageColumn): string {
  if (isChart(cell)) return chartHtml(cell);
  const { text, tone } = readCell(cell, heading.label, times);
  if (text === "") return "";
  return tone === undefined ? escapeHtml(text) : tonedText(text, tone);
}

/** A text with its tone. */
export const tonedText = (text: string, tone: Tone): string =>
  `<span class="tone ${tone}">${escapeHtml(text)}</span>`;

function readCell(
  cell: Exclude<Cell, Chart>,
  label: string,
  times: Times,
): { readonly text: string; readonly tone: Tone | undefined } {
  if (typeof cell === "object" && cell !== null && "text" in cell) return cell;
  const text = typeof cell === "number" ? groupDigits(cell) : cellText(cell, times);
  const color = columnColor(label)?.(cell);
  return { text, tone: color && tonesOfColors[color] };
}

const tonesOfColors = { green: "good", red: "bad", yellow: "warn" } as const;

/** What a reader that hears the page is told about a column of charts without a label. */
const chartLabels = { bar: "Share", spark: "Trend", span: "Timeline" } as const;

/** A chart of a cell as SVG. Bars and spans repeat the numbers beside them, so they are not read aloud. */
export function chartHtml(chart: Chart): string {
  switch (chart.chart) {
    case "bar":
      return picture("bar", chart.tone, "100 10", barShapes(chart.value));
    case "spark":
      return sparkHtml(chart.values);
    case "span":
      return picture("span", chart.tone, "1000 10", spanShapes(chart.from, chart.to));
  }
}

const picture = (kind: string, tone: Tone | undefined, size: string, shapes: string): string =>
  `<svg${classesOf([kind, tone])} viewBox="0 0 ${size}" preserveAspectRatio="none" aria-hidden="true">${shapes}</svg>`;

const barShapes = (value: number): string =>
  `<rect class="track" width="100" height="10"/><rect width="${twoPlaces(atLeast(1, 100 * share(value)))}" height="10"/>`;

/** Anything but nothing is visible. */
const atLeast = (min: number, size: number): number => (size === 0 ? 0 : Math.max(min, size));

/** Thousandths of the width that a span takes at least. */
const MIN_SPAN = 4;

function spanShapes(from: number, to: number): string {
  const start = Math.min(1000 - MIN_SPAN, 1000 * share(from));
  const width = Math.min(1000 - start, Math.max(MIN_SPAN, 1000 * share(to) - start));
  const lines = [250, 500, 750].map((x) => `<path class="tick" d="M${x} 0v10"/>`).join("");
  return `${lines}<rect x="${twoPlaces(start)}" width="${twoPlaces(width)}" height="10"/>`;
}

/** Width of a value in a spark, gap included, and its height. */
const STEP = 6;
const HEIGHT = 24;

function sparkHtml(values: readonly (number | null)[]): string {
  const known = values.filter((value): value is number => value !== null && !Number.isNaN(value));
  const max = known.reduce((high, value) => Math.max(high, value), 0);
  const min = known.reduce((low, value) => Math.min(low, value), Infinity);
  const bars = values.map((value, index) => {
    if (value === null || Number.isNaN(value)) return "";
    const height = max > 0 ? Math.max(1, (HEIGHT * Math.max(0, value)) / max) : 1;
    return `<rect x="${index * STEP}" y="${twoPlaces(HEIGHT - height)}" width="${STEP - 1}" height="${twoPlaces(height)}"/>`;
  });
  const last = known.at(-1);
  const label =
    last === undefined
      ? "no values"
      : `${known.length} values from ${amount(min)} to ${amount(max)}, last ${amount(last)}`;
  return `<svg class="spark" viewBox="0 0 ${Math.max(1, values.length * STEP)} ${HEIGHT}" width="${values.length * STEP}" height="${HEIGHT}" role="img" aria-label="${escapeLine(label)}">${bars.join("")}</svg>`;
}

const amount = (value: number): string => String(Number(value.toPrecision(3)));

/** A number of an SVG, to two places. */
export const twoPlaces = (value: number): number => Number(value.toFixed(2));

/**
 * Any text as content of an element or of a quoted attribute. What controls something becomes visible, as on
 * a terminal; line ends stay.
 */
export const escapeHtml = (text: string): string =>
  visible(text, { newlines: true }).replace(/[&<>"']/g, (found) => entities[found] ?? "");

/** The same on one line. */
export const escapeLine = (text: string): string => escapeHtml(text.replace(/\s+/g, " ").trim());

/** Text for readers that hear the page. */
export const hiddenText = (text: string): string =>
  `<span class="hidden">${escapeLine(text)}</span>`;
