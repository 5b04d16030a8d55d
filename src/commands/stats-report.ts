import type { Cell, Heading, Report, Section } from "../report.ts";
import { amount, change, shown, unitOf } from "./stats-amounts.ts";
import { figureKinds } from "./stats-fields.ts";
import type { FigureName } from "./stats-fields.ts";
import { figuresOf } from "./stats-figures.ts";
import type { Figures, Tally } from "./stats-figures.ts";
import type { Judged } from "./stats-gate.ts";
import { periodsOf } from "./stats-periods.ts";
import type { Period, Unit } from "./stats-periods.ts";
import type { Reading } from "./stats-reading.ts";
import type { Span } from "./stats-sources.ts";

/** What a report of runs is made of. */
interface Stats {
  /** Undefined when a file holds no run. */
  readonly span: Span | undefined;
  readonly reading: Reading;
  readonly before: { readonly span: Span; readonly tally: Tally } | undefined;
  readonly judged: readonly Judged[];
  /** Why not all runs are counted. */
  readonly incomplete: string | undefined;
  /** Name of the file that was read; undefined for the server. */
  readonly file: string | undefined;
  readonly timeZone: string;
  /** Most rows of a list of groups. */
  readonly top: number;
}

const names = Object.keys(figureKinds) as FigureName[]; // the keys of a constant

export function statsReport(stats: Stats): Report {
  const { span, reading, before, judged, timeZone, top } = stats;
  const figures = figuresOf(reading.all);
  const earlier = before && figuresOf(before.tally);
  const { unit, periods } = span
    ? periodsOf(reading.quarters, span.since, span.until, timeZone)
    : { unit: "hour" as const, periods: [] };
  const errors = reading.errors.top(top);
  const groups = [...reading.groups].map(([by, tallies]) => ({ by, ...largest(tallies, top) }));
  return {
    data: {
      file: stats.file ?? null,
      since: span?.since ?? null,
      until: span?.until ?? null,
      complete: stats.incomplete === undefined,
      figures: asJson(figures),
      statuses: Object.fromEntries(byCount(reading.all.statuses)),
      before:
        before && earlier
          ? {
              ...before.span,
              figures: asJson(earlier),
              statuses: Object.fromEntries(byCount(before.tally.statuses)),
              change: changes(figures, earlier),
            }
          : null,
      conditions: judged.map((each) => ({ ...each, value: each.value ?? null })),
      periods: { unit, time_zone: timeZone, rows: periods.map(periodData) },
      errors: {
        groups: errors.groups.map(({ error, runs, lastSeen, example }) => ({
          error,
          runs,
          last_seen: lastSeen ?? null,
          example_run: example ?? null,
        })),
        others: errors.others,
      },
      by: Object.fromEntries(
        groups.map(({ by, rows, others }) => [
          by,
          { groups: rows.map(([name, each]) => groupData(by, name, each)), others },
        ]),
      ),
    },
    sections: [
      summary(stats, figures, earlier, periods),
      ...(judged.length > 0 ? [conditionsSection(judged)] : []),
      statusSection(reading.all),
      ...(periods.length > 0 ? [periodSection(unit, timeZone, periods)] : []),
      ...(errors.groups.length > 0 ? [errorSection(errors)] : []),
      ...groups.map((each) => groupSection(each)),
    ],
  };
}

const asJson = (figures: Figures) =>
  Object.fromEntries(names.map((name) => [name, figures[name] ?? null]));

/** Differences of figures that both times have. */
const changes = (figures: Figures, before: Figures) =>
  Object.fromEntries(
    names.map((name) => {
      const [now, then] = [figures[name], before[name]];
      const known = now !== undefined && then !== undefined;
      return [name, known ? Number((now - then).toFixed(6)) : null];
    }),
  );

const byCount = (counts: ReadonlyMap<string, number>) =>
  [...counts].sort(([a, of], [b, and]) => and - of || (a < b ? -1 : 1));

const periodData = ({ start, label, tally }: Period) => {
  const { runs, failed_runs, p95, tokens } = figuresOf(tally);
  return { start, label, runs, failed_runs, p95: p95 ?? null, tokens: tokens ?? null };
};

