import type { Cell, Heading, Section } from "../../../output/report-model.ts";
import { amount, formatChange, formatAmount, unitOf } from "./format.ts";
import type { Others } from "./error-groups.ts";
import { figureNames } from "../stats-fields.ts";
import type { FigureName } from "../stats-fields.ts";
import type { ConditionResult } from "./gate.ts";
import type { TimeSpan } from "./sources.ts";
import type { Summary } from "./summary.ts";

/** The tables of `wf stats`; `notes` stand below the first. */
export const statsSections = (
  summed: Summary,
  judged: readonly ConditionResult[],
  notes: readonly string[],
): Section[] => [
  summary(summed, notes),
  ...(judged.length > 0 ? [conditionsSection(judged)] : []),
  statusSection(summed),
  ...(summed.periods.length > 0 ? [periodSection(summed)] : []),
  ...(summed.errors.groups.length > 0 ? [errorSection(summed.errors)] : []),
  ...summed.groups.map(groupSection),
];

const left = (label: string): Heading => ({ label });
const right = (label: string): Heading => ({ label, right: true });
const dateOf = (second: number) => new Date(second * 1000);

/** Figures whose way through time is drawn, and how one point of it is made of several. */
const trends: Partial<Record<FigureName, (values: readonly number[]) => number>> = {
  runs: (values) => values.reduce((sum, value) => sum + value, 0),
  failed_runs: (values) => values.reduce((sum, value) => sum + value, 0),
  p95: (values) => Math.max(...values),
  tokens: (values) => values.reduce((sum, value) => sum + value, 0),
};

function summary({ span, before, figures, periods }: Summary, notes: readonly string[]): Section {
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
    return { chart: "spark", values: drawn(values, merge) };
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

/** Points of a drawn line; more of them tell nothing in a table. */
const mostPoints = 24;

/** As few points as are drawn, each of as many periods; null where nothing is known of any. */
function drawn(
  values: readonly (number | undefined)[],
  merge: (values: readonly number[]) => number,
): (number | null)[] {
  const each = Math.ceil(values.length / mostPoints);
  return Array.from({ length: Math.ceil(values.length / each) }, (_, index) => {
    const known = values
      .slice(index * each, (index + 1) * each)
      .filter((value) => value !== undefined);
    return known.length === 0 ? null : merge(known);
  });
}

const conditionsSection = (judged: readonly ConditionResult[]): Section => ({
  title: "Conditions that must not hold",
  columns: [left("condition"), right("value"), left("verdict")],
  rows: judged.map(({ condition, figure, value, verdict }) => [
    condition,
    value === undefined ? null : amount(figure, value),
    { text: verdict, tone: verdict === "passed" ? "good" : verdict === "failed" ? "bad" : "warn" },
  ]),
});

const statusSection = ({ figures: { runs }, statuses }: Summary): Section => ({
  title: "By status",
  columns: [left("status"), right("runs"), right("%"), left("share")],
  rows: statuses.map(([status, of]) => [
    status,
    of,
    ((of / runs) * 100).toFixed(2),
    { chart: "bar", value: of / runs },
  ]),
});

function periodSection({ unit, timeZone, periods }: Summary): Section {
  const most = Math.max(1, ...periods.map(({ figures }) => figures.runs));
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
      { chart: "bar", value: runs / most },
      failed_runs,
      formatAmount("p95", p95),
      formatAmount("tokens", tokens),
    ]),
  };
}

function errorSection({ groups, others }: Summary["errors"]): Section {
  const all = groups.reduce((sum, { runs }) => sum + runs, others.runs);
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
    ...notesOf(others),
  };
}

function groupSection({ by, rows, others }: Summary["groups"][number]): Section {
  const all = rows.reduce((sum, { figures }) => sum + figures.runs, others.runs);
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
    ...notesOf(others),
  };
}

/** Says what a list of groups leaves out. */
const notesOf = ({ groups, runs }: Others) =>
  groups === 0 ? {} : { notes: [`${runs} runs in ${groups} further groups; --top shows more`] };
