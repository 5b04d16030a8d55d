import { localClock } from "../../../lib/numbers.ts";
import type { ConditionResult } from "../../conditions/index.ts";
import { figureKinds, figureNames } from "./command.ts";
import type { FigureName, Grouping, Unit } from "./command.ts";
import { BUCKET_SECONDS, largestGroups, StatsCounts, statsFiguresOf } from "./figures.ts";
import type { Accumulator, StatsFigures } from "./figures.ts";
import type { ReadTimes, TimeSpan } from "./sources.ts";

/** Figures of runs, and their number by status, most first. */
const partOf = (counts: StatsCounts) => ({
  figures: statsFiguresOf(counts),
  statuses: Object.fromEntries(
    [...counts.statuses].sort(([a, left], [b, right]) => right - left || (a < b ? -1 : 1)),
  ),
});

/** The figures of the runs with one value of a grouping, null for runs without one. */
type GroupRow = StatsFigures & { readonly [G in Grouping]?: string | null };

/** The JSON of `wf stats`. */
export type StatsData = ReturnType<typeof statsData> & {
  readonly conditions: readonly ConditionResult[];
};

/**
 * The JSON of `wf stats` without the conditions: times are Unix seconds, durations seconds, shares from
 * 0 to 1; values without data are null. Lists of groups have at most `top` rows.
 */
export function statsData(
  runs: Accumulator,
  before: StatsCounts,
  times: ReadTimes,
  options: {
    readonly file: string | undefined;
    readonly timeZone: string;
    readonly top: number;
    /** Unit of the periods (default: by the length of the time). */
    readonly unit: Unit | undefined;
  },
) {
  const { since = runs.first, until = runs.last } = times;
  const { timeZone, top, unit } = options;
  const now = partOf(runs.all);
  const errors = largestGroups(runs.errors, top, runs.ungroupedErrors);
  return {
    file: options.file ?? null,
    since: since ?? null,
    until: until ?? null,
    complete: times.incomplete === undefined,
    untimed: runs.all.untimed,
    ...now,
    before: times.before ? comparison(now.figures, times.before, before) : null,
    periods:
      since === undefined || until === undefined
        ? { unit: unit ?? ("hour" as const), time_zone: timeZone, rows: [] }
        : periodsOf(runs, { since, until }, timeZone, unit),
    errors: {
      groups: errors.largest.map(([error, group]) => ({ error, ...group })),
      others: errors.others,
    },
    by: Object.fromEntries(
      [...runs.groups].map(([by, groups]) => {
        const { largest, others } = largestGroups(groups, top);
        const rows = largest.map(([name, counts]): GroupRow => ({
          [by]: name || null,
          ...statsFiguresOf(counts),
        }));
        return [by, { groups: rows, others }];
      }),
    ),
  };
}

/** The figures of the time before, and the differences of figures known in both times. */
function comparison(figures: StatsFigures, span: TimeSpan, counts: StatsCounts) {
  const part = partOf(counts);
  const changes = figureNames.map((name) => {
    const [now, then] = [figures[name], part.figures[name]];
    return [name, now === null || then === null ? null : Number((now - then).toFixed(6))] as const;
  });
  return { ...span, ...part, change: Object.fromEntries(changes) };
}

const DAY_SECONDS = 86_400;
/** Length of a label, as a prefix of `2026-11-21 14:00`. */
const LABEL_LENGTHS: Readonly<Record<Unit, number>> = { hour: 13, day: 10, month: 7 };

/** Hours up to three days, days up to a quarter of a year, then months. */
function unitFor(seconds: number): Unit {
  if (seconds <= 3 * DAY_SECONDS) return "hour";
  return seconds <= 92 * DAY_SECONDS ? "day" : "month";
}

/** All calendar periods from the first to the last second, including empty ones, with the runs that started in each. */
function periodsOf(
  { buckets }: Accumulator,
  { since, until }: TimeSpan,
  timeZone: string,
  unit = unitFor(until - since),
) {
  const clock = localClock(timeZone);
  const periodOf = (at: number) => {
    const text = clock(at * BUCKET_SECONDS);
    const label = text.slice(0, LABEL_LENGTHS[unit]);
    // When clocks are set back, two hours have the same label but different starts.
    const start = at * BUCKET_SECONDS - Number(text.slice(14, 16)) * 60;
    return { label, key: unit === "hour" ? start : label };
  };

  let at = Math.floor(since / BUCKET_SECONDS);
  const { key } = periodOf(at);
  while (periodOf(at - 1).key === key) at--;
  const periods: { start: number; label: string; key: unknown; counts: StatsCounts }[] = [];
  for (; at <= Math.floor(until / BUCKET_SECONDS); at++) {
    const period = periodOf(at);
    if (periods.at(-1)?.key !== period.key)
      periods.push({ ...period, start: at * BUCKET_SECONDS, counts: new StatsCounts() });
    const part = buckets.get(at);
    if (part) periods.at(-1)?.counts.merge(part);
  }
  const rows = periods.map(({ start, label, counts }) => {
    const { runs, failed_runs, p50, p95, tokens } = statsFiguresOf(counts);
    return { start, label, runs, failed_runs, p50, p95, tokens };
  });
  return { unit, time_zone: timeZone, rows };
}

/** The displayed unit of a figure; empty for numbers. */
export const unitOf = (figure: FigureName): "" | "%" | "s" =>
  ({ number: "", share: "%", seconds: "s" } as const)[figureKinds[figure]];

/** A figure without its unit: seconds to the millisecond, shares in percent. */
export function formatAmount(figure: FigureName, value: number | null): string | number | null {
  if (value === null || figureKinds[figure] === "number") return value;
  return figureKinds[figure] === "seconds" ? value.toFixed(3) : (value * 100).toFixed(2);
}

/** A figure with its unit: `25.300 s`, `4.17 %`. */
export const formatFigure = (figure: FigureName, value: number): string =>
  `${formatAmount(figure, value)} ${unitOf(figure)}`.trimEnd();

/** A share from 0 to 1 for a line of text: `89.5 %`, `100 %`. */
export const formatPercent = (share: number): string =>
  `${(share * 100).toFixed(1).replace(/\.0$/, "")} %`;

/**
 * The change of a figure: `+12.5 %`, or `+0.40 points` for shares; null if it is unknown or if there
 * was nothing in either period.
 */
export function formatChange(
  figure: FigureName,
  value: number | null,
  before: number | null,
): string | null {
  if (value === null || before === null || (value === 0 && before === 0)) return null;
  const change = value - before;
  if (figureKinds[figure] === "share") return `${signed(change * 100, 2)} points`;
  if (change === 0) return "0.0 %";
  return before === 0 ? null : `${signed((change / before) * 100, 1)} %`;
}

const signed = (value: number, digits: number): string => {
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : `${value < 0 ? "-" : "+"}${text}`;
};
