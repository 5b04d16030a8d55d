import { formatSeconds, groupDigits, localClock, spanText, sum } from "../../../lib/numbers.ts";
import { left, noTable, right } from "../../../output/report-model.ts";
import type { Cell, Section, TextLine, TextPart } from "../../../output/report-model.ts";
import { gateSections } from "../../conditions/index.ts";
import { figureNames } from "./command.ts";
import type { FigureName, Grouping } from "./command.ts";
import { formatAmount, formatChange, formatFigure, formatPercent, unitOf } from "./data.ts";
import type { StatsData } from "./data.ts";
import type { StatsFigures } from "./figures.ts";
import { trendOf } from "./trends.ts";

/** All tables of `wf stats`; `notes` follow the first. */
export const statsSections = (data: StatsData, notes: readonly string[]): Section[] => {
  const { conditions, status, periods, errors, by } = sectionsOf(data);
  return [figuresSection(data, notes), ...conditions, status, ...periods, ...errors, ...by];
};

/** The tables but that of the figures; the lists are empty where there is nothing to show. */
export const sectionsOf = (data: StatsData) => ({
  conditions: conditionSections(data),
  status: statusSection(data),
  periods: data.periods.rows.length > 0 ? [periodSection(data)] : [],
  errors: data.errors.groups.length > 0 ? [errorSection(data.errors)] : [],
  by: Object.entries(data.by).map(([by, groups]) => groupSection(by as Grouping, groups)),
});

const conditionSections = ({ conditions }: StatsData): Section[] =>
  gateSections(conditions, (figure, value) => formatFigure(figure as FigureName, value));

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
    ...beforeCells(data, name, formatAmount),
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

/** A figure of the time before, and its change; none if there was nothing to compare with. */
export const beforeCells = (
  { figures, before }: StatsData,
  name: FigureName,
  format: (name: FigureName, value: number | null) => Cell,
): Cell[] =>
  before
    ? [format(name, before.figures[name]), formatChange(name, figures[name], before.figures[name])]
    : [];

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