const groupData = (by: string, name: string, tally: Tally) => ({
  [by]: name === "" ? null : name,
  ...asJson(figuresOf(tally)),
});

/** The largest groups, and how many others there are with how many runs. */
function largest(tallies: ReadonlyMap<string, Tally>, top: number) {
  const sorted = [...tallies].sort(
    ([a, { runs }], [b, other]) => other.runs - runs || (a < b ? -1 : 1),
  );
  const rest = sorted.slice(top);
  const runs = rest.reduce((sum, [, each]) => sum + each.runs, 0);
  return { rows: sorted.slice(0, top), others: { groups: rest.length, runs } };
}

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

function summary(
  { span, before, incomplete, reading, file }: Stats,
  figures: Figures,
  earlier: Figures | undefined,
  periods: readonly Period[],
): Section {
  const perPeriod = periods.map(({ tally }) => figuresOf(tally));
  const times = (edge: keyof Span): Cell[] => [
    edge,
    span ? dateOf(span[edge]) : null,
    null,
    ...(before ? [dateOf(before.span[edge]), null] : []),
    null,
  ];
  const rows = names.map((name): Cell[] => {
    const trend = trends[name];
    return [
      name,
      shown(name, figures[name]),
      unitOf(name),
      ...(earlier ? [shown(name, earlier[name]), change(name, figures[name], earlier[name])] : []),
      trend && perPeriod.length > 1
        ? {
            chart: "spark",
            values: drawn(
              perPeriod.map((each) => each[name]),
              trend,
            ),
          }
        : null,
    ];
  });
  const { byClock, runs } = reading.all;
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
    notes: [
      ...(runs === 0 ? [file === undefined ? noRuns : "no runs"] : []),
      ...(incomplete === undefined ? [] : [`incomplete: ${incomplete}`]),
      ...(byClock > 0
        ? [
            `times from start to finish, because the server has that of a part of the run: ${byClock}`,
          ]
        : []),
    ],
  };
}

/** Server §12. */
const noRuns = "no runs; the log of a chatflow is always empty";

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

const conditionsSection = (judged: readonly Judged[]): Section => ({
  title: "Conditions that must not hold",
  columns: [left("condition"), right("value"), left("verdict")],
  rows: judged.map(({ condition, figure, value, verdict }) => [
    condition,
    value === undefined ? null : amount(figure, value),
    { text: verdict, tone: verdict === "passed" ? "good" : verdict === "failed" ? "bad" : "warn" },
  ]),
});

function statusSection({ runs, statuses }: Tally): Section {
  return {
    title: "By status",
    columns: [left("status"), right("runs"), right("%"), left("share")],
    rows: byCount(statuses).map(([status, of]) => [
      status,
      of,
      ((of / runs) * 100).toFixed(2),
      { chart: "bar", value: of / runs },
    ]),
  };
}

function periodSection(unit: Unit, timeZone: string, periods: readonly Period[]): Section {
  const most = Math.max(1, ...periods.map(({ tally }) => tally.runs));
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
    rows: periods.map(({ start, label, tally }) => {
      const { runs = 0, failed_runs = 0, p95, tokens = null } = figuresOf(tally);
      return [
        unit === "hour" ? dateOf(start) : label,
        runs,
        { chart: "bar", value: runs / most },
        failed_runs,
        shown("p95", p95),
        tokens,
      ];
    }),
  };
}

function errorSection({ groups, others }: ReturnType<Reading["errors"]["top"]>): Section {
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

function groupSection({ by, rows, others }: { by: string } & ReturnType<typeof largest>): Section {
  const all = rows.reduce((sum, [, { runs }]) => sum + runs, others.runs);
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
    rows: rows.map(([name, tally]) => {
      const { runs = 0, failed, p50, p95, tokens = null } = figuresOf(tally);
      return [
        name === "" ? null : name,
        runs,
        { chart: "bar", value: runs / all },
        shown("failed", failed),
        shown("p50", p50),
        shown("p95", p95),
        tokens,
      ];
    }),
    ...notesOf(others),
  };
}

/** Says what a list of groups leaves out. */
const notesOf = ({ groups, runs }: { readonly groups: number; readonly runs: number }) =>
  groups === 0 ? {} : { notes: [`${runs} runs in ${groups} further groups; --top shows more`] };
