import type { Plot, ReportPage, Tile } from "../report-model.ts";
import type { Times } from "../style.ts";
import { classesOf, escapeLine, twoPlaces } from "./page-table.ts";

/** What stands between the title of a page and its tables. */
export function overviewHtml({ facts = {}, tiles = [], plots = [] }: ReportPage, times: Times) {
  const known = Object.entries(facts).flatMap(([name, text]) =>
    text === null ? [] : [`<div><dt>${escapeLine(name)}</dt><dd>${escapeLine(text)}</dd></div>`],
  );
  return [
    known.length === 0 ? "" : `<dl class="facts">${known.join("")}</dl>`,
    tiles.length === 0 ? "" : `<ul class="tiles">${tiles.map(tileHtml).join("")}</ul>`,
    plots.length === 0
      ? ""
      : `<div class="plots">\n${plots.map((plot) => plotHtml(plot, times)).join("\n")}\n</div>`,
  ].filter((part) => part !== "");
}

const tileHtml = ({ label, value, tone, note }: Tile): string =>
  [
    `<li${classesOf([tone])}>`,
    `<span class="label">${escapeLine(label)}</span> <strong>${escapeLine(value)}</strong>`,
    note === undefined ? "" : ` <span class="of">${escapeLine(note)}</span>`,
    "</li>",
  ].join("");

/** Units of a plot, which is stretched to the room that it gets. */
const WIDTH = 1000;
const HEIGHT = 100;

/** Labels on each axis, at most. */
const MAX_STEPS = 4;
const MAX_LABELS = 4;

/** A chart with its axes, whose labels are text of the page: the picture is stretched. */
function plotHtml(plot: Plot, times: Times): string {
  const { title, kind, series, format } = plot;
  const points = plot.points.map((at) => (typeof at === "string" ? at : times.text(at)));
  const scale = scaleOf(plot);
  const end = scale.at(-1) ?? 1;
  const lines = scale.map((at) => `M0 ${height(at, end)}h${WIDTH}`).join("");
  const shapes = kind === "bars" ? barsOf(plot, points, end) : linesOf(plot, end);
  const named = series.map(
    ({ label }, index) => `<span class="series-${index + 1}">${escapeLine(label)}</span>`,
  );
  const legend = named.length < 2 ? "" : ` <span class="legend">${named.join(" ")}</span>`;
  const label = `${title}: ${series.map((each) => summary(each, format)).join("; ")}`;
  return [
    `<figure class="plot ${kind}"><figcaption>${escapeLine(title)}${legend}</figcaption>`,
    `<div class="plane"><div class="y" aria-hidden="true">${spans(scale.toReversed().map(format))}</div>`,
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${escapeLine(label)}"><path class="tick" d="${lines}"/>${shapes}</svg>`,
    `<div class="x" aria-hidden="true">${cells(points)}</div></div></figure>`,
  ].join("\n");
}

const spans = (texts: readonly string[]): string =>
  texts.map((text) => `<span>${escapeLine(text)}</span>`).join("");

/** A cell below each point, of the same width; the first, the last and some between them have a label. */
function cells(points: readonly string[]): string {
  const last = points.length - 1;
  const count = Math.min(MAX_LABELS, last);
  const labelled = Array.from({ length: count + 1 }, (_, at) =>
    Math.round((at * last) / Math.max(1, count)),
  );
  return points
    .map((point, at) => `<span>${labelled.includes(at) ? spans([point]) : ""}</span>`)
    .join("");
}

type Series = Plot["series"][number];
const known = (values: Series["values"]): number[] => values.filter((value) => value !== null);

/** `p95 from 1.0 s to 2.5 s, last 2.0 s` */
function summary({ label, values }: Series, format: Plot["format"]): string {
  const all = known(values);
  if (all.length === 0) return `${label} unknown`;
  const [low, high] = [Math.min(...all), Math.max(...all)];
  return `${label} from ${format(low)} to ${format(high)}, last ${format(all.at(-1) ?? 0)}`;
}

/** The values at the lines of a plot, from 0 to one that is at least the largest value; each has another label. */
export function scaleOf({ kind, series, points, max, format }: Omit<Plot, "title">): number[] {
  const all = series.flatMap(({ values }) => known(values));
  const totals = points.map((_, at) =>
    series.reduce((total, { values }) => total + (values[at] ?? 0), 0),
  );
  const high = max ?? Math.max(0, ...(kind === "bars" ? totals : all));
  if (high === 0) return [0, 1];
  const magnitude = 10 ** Math.floor(Math.log10(high / MAX_STEPS));
  const fitting = [1, 2, 2.5, 5, 10, 20, 50, 100].map((each) => each * magnitude);
  const isWhole = all.every(Number.isInteger);
  const areDistinct = (each: number) =>
    format(each) !== format(0) && format(2 * each) !== format(each);
  const step = fitting.find(
    (each) => each * MAX_STEPS >= high && (!isWhole || Number.isInteger(each)) && areDistinct(each),
  );
  const size = step ?? Math.max(1, 10 * magnitude);
  const count = Math.ceil(Number((high / size).toFixed(6)));
  return Array.from({ length: count + 1 }, (_, at) => Number((at * size).toPrecision(6)));
}

const height = (value: number, end: number): number => twoPlaces(HEIGHT - (HEIGHT * value) / end);

const classOf = ({ tone }: Series, index: number): string =>
  classesOf([`series-${index + 1}`, tone]);

/** A stack of bars for each point, with a title for a pointer. */
function barsOf({ series, format }: Plot, points: readonly string[], end: number): string {
  const slot = WIDTH / Math.max(1, points.length);
  return points
    .map((point, at) => {
      let total = 0;
      const bars = series.map((each, index) => {
        const value = each.values[at] ?? 0;
        total += value;
        return value === 0
          ? ""
          : `<rect${classOf(each, index)} x="${twoPlaces(slot * (at + 0.1))}" y="${height(total, end)}" width="${twoPlaces(slot * 0.8)}" height="${twoPlaces((HEIGHT * value) / end)}"/>`;
      });
      const texts = series.map(({ label, values }) => `${format(values[at] ?? 0)} ${label}`);
      return `<g><title>${escapeLine(`${point}: ${texts.join(", ")}`)}</title>${bars.join("")}</g>`;
    })
    .join("");
}

/** A line for each series, with gaps where a value is unknown; a value between gaps is a dot. */
const linesOf = ({ series, points }: Plot, end: number): string =>
  series
    .map((each, index) => {
      const slot = WIDTH / Math.max(1, points.length);
      const path = each.values.map((value, at) => {
        if (value === null) return "";
        const x = twoPlaces(slot * (at + 0.5));
        return (each.values[at - 1] ?? null) === null
          ? `M${x} ${height(value, end)}h0`
          : `L${x} ${height(value, end)}`;
      });
      return `<path${classOf(each, index)} d="${path.join("")}"/>`;
    })
    .join("");
