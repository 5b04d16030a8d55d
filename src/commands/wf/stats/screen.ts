import { formatSeconds, groupDigits, localClock, sum } from "../../../lib/numbers.ts";
import { noTable } from "../../../output/report-model.ts";
import type { Section, TextLine, TextPart } from "../../../output/report-model.ts";
import { gateSections } from "../../conditions/index.ts";
import type { StatsData } from "./data.ts";
import { formatFigure, formatPercent } from "./fields.ts";
import type { FigureName, Grouping } from "./fields.ts";
import type { StatsFigures } from "./figures.ts";
import { groupSection, omittedNote, periodSection, trendOf } from "./tables.ts";

/** What the screen shows besides the data. */
export interface ScreenOptions {
  /** Notes below the figures. */
  readonly notes: readonly string[];
  /** Whether the periods are requested. */
  readonly periods: boolean;
  /** Whether the number of errors is requested; otherwise as many are shown as fit. */
  readonly top: boolean;
}

/** `wf stats` on a terminal: one screen, with periods and groups only if they are requested. */
export function statsScreen(data: StatsData, options: ScreenOptions): Section[] {
  const { before, conditions, errors, periods, by } = data;
  const formatValue = (figure: string, value: number) => formatFigure(figure as FigureName, value);
  return [
    {
      ...noTable,
      title: titleOf(data),
      lines: [
        { parts: totalParts(data.figures, periods.rows) },
        ...(before ? [{ lead: "before: ", parts: totalParts(before.figures) }] : []),
        { parts: otherParts(data.figures) },
      ],
      notes: options.notes,
    },
    ...gateSections(conditions, formatValue),
    ...(errors.groups.length > 0 ? [errorSection(data, options)] : []),
    ...Object.entries(by).map(([name, groups]) => groupSection(name as Grouping, groups)),
    ...(options.periods && periods.rows.length > 0 ? [periodSection(withoutEmpty(data))] : []),
  ];
}

/** The data without the periods in which no run started, which most are. */
export const withoutEmpty = (data: StatsData): StatsData => ({
  ...data,
  periods: { ...data.periods, rows: data.periods.rows.filter(({ runs }) => runs > 0) },
});

export function titleOf({ since, until, periods: { time_zone } }: StatsData): string {
  if (since === null || until === null) return "Runs";
  const clock = localClock(time_zone);
  return `Runs from ${clock(since)} to ${clock(until)} (${time_zone})`;
}

/** How many runs there were, how they ended, and how long they took. */
function totalParts(
  { runs, succeeded, partial, failed_runs, p50, p95 }: StatsFigures,
  periods: StatsData["periods"]["rows"] = [],
): TextPart[] {
  const parts: TextPart[] = [{ text: `${groupDigits(runs)} ${runs === 1 ? "run" : "runs"}` }];
  if (succeeded !== null) {
    const tone = failed_runs === 0 ? "good" : undefined;
    parts.push({ text: `${formatPercent(succeeded + (partial ?? 0))} ok`, tone });
  }
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
function otherParts({ running, paused, ended, partial, stopped, ...figures }: StatsFigures) {
  const runsOf = (share: number | null) => Math.round((share ?? 0) * ended);
  const parts: readonly (readonly [number | null, string])[] = [
    [running, "running"],
    [paused, "paused"],
    [runsOf(stopped), "stopped"],
    [runsOf(partial), "succeeded partially"],
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

function errorSection({ errors, periods }: StatsData, { top }: ScreenOptions): Section {
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
