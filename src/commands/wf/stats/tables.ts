import { formatSeconds, sum } from "../../../lib/numbers.ts";
import { left, right } from "../../../output/report-model.ts";
import type { Cell, Section } from "../../../output/report-model.ts";
import { gateSections } from "../../conditions/index.ts";
import type { StatsData } from "./data.ts";
import { figureNames, formatAmount, formatChange, formatFigure, unitOf } from "./fields.ts";
import type { FigureName, Grouping } from "./fields.ts";

/** All tables of `wf stats`; `notes` follow the first. */
export const statsSections = (data: StatsData, notes: readonly string[]): Section[] => {
  const { conditions, status, periods, errors, by } = sectionsOf(data);
  return [figuresSection(data, notes), ...conditions, status, ...periods, ...errors, ...by];
};

/** The tables but that of the figures; the lists are empty where there is nothing to show. */
export const sectionsOf = (data: StatsData) => ({
  conditions: gateSections(data.conditions, (figure, value) =>
    formatFigure(figure as FigureName, value),
  ),
  status: statusSection(data),
  periods: data.periods.rows.length > 0 ? [periodSection(data)] : [],
  errors: data.errors.groups.length > 0 ? [errorSection(data.errors)] : [],
  by: Object.entries(data.by).map(([by, groups]) => groupSection(by as Grouping, groups)),
});

const dateOf = (second: number | null) => (second === null ? null : new Date(second * 1000));

/** Maximum number of points of a trend; more are not readable in a table. */
const MAX_POINTS = 24;

function figuresSection(data: StatsData, notes: readonly string[]): Section {
  const { before, figures, periods } = data;
  // As text, because a column with dates has their zone in its heading.
  const textOf = (second: number | null) =>
    dateOf(second)?.toISOString().replace(".000Z", "Z") ?? null;
  const times = (edge: "since" | "until"): Cell[] => [
    edge,
    textOf(data[edge]),
    null,
    ...(before ? [textOf(before[edge]), null] : []),
    null,
  ];
  const sparkline = (name: FigureName): Cell => {
    const values = trendOf(name, periods.rows, MAX_POINTS);
    return values ? { chart: "spark", values } : null;
  };
  const rows = figureNames.map((name): Cell[] => [
    name,
    formatAmount(name, figures[name]),
    unitOf(name),
    ...(before
      ? [
          formatAmount(name, before.figures[name]),
          formatChange(name, figures[name], before.figures[name]),
        ]
      : []),
    sparkline(name),
  ]);
  return {
    title: "Runs",
    columns: [
      left("figure"),
      right("value"),
      left("unit"),
      ...(before ? [right("before"), right("change")] : []),
      left("trend"),
    ],
    rows: [times("since"), times("until"), ...rows],
    notes,
  };
}

const statusSection = ({ figures: { runs }, statuses }: StatsData): Section => ({
  title: "By status",
  columns: [left("status"), right("runs"), right("%"), left("share")],
  rows: Object.entries(statuses).map(([status, count]) => [
    status,
    count,
    ((count / runs) * 100).toFixed(2),
    { chart: "bar", value: count / runs },
  ]),
});

/** The table of the periods. */
export function periodSection({ periods }: Pick<StatsData, "periods">): Section {
  const { unit, time_zone, rows } = periods;
  const maxRuns = Math.max(1, ...rows.map(({ runs }) => runs));
  return {
    title: `Per ${unit}`,
    columns: [
      left(unit === "hour" ? unit : `${unit} (${time_zone})`),
      right("runs"),
      right("failed_runs"),
      right("p50"),
      right("p95"),
      right("tokens"),
      left(""),
    ],
    rows: rows.map(({ start, label, runs, failed_runs, p50, p95, tokens }) => [
      unit === "hour" ? dateOf(start) : label,
      runs,
      redUnlessZero(failed_runs, failed_runs),
      secondsCell(p50),
      secondsCell(p95),
      tokens,
      { chart: "bar", value: runs / maxRuns },
    ]),
  };
}

const secondsCell = (seconds: number | null): Cell =>
  seconds === null ? null : formatSeconds(seconds);

/** A cell about failed runs. */
const redUnlessZero = (cell: string | number | null, failedRuns: number): Cell =>
  failedRuns === 0 || cell === null ? cell : { text: String(cell), tone: "bad" };

/** The share of a group in all runs, those of omitted groups included. */
function shareIn({ groups, others }: Groups): (group: { readonly runs: number }) => Cell {
  const all = others.runs + sum(groups.map(({ runs }) => runs));
  return ({ runs }) => ({ chart: "bar", value: runs / all });
}

function errorSection(errors: StatsData["errors"]): Section {
  const share = shareIn(errors);
  return {
    title: "Errors",
    columns: [right("runs"), left("error"), left("last seen"), left("example run"), left("share")],
    rows: errors.groups.map((group) => [
      group.runs,
      group.error,
      dateOf(group.last_seen),
      group.example_run,
      share(group),
    ]),
    ...omittedNote(errors),
  };
}

/** The table of the groups by one field. */
export function groupSection(by: Grouping, data: StatsData["by"][string]): Section {
  const share = shareIn(data);
  return {
    title: `By ${by}`,
    columns: [
      left(by),
      right("runs"),
      right("failed (%)"),
      right("p50"),
      right("p95"),
      right("tokens"),
      left("share"),
    ],
    rows: data.groups.map((group) => [
      group[by] ?? null,
      group.runs,
      redUnlessZero(formatAmount("failed", group.failed), group.failed_runs),
      secondsCell(group.p50),
      secondsCell(group.p95),
      group.tokens,
      share(group),
    ]),
    ...omittedNote(data),
  };
}

interface Groups {
  readonly groups: readonly { readonly runs: number }[];
  /** The groups that the list omits. */
  readonly others: { readonly groups: number; readonly runs: number };
}

/** A note on the groups that a list omits. */
export const omittedNote = ({
  others: { groups, runs },
}: Pick<Groups, "others">): Pick<Section, "notes"> =>
  groups === 0 ? {} : { notes: [`${runs} runs in ${groups} more groups; use --top to show more`] };

/** Figures with a trend, and how to merge the values of several periods. */
const trends = {
  runs: sum,
  failed_runs: sum,
  p95: (values: readonly number[]) => Math.max(...values),
  tokens: sum,
};

/** Number of points of a trend in a line of text. */
const LINE_POINTS = 8;

/** The trend of a figure over the periods; undefined without at least two values. */
export function trendOf(
  name: FigureName,
  periods: StatsData["periods"]["rows"],
  points = LINE_POINTS,
): readonly (number | null)[] | undefined {
  if (!(name in trends)) return undefined;
  const drawn = name as keyof typeof trends;
  const values = periods.map((row) => row[drawn]);
  const trend = mergedPoints(values, trends[drawn], points);
  return trend.filter((value) => value !== null).length < 2 ? undefined : trend;
}

/** The points of a trend, each merged from equally many periods; null without data. */
function mergedPoints(
  values: readonly (number | null)[],
  merge: (values: readonly number[]) => number,
  points: number,
): (number | null)[] {
  const size = Math.max(1, Math.ceil(values.length / points));
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) => {
    const known = values.slice(index * size, (index + 1) * size).filter((value) => value !== null);
    return known.length === 0 ? null : merge(known);
  });
}
