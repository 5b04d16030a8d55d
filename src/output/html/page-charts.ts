import type { Chart, Tone } from "../report-model.ts";
import { escapeLine } from "./markup.ts";

/** What a reader that hears the page is told about a column of charts without a label. */
export const chartLabels = { bar: "Share", spark: "Trend", span: "Timeline" } as const;

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
  `<svg class="${kind}${tone === undefined ? "" : ` ${tone}`}" viewBox="0 0 ${size}" preserveAspectRatio="none" aria-hidden="true">${shapes}</svg>`;

const barShapes = (value: number): string =>
  `<rect class="track" width="100" height="10"/><rect width="${rounded(atLeast(1, 100 * share(value)))}" height="10"/>`;

/** Anything but nothing is visible. */
const atLeast = (min: number, size: number): number => (size === 0 ? 0 : Math.max(min, size));

/** Thousandths of the width that a span takes at least. */
const MIN_SPAN = 4;

function spanShapes(from: number, to: number): string {
  const start = Math.min(1000 - MIN_SPAN, 1000 * share(from));
  const width = Math.min(1000 - start, Math.max(MIN_SPAN, 1000 * share(to) - start));
  const lines = [250, 500, 750].map((x) => `<path class="tick" d="M${x} 0v10"/>`).join("");
  return `${lines}<rect x="${rounded(start)}" width="${rounded(width)}" height="10"/>`;
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
    return `<rect x="${index * STEP}" y="${rounded(HEIGHT - height)}" width="${STEP - 1}" height="${rounded(height)}"/>`;
  });
  const last = known.at(-1);
  const label =
    last === undefined
      ? "no values"
      : `${known.length} values from ${amount(min)} to ${amount(max)}, last ${amount(last)}`;
  return `<svg class="spark" viewBox="0 0 ${Math.max(1, values.length * STEP)} ${HEIGHT}" width="${values.length * STEP}" height="${HEIGHT}" role="img" aria-label="${escapeLine(label)}">${bars.join("")}</svg>`;
}

const amount = (value: number): string => String(Number(value.toPrecision(3)));
const rounded = (value: number): number => Number(value.toFixed(2));

/** A number limited to 0 to 1; 0 if it is not a number. */
const share = (value: number): number => (value > 0 ? Math.min(value, 1) : 0);