function periodSection({ periods }: Pick<StatsData, "periods">): Section {
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

function groupSection(by: Grouping, data: StatsData["by"][string]): Section {
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
const omittedNote = ({
  others: { groups, runs },
}: Pick<Groups, "others">): Pick<Section, "notes"> =>
  groups === 0 ? {} : { notes: [`${runs} runs in ${groups} more groups; use --top to show more`] };

/** What the screen shows besides the data. */
export interface ScreenOptions {
  /** Name of the application, if it tells it. */
  readonly application: string | undefined;
  /** Notes below the figures. */
  readonly notes: readonly string[];
  /** Whether the periods are requested. */
  readonly periods: boolean;
  /** Whether the number of errors is requested; otherwise as many are shown as fit. */
  readonly top: boolean;
}

/** `wf stats` on a terminal: one screen, with periods and groups only if they are requested. */
export function statsScreen(data: StatsData, options: ScreenOptions): Section[] {
  const { before, errors, periods, by } = data;
  return [
    {
      ...noTable,
      title: titleOf(data, options.application),
      lines: [
        { parts: totalParts(data.figures, periods.rows) },
        ...(before ? [beforeLine(before)] : []),
        { parts: otherParts(data.figures) },
      ],
      notes: options.notes,
    },
    ...conditionSections(data),
    ...(errors.groups.length > 0 ? [errorLines(data, options)] : []),
    ...Object.entries(by).map(([name, groups]) => groupSection(name as Grouping, groups)),
    ...(options.periods && periods.rows.length > 0 ? [periodSection(withoutEmpty(data))] : []),
  ];
}

function beforeLine({ since, until, figures }: NonNullable<StatsData["before"]>): TextLine {
  if (figures.runs > 0) return { lead: "before: ", parts: totalParts(figures) };
  return { parts: [{ text: `no runs in the ${spanText(until - since + 1)} before` }] };
}

/** The data without the periods in which no run started, which most are. */
export const withoutEmpty = (data: StatsData): StatsData => ({
  ...data,
  periods: { ...data.periods, rows: data.periods.rows.filter(({ runs }) => runs > 0) },
});

export function titleOf(
  { since, until, periods: { time_zone } }: StatsData,
  application?: string,
): string {
  const runs = application ? `Runs of ${application}` : "Runs";
  if (since === null || until === null) return runs;
  const clock = localClock(time_zone);
  return `${runs} from ${clock(since)} to ${clock(until)} (${time_zone})`;
}

/** How many runs there were, how they ended, and how long they took. */
function totalParts(
  { runs, ended, succeeded, partial, failed_runs, p50, p95 }: StatsFigures,
  periods: StatsData["periods"]["rows"] = [],
): TextPart[] {
  const parts: TextPart[] = [{ text: `${groupDigits(runs)} ${runs === 1 ? "run" : "runs"}` }];
  if (succeeded !== null) {
    const isGood = failed_runs === 0 && !partial;
    // How the others end is open.
    const base = ended < runs ? `${groupDigits(ended)} ended: ` : "";
    parts.push({
      text: `${base}${formatPercent(succeeded)} ok`,
      tone: isGood ? "good" : undefined,
    });
  }
  if (partial)
    parts.push({ text: `${groupDigits(Math.round(partial * ended))} partly`, tone: "warn" });
  if (failed_runs > 0) {
    const trend = trendOf("failed_runs", periods);
    parts.push({ text: `${groupDigits(failed_runs)} failed`, tone: "bad", trend });
  }
  if (p50 !== null) parts.push({ text: `p50 ${formatSeconds(p50)}` });
  if (p95 !== null)
    parts.push({ text: `p95 ${formatSeconds(p95)}`, trend: trendOf("p95", periods) });
  return parts;
}

/** Other figures; zeros are omitted. */
function otherParts({ running, paused, ended, stopped, ...figures }: StatsFigures) {
  const runsOf = (share: number | null) => Math.round((share ?? 0) * ended);
  const parts: readonly (readonly [number | null, string])[] = [
    [running, "running"],
    [paused, "paused"],
    [runsOf(stopped), "stopped"],
    [figures.steps, "steps"],
    [figures.tokens, "tokens"],
    [figures.tokens_p95, "tokens per run (p95)"],
  ];
  return parts.flatMap(([count, unit]): TextPart[] =>
    count ? [{ text: `${groupDigits(count)} ${unit}` }] : [],
  );
}

/** Rows of a terminal that errors may take, and columns of their texts. */
const ERROR_ROWS = 16;
const TEXT_COLUMNS = 72;

function errorLines({ errors, periods }: StatsData, { top }: ScreenOptions): Section {
  const clock = localClock(periods.time_zone);
  const countWidth = groupDigits(Math.max(...errors.groups.map(({ runs }) => runs))).length;
  const lines = errors.groups.map(({ runs, error, last_seen, example_run }): TextLine => ({
    lead: `${groupDigits(runs).padStart(countWidth)}  `,
    parts: [
      { text: error, tone: "bad" },
      ...(last_seen === null ? [] : [{ text: `last ${clock(last_seen)}`, tone: "dim" as const }]),
      ...(example_run === null
        ? []
        : [{ text: `run ${example_run.slice(0, 8)}`, tone: "dim" as const }]),
    ],
  }));
  const shown = top ? lines.length : fittingLines(lines);
  const hidden = errors.groups.slice(shown);
  const others = {
    groups: errors.others.groups + hidden.length,
    runs: errors.others.runs + sum(hidden.map(({ runs }) => runs)),
  };
  return { ...noTable, title: "Errors", lines: lines.slice(0, shown), ...omittedNote({ others }) };
}

/** How many lines fit, at least one. */
function fittingLines(lines: readonly TextLine[]): number {
  let rows = 0;
  const end = lines.findIndex(({ parts }) => {
    const length = sum(parts.map(({ text }) => text.length + 2));
    rows += Math.ceil(length / TEXT_COLUMNS);
    return rows > ERROR_ROWS;
  });
  return end === -1 ? lines.length : Math.max(1, end);
}
