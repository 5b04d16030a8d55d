import { sum } from "../../lib/numbers.ts";
import type { TextLine, TextPart, Tone, Chart, TextComparison } from "../report-model.ts";
import { indent, visible, widthOf, wrap, pad } from "../display-width.ts";
import type { Colors } from "../display-width.ts";
import type { TableStyle, TextChart } from "./table.ts";

/** Colors of tones. */
export const tones: Readonly<Record<Tone, keyof Colors>> = {
  good: "green",
  bad: "red",
  warn: "yellow",
  dim: "dim",
};

const gap = "  ";

/** A part of a line; parts are separated by two spaces. */
export interface LinePart {
  readonly text: string;
  readonly color?: keyof Colors | undefined;
}

/**
 * A line of text for the terminal, with trends if it then fits on one row. Otherwise it
 * wraps between its parts, and at the blanks of parts that are wider than the terminal.
 */
export function textLine({ lead = "", parts }: TextLine, style: TableStyle): string {
  const start = visible(lead);
  const room = Math.max(1, style.columns - widthOf(start));
  const withTrends = parts.map((part) => partOf(part, !style.accessible, style.unicode));
  const isOneRow = widthTogether(withTrends) <= room;
  const shown = isOneRow ? withTrends : parts.map((part) => partOf(part, false, style.unicode));
  const indent = " ".repeat(widthOf(start));
  return rowsOf(shown, room)
    .map((row, index) => `${index === 0 ? start : indent}${joined(row, style.colors)}\n`)
    .join("");
}

function partOf({ text, tone, trend }: TextPart, hasTrend: boolean, unicode: boolean): LinePart {
  const part = { text: visible(text), color: tone && tones[tone] };
  if (!hasTrend || trend === undefined || trend.length === 0) return part;
  const chart = textChart({ chart: "spark", values: trend }, unicode, Infinity);
  return { ...part, text: `${part.text} ${chart.draw(trend.length)}` };
}

const widthTogether = (parts: readonly LinePart[]): number =>
  sum(parts.map(({ text }) => widthOf(text) + gap.length)) - gap.length;

/** Parts on rows of `room` columns. */
function rowsOf(parts: readonly LinePart[], room: number): LinePart[][] {
  const rows: LinePart[][] = [];
  let used = Infinity;
  for (const part of parts) {
    const width = widthOf(part.text);
    const last = rows.at(-1);
    if (last && used + gap.length + width <= room) {
      last.push(part);
      used += gap.length + width;
      continue;
    }
    for (const text of wrap(part.text, room)) {
      rows.push([{ ...part, text }]);
      used = widthOf(text);
    }
  }
  return rows;
}

const joined = (row: readonly LinePart[], colors: Colors): string =>
  row.map(({ text, color }) => (color === undefined ? text : colors[color](text))).join(gap);

/** Parts of a line on as many lines as they need, without a line end: none is wider than `width`. */
export function wrapParts(
  parts: readonly LinePart[],
  { colors, columns: width }: Pick<TableStyle, "colors" | "columns">,
): string {
  const shown = parts.filter(({ text }) => text !== "");
  const isOneRow = widthTogether(shown) <= width;
  const rows = isOneRow ? [shown] : rowsOf(shown, Math.max(1, width - indent.length));
  return rows.map((row) => joined(row, colors)).join(`\n${indent}`);
}

/** Preferred columns of a bar. */
const barWidth = 20;

/** A chart as one line of text. `spanWidth` is the preferred width of spans; Infinity fills the line. */
export function textChart(chart: Chart, unicode: boolean, spanWidth: number): TextChart {
  switch (chart.chart) {
    case "bar":
      return { width: barWidth, draw: (width) => bar(chart.value, width, unicode) };
    case "spark":
      return { width: chart.values.length, draw: (width) => spark(chart.values, width, unicode) };
    case "span":
      return { width: spanWidth, draw: (width) => span(chart.from, chart.to, width, unicode) };
  }
}

/** Blocks of one to seven eighths of a column, from its left edge. */
const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** Blocks that fill the columns; at least an eighth of one. */
function blocks(columns: number): string {
  const parts = Math.max(1, Math.round(columns * 8));
  return "█".repeat(Math.floor(parts / 8)) + (eighths[parts % 8] ?? "");
}

function bar(value: number, width: number, unicode: boolean): string {
  const length = share(value) * width;
  if (length === 0) return "";
  return unicode ? blocks(length) : "#".repeat(Math.max(1, Math.round(length)));
}

/** The first step is for zero, the last for the largest value. */
const steps = { unicode: [..."▁▂▃▄▅▆▇█"], ascii: [..."_.-=#"] } as const;

/** With more values than columns, a column shows the largest of its values. */
function spark(values: readonly (number | null)[], width: number, unicode: boolean): string {
  const [zero = "", ...more] = unicode ? steps.unicode : steps.ascii;
  const shown = values.length > width ? peaks(values, width) : values;
  const max = values.reduce<number>((high, value) => Math.max(high, value ?? 0), 0);
  return shown
    .map((value) => {
      if (value === null || Number.isNaN(value)) return " ";
      if (value <= 0) return zero;
      return more[Math.min(more.length - 1, Math.floor((value / max) * more.length))] ?? "";
    })
    .join("");
}

