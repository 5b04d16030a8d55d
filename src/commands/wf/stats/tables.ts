import type { Cell, Heading, Section } from "../../../output/report-model.ts";
import { formatFigure, formatChange, formatAmount, unitOf } from "./format.ts";
import type { OmittedGroups } from "./error-groups.ts";
import { figureNames } from "../stats-fields.ts";
import type { FigureName } from "../stats-fields.ts";
import { gateSections } from "../../conditions/index.ts";
import type { ConditionResult } from "../../conditions/index.ts";
import type { TimeSpan } from "./sources.ts";
import type { Summary } from "./summary.ts";

/** The tables of `wf stats`; `notes` follow the first. */
export const statsSections = (
  summary: Summary,
  results: readonly ConditionResult[],
  notes: readonly string[],
): Section[] => [
  figuresSection(summary, notes),
  ...gateSections(results, (figure, value) => formatFigure(figure as FigureName, value)),
  statusSection(summary),
  ...(summary.periods.length > 0 ? [periodSection(summary)] : []),
  ...(summary.errors.groups.length > 0 ? [errorSection(summary.errors)] : []),
  ...summary.groups.map(groupSection),
];

const left = (label: string): Heading => ({ label });
const right = (label: string): Heading => ({ label, right: true });
const dateOf = (second: number) => new Date(second * 1000);

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** Figures drawn as a trend, and how to merge the values of several periods. */
const trends: Partial<Record<FigureName, (values: readonly number[]) => number>> = {
  runs: sum,
  failed_runs: sum,
  p95: (values) => Math.max(...values),
  tokens: sum,
};

function figuresSection(
  { span, before, figures, periods }: Summary,
  notes: readonly string[],
): Section {
  const earlier = before?.figures;
  const times = (edge: keyof TimeSpan): Cell[] => [
    edge,
    span ? dateOf(span[edge]) : null,
    null,
    ...(before ? [dateOf(before.span[edge]), null] : []),
    null,
  ];
  const trendOf = (name: FigureName): Cell => {
    const merge = trends[name];
    if (merge === undefined || periods.length < 2) return null;
    const values = periods.map((period) => period.figures[name]);
    return { chart: "spark", values: sparkline(values, merge) };
  };
  const rows = figureNames.map((name): Cell[] => [
    name,
    formatAmount(name, figures[name]),
    unitOf(name),
    ...(earlier
      ? [formatAmount(name, earlier[name]), formatChange(name, figures[name], earlier[name])]
      : []),
    trendOf(name),
  ]);
  return {
    title: "Runs",
    columns: [
      left("figure"),
      right("value"),
      left("unit"),
      ...(earlier ? [right("before"), right("change")] : []),
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
  values: readonly (number | undefined)[],
  merge: (values: readonly number[]) => number,
): (number | null)[] {
  const size = Math.ceil(values.length / MAX_POINTS);
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) => {
    const known = values
      .slice(index * size, (index + 1) * size)
      .filter((value) => value !== undefined);
    return known.length === 0 ? null : merge(known);
  });
}

const statusSection = ({ figures: { runs }, statuses }: Summary): Section => ({
  title: "By status",
  columns: [left("status"), right("runs"), right("%"), left("share")],
  rows: statuses.map(([status, count]) => [
    status,
    count,
    ((count / runs) * 100).toFixed(2),
    { chart: "bar", value: count / runs },
  ]),
});

function periodSection({ unit, timeZone, periods }: Summary): Section {
  const maxRuns = Math.max(1, ...periods.map(({ figures }) => figures.runs));
  return {
    title: `Per ${unit}`,
    columns: [
      left(unit === "hour" ? unit : `${unit} (${timeZone})`),
      right("runs"),
      left(""),
      right("failed_runs"),
      right("p95 (s)"),
      right("tokens"),
    ],
    rows: periods.map(({ start, label, figures: { runs, failed_runs, p95, tokens } }) => [
      unit === "hour" ? dateOf(start) : label,
      runs,
      { chart: "bar", value: runs / maxRuns },
      failed_runs,
      formatAmount("p95", p95),
      formatAmount("tokens", tokens),
    ]),
  };
}

function errorSection({ groups, others }: Summary["errors"]): Section {
  const all = others.runs + sum(groups.map(({ runs }) => runs));
  return {
    title: "Errors",
    columns: [right("runs"), left("share"), left("error"), left("last seen"), left("example run")],
    rows: groups.map(({ error, runs, lastSeen, example }) => [
      runs,
      { chart: "bar", value: runs / all },
      error,
      lastSeen === undefined ? null : dateOf(lastSeen),
      example ?? null,
    ]),
    ...omittedNote(others),
  };
}

function groupSection({ by, rows, others }: Summary["groups"][number]): Section {
  const all = others.runs + sum(rows.map(({ figures }) => figures.runs));
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
    rows: rows.map(({ name, figures }) => [
      name || null,
      figures.runs,
      { chart: "bar", value: figures.runs / all },
      ...(["failed", "p50", "p95", "tokens"] as const).map((figure) =>
        formatAmount(figure, figures[figure]),
      ),
    ]),
    ...omittedNote(others),
  };
}

/** The note about omitted groups. */
const omittedNote = ({ groups, runs }: OmittedGroups) =>
  groups === 0 ? {} : { notes: [`${runs} runs in ${groups} more groups; use --top to show more`] };
