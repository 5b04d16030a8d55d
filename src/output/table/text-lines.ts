import { sum } from "../../lib/numbers.ts";
import type { TextLine, TextPart, Tone, Chart } from "../report-model.ts";
import { visible, widthOf, wrap } from "../display-width.ts";
import type { Colors } from "../display-width.ts";
import type { TableStyle, TextChart } from "./table.ts";

/** Colors of tones. */
export const tones: Readonly<Record<Tone, keyof Colors>> = {
  good: "green",
  bad: "red",
  warn: "yellow",
  dim: "dim",
};

/** Between parts. */
const gap = "  ";

/**
 * A line of text for a terminal of this width, with trends if it then fits on one row. Otherwise it
 * wraps between its parts, and at the blanks of parts that are wider than the terminal.
 */
export function textLine({ lead = "", parts }: TextLine, style: TableStyle, width: number): string {
  const start = visible(lead);
  const room = Math.max(1, width - widthOf(start));
  const plain = parts.map((part) => ({ ...part, text: visible(part.text) }));
  const drawn = style.accessible ? plain : plain.map((part) => withTrend(part, style.unicode));
  const isOneRow = sum(drawn.map(({ text }) => widthOf(text) + gap.length)) - gap.length <= room;
  const indent = " ".repeat(widthOf(start));
  return rowsOf(isOneRow ? drawn : plain, room)
    .map((row, index) => `${index === 0 ? start : indent}${colored(row, style.colors)}\n`)
    .join("");
}

function withTrend(part: TextPart, unicode: boolean): TextPart {
  const { text, trend } = part;
  if (trend === undefined || trend.length === 0) return part;
  const chart = textChart({ chart: "spark", values: trend }, unicode, Infinity);
  return { ...part, text: `${text} ${chart.draw(trend.length)}` };
}

/** Parts on rows of at most `room` columns. */
function rowsOf<P extends { readonly text: string }>(parts: readonly P[], room: number): P[][] {
  const rows: P[][] = [];
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

const colored = (row: readonly TextPart[], colors: Colors): string =>
  row.map(({ text, tone }) => (tone === undefined ? text : colors[tones[tone]](text))).join(gap);

/** Indentation of the lines after the first. */
const indent = "    ";

/** Parts of a line on as many lines as they need, without a line end: none is wider than `width`. */
export function wrapParts(
  parts: readonly { readonly text: string; readonly color?: keyof Colors | undefined }[],
  colors: Colors,
  width: number,
): string {
  const shown = parts.filter(({ text }) => text !== "");
  const whole = sum(shown.map(({ text }) => widthOf(text) + gap.length)) - gap.length;
  const rows = whole <= width ? [shown] : rowsOf(shown, Math.max(1, width - indent.length));
  const texts = rows.map((row) =>
    row.map(({ text, color }) => (color === undefined ? text : colors[color](text))).join(gap),
  );
  return texts.join(`\n${indent}`);
}

/** A command in backticks or a word, with the blanks before it. */
const messageWord = /\s*(?:`[^`]*`|[^\s`]|`)+/gu;

/**
 * A message on lines of at most `width` columns that end at blanks. Commands and words are never
 * broken, since they are copied: one that is wider than a line is left to the terminal.
 */
export function wrapMessage(text: string, width: number): string {
  const message = text.trimEnd();
  const rows = [""];
  let used = 0;
  for (const [word] of message.matchAll(messageWord)) {
    const columns = widthOf(word);
    const start = word.trimStart();
    const whole = indent.length + widthOf(start);
    if (used > 0 && used + columns > width && whole <= width) {
      rows.push(indent + start);
      used = whole;
      continue;
    }
    rows.push(rows.pop() + word);
    used += columns;
    if (used > width) used %= width;
  }
  return rows.join("\n") + text.slice(message.length);
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

/** A number limited to 0 to 1; 0 if it is not a number. */
const share = (value: number): number => (value > 0 ? Math.min(value, 1) : 0);