function peaks(values: readonly (number | null)[], width: number): (number | null)[] {
  return Array.from({ length: width }, (_, column) => {
    const first = Math.floor((column * values.length) / width);
    const next = Math.floor(((column + 1) * values.length) / width);
    return values
      .slice(first, next)
      .reduce((high, value) => (high === null || (value ?? -1) > high ? value : high), null);
  });
}

function span(from: number, to: number, width: number, unicode: boolean): string {
  const start = Math.max(0, Math.min(width - 1, Math.floor(share(from) * width)));
  const length = Math.min(width - start, Math.max(0, share(to) * width - start));
  const before = " ".repeat(start);
  if (unicode) return before + blocks(length);
  const columns = Math.max(1, Math.round(length));
  return before + (columns === 1 ? "|" : `|${"-".repeat(columns - 2)}|`);
}

/** Columns of a terminal on which two texts fit side by side. */
const MIN_WIDTH = 120;
/** Lines of each text; -o json has the rest. */
const MAX_LINES = 60;

interface Piece {
  readonly text: string;
  readonly isOwn: boolean;
}

interface Side {
  readonly name: "first" | "second";
  readonly marks: readonly [open: string, close: string];
  readonly color: keyof Colors;
}

const sides: readonly [Side, Side] = [
  { name: "first", marks: ["[-", "-]"], color: "red" },
  { name: "second", marks: ["{+", "+}"], color: "green" },
];

/**
 * Two texts in which the words that only one of them has are marked `[-so-]` and `{+so+}`: side by side
 * if the terminal has room, otherwise one below the other.
 */
export function comparedTexts({ titles, parts }: TextComparison, style: TableStyle): string {
  const width = style.columns;
  const isWide = width >= MIN_WIDTH && width !== Infinity && !style.accessible;
  const bar = style.unicode ? " │ " : " | ";
  const indent = "  ";
  const room = isWide ? Math.floor((width - bar.length) / 2) : width - indent.length;
  const [first, second] = sides.map((side) => sideLines(parts, side, room)) as [
    Piece[][],
    Piece[][],
  ];
  const drawn = (line: readonly Piece[] | undefined, { color }: Side) =>
    (line ?? []).map(({ text, isOwn }) => (isOwn ? style.colors[color](text) : text)).join("");
  if (!isWide)
    return [first, second]
      .flatMap((lines, index) => [
        `${titles[index] ?? ""}:`,
        ...lines.map((line) => indent + drawn(line, sides[index] ?? sides[0])),
      ])
      .map((line) => `${line}\n`)
      .join("");
  const count = Math.max(first.length, second.length);
  const rows = Array.from({ length: count }, (_, at) => {
    const left = drawn(first[at], sides[0]);
    return pad(plainOf(first[at]), room, "left", left) + bar + drawn(second[at], sides[1]);
  });
  const head = pad(titles[0], room, "left", style.colors.bold(titles[0]));
  return [head + bar + style.colors.bold(titles[1]), ...rows].map((row) => `${row}\n`).join("");
}

const plainOf = (line: readonly Piece[] = []): string => line.map(({ text }) => text).join("");

/** The lines of one text, none wider than `room`. */
function sideLines(parts: TextComparison["parts"], { name, marks }: Side, room: number): Piece[][] {
  const lines: Piece[][] = [[]];
  for (const part of parts) {
    if (part.in !== "both" && part.in !== name) continue;
    const isOwn = part.in === name;
    const [open, close] = isOwn ? marks : ["", ""];
    // A mark encloses words, not the line ends between them.
    for (const [index, text] of visible(part.text, { newlines: true }).split("\n").entries()) {
      if (index > 0) lines.push([]);
      const words = text.trimEnd();
      if (words !== "") lines.at(-1)?.push({ text: open + words + close, isOwn });
      if (words !== text) lines.at(-1)?.push({ text: text.slice(words.length), isOwn: false });
    }
    if (lines.length > MAX_LINES) break;
  }
  const wrapped = lines.flatMap((line) => wrapPieces(line, room));
  if (wrapped.length <= MAX_LINES) return wrapped;
  return [...wrapped.slice(0, MAX_LINES), [{ text: "… (-o json shows all)", isOwn: false }]];
}

function wrapPieces(line: readonly Piece[], room: number): Piece[][] {
  const text = plainOf(line);
  if (widthOf(text, room) <= room) return [[...line]];
  let at = 0;
  return wrap(text, room).map((row) => {
    const from = at;
    at += row.length;
    const pieces = cut(line, from, at);
    if (text[at] === " ") at++; // wrap() drops the blank at which it breaks a line
    return pieces;
  });
}

function cut(line: readonly Piece[], from: number, to: number): Piece[] {
  let start = 0;
  return line.flatMap(({ text, isOwn }) => {
    const own = text.slice(Math.max(0, from - start), Math.max(0, to - start));
    start += text.length;
    return own === "" ? [] : [{ text: own, isOwn }];
  });
}

/** The share that a chart draws, limited to 0 to 1; 0 if it is not a number. */
export const share = (value: number): number => (value > 0 ? Math.min(value, 1) : 0);
