import { left, right } from "../../../output/report-model.ts";
import type { Cell, Section } from "../../../output/report-model.ts";
import { gateSections } from "../../conditions/index.ts";
import { figureNames } from "../stats-fields.ts";
import type { FigureName, Grouping } from "../stats-fields.ts";
import type { StatsData } from "./data.ts";
import { sum } from "../../../lib/numbers.ts";
import { formatAmount, formatChange, formatFigure, unitOf } from "./format.ts";

/** The tables of `wf stats`; `notes` follow the first. */
export const statsSections = (data: StatsData, notes: readonly string[]): Section[] => [
  figuresSection(data, notes),
  ...gateSections(data.conditions, (figure, value) => formatFigure(figure as FigureName, value)),
  statusSection(data),
  ...(data.periods.rows.length > 0 ? [periodSection(data)] : []),
  ...(data.errors.groups.length > 0 ? [errorSection(data.errors)] : []),
  ...Object.entries(data.by).map(([by, groups]) => groupSection(by as Grouping, groups)),
];

const dateOf = (second: number | null) => (second === null ? null : new Date(second * 1000));

/** Figures drawn as a trend, and how to merge the values of several periods. */
const trends = {
  runs: sum,
  failed_runs: sum,
  p95: (values: readonly number[]) => Math.max(...values),
  tokens: sum,
};

function figuresSection(data: StatsData, notes: readonly string[]): Section {
  const { before, figures, periods } = data;
  const times = (edge: "since" | "until"): Cell[] => [
    edge,
    dateOf(data[edge]),
    null,
    ...(before ? [dateOf(before[edge]), null] : []),
    null,
  ];
  const trendOf = (name: FigureName): Cell => {
    if (!(name in trends) || periods.rows.length < 2) return null;
    const drawn = name as keyof typeof trends;
    const values = periods.rows.map((row) => row[drawn]);
    return { chart: "spark", values: sparkline(values, trends[drawn]) };
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
    trendOf(name),
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

/** Maximum number of points of a trend; more are not readable in a table. */
const MAX_POINTS = 24;

/** The points of a trend, each merged from equally many periods; null without data. */
function sparkline(
  values: readonly (number | null)[],
  merge: (values: readonly number[]) => number,
): (number | null)[] {
  const size = Math.ceil(values.length / MAX_POINTS);
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) => {
    const known = values.slice(index * size, (index + 1) * size).filter((value) => value !== null);
    return known.length === 0 ? null : merge(known);
  });
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

function periodSection({ periods: { unit, time_zone, rows } }: StatsData): Section {
  const maxRuns = Math.max(1, ...rows.map(({ runs }) => runs));
  return {
    title: `Per ${unit}`,
    columns: [
      left(unit === "hour" ? unit : `${unit} (${time_zone})`),
      right("runs"),
      left(""),
      right("failed_runs"),
      right("p95 (s)"),
      right("tokens"),
    ],
    rows: rows.map(({ start, label, runs, failed_runs, p95, tokens }) => [
      unit === "hour" ? dateOf(start) : label,
      runs,
      { chart: "bar", value: runs / maxRuns },
      failed_runs,
      formatAmount("p95", p95),
      tokens,
    ]),
  };
}

/** The share of a group in all runs, those of omitted groups included. */
function shareIn({ groups, others }: Groups): (group: { readonly runs: number }) => Cell {
  const all = others.runs + sum(groups.map(({ runs }) => runs));
  return ({ runs }) => ({ chart: "bar", value: runs / all });
}

function errorSection(errors: StatsData["errors"]): Section {
  const share = shareIn(errors);
  return {
    title: "Errors",
    columns: [right("runs"), left("share"), left("error"), left("last seen"), left("example run")],
    rows: errors.groups.map((group) => [
      group.runs,
      share(group),
      group.error,
      dateOf(group.last_seen),
      group.example_run,
    ]),
    ...omittedNote(errors),
  };
}

function groupSection(by: Grouping, data: StatsData["by"][string]): Section {
  const share = shareIn(data);
  return {
    title: `By ${by}`,
    columns: [
      left(by),
      right("runs"),
      left("share"),
      right("failed (%)"),
      right("p50 (s)"),
      right("p95 (s)"),
      right("tokens"),
    ],
    rows: data.groups.map((group) => [
      group[by] ?? null,
      group.runs,
      share(group),
      ...(["failed", "p50", "p95", "tokens"] as const).map((figure) =>
        formatAmount(figure, group[figure]),
      ),
    ]),
    ...omittedNote(data),
  };
}

interface Groups {
  readonly groups: readonly { readonly runs: number }[];
  /** The groups that the list omits. */
  readonly others: { readonly groups: number; readonly runs: number };
}

const omittedNote = ({ others: { groups, runs } }: Groups): Pick<Section, "notes"> =>
  groups === 0 ? {} : { notes: [`${runs} runs in ${groups} more groups; use --top to show more`] };
