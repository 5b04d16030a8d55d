import { sum } from "../../lib/numbers.ts";
import type { TextLine, TextPart, Tone } from "../report-model.ts";
import { textChart } from "./charts.ts";
import { visible, widthOf, wrap } from "./display-width.ts";
import type { Colors } from "./display-width.ts";
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

function rowsOf(parts: readonly TextPart[], room: number): TextPart[][] {
  const rows: TextPart[][] = [];
  let used = Infinity;
  for (const part of parts) {
    const width = widthOf(part.text);
    const last = rows.at(-1);
    if (last && used + gap.length + width <= room) {
      last.push(part);
      used += gap.length + width;
      continue;
    }
    for (const text of wrapAtBlanks(part.text, room)) {
      rows.push([{ ...part, text }]);
      used = widthOf(text);
    }
  }
  return rows;
}

/** A text as rows of at most `width` columns. Only words that are wider are broken. */
function wrapAtBlanks(text: string, width: number): string[] {
  const rows: string[] = [];
  for (const word of text.split(" ").flatMap((each) => wrap(each, width))) {
    const last = rows.at(-1);
    if (last !== undefined && widthOf(last) + 1 + widthOf(word) <= width)
      rows[rows.length - 1] = `${last} ${word}`;
    else rows.push(word);
  }
  return rows;
}

const colored = (row: readonly TextPart[], colors: Colors): string =>
  row.map(({ text, tone }) => (tone === undefined ? text : colors[tones[tone]](text))).join(gap);
