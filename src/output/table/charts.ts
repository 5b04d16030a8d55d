import type { Chart } from "../report-model.ts";
import type { TextChart } from "./table.ts";

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
