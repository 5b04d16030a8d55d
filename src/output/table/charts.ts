import type { Chart } from "../report-model.ts";
import type { Drawing } from "./table.ts";

/** Columns of a bar where there is room. */
const barWidth = 20;

/**
 * A chart as one line of text. `whole` is how wide a span likes to be, on which its place is
 * measured; Infinity takes the room that is left.
 */
export function drawingOf(chart: Chart, unicode: boolean, whole: number): Drawing {
  switch (chart.chart) {
    case "bar":
      return { width: barWidth, at: (width) => bar(chart.value, width, unicode) };
    case "spark":
      return { width: chart.values.length, at: (width) => spark(chart.values, width, unicode) };
    case "span":
      return { width: whole, at: (width) => span(chart.from, chart.to, width, unicode) };
  }
}

/** Blocks of one to seven eighths of a column, from its left edge. */
const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** Blocks that fill so many columns; whatever is more than nothing shows. */
function blocks(columns: number): string {
  const parts = Math.max(1, Math.round(columns * 8));
  return "█".repeat(Math.floor(parts / 8)) + (eighths[parts % 8] ?? "");
}

function bar(value: number, width: number, unicode: boolean): string {
  const length = share(value) * width;
  if (length === 0) return "";
  return unicode ? blocks(length) : "#".repeat(Math.max(1, Math.round(length)));
}

/** The first step is for nothing at all, the last for the largest value. */
const steps = { unicode: [..."▁▂▃▄▅▆▇█"], ascii: [..."_.-=#"] } as const;

/** Where there are more values than columns, a column shows the largest of its own. */
function spark(values: readonly (number | null)[], width: number, unicode: boolean): string {
  const [least = "", ...more] = unicode ? steps.unicode : steps.ascii;
  const shown = values.length > width ? peaks(values, width) : values;
  const most = values.reduce<number>((high, value) => Math.max(high, value ?? 0), 0);
  return shown
    .map((value) => {
      if (value === null || Number.isNaN(value)) return " ";
      if (value <= 0) return least;
      return more[Math.min(more.length - 1, Math.floor((value / most) * more.length))] ?? "";
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

/** A number as a share of the whole; what is none is nothing. */
const share = (value: number): number => (value > 0 ? Math.min(value, 1) : 0);
