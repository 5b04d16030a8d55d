import { sum } from "../../lib/numbers.ts";
import type { TextLine, TextPart, Tone } from "../report-model.ts";
import { textChart } from "./charts.ts";
import { visible, widthOf, wrap } from "../display-width.ts";
import type { Colors } from "../display-width.ts";
import type { TableStyle } from "./table.ts";

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
