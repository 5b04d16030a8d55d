import { localClock } from "../../../lib/numbers.ts";
import type { ConditionResult } from "../../conditions/index.ts";
import { figureNames } from "./fields.ts";
import type { Grouping, Unit } from "./fields.ts";
import { BUCKET_SECONDS, largestGroups, mergeCounts, statsFiguresOf } from "./figures.ts";
import type { Accumulator, StatsCounts, StatsFigures } from "./figures.ts";
import type { ReadTimes, TimeSpan } from "./sources.ts";

/** Figures of runs, and their number by status, most first. */
const partOf = (counts: StatsCounts) => ({
  figures: statsFiguresOf(counts),
  statuses: Object.fromEntries(
    [...counts.statuses].sort(([a, left], [b, right]) => right - left || (a < b ? -1 : 1)),
  ),
});

/** The differences of figures known in both periods. */
const changes = (figures: StatsFigures, before: StatsFigures) =>
  Object.fromEntries(
    figureNames.map((name) => {
      const [now, then] = [figures[name], before[name]];
      return [name, now === null || then === null ? null : Number((now - then).toFixed(6))];
    }),
  );

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

function comparison(figures: StatsFigures, span: TimeSpan, counts: StatsCounts) {
  const part = partOf(counts);
  return { ...span, ...part, change: changes(figures, part.figures) };
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
  const periods: { start: number; label: string; key: unknown; parts: StatsCounts[] }[] = [];
  for (; at <= Math.floor(until / BUCKET_SECONDS); at++) {
    const period = periodOf(at);
    if (periods.at(-1)?.key !== period.key) {
      periods.push({ ...period, start: at * BUCKET_SECONDS, parts: [] });
    }
    const part = buckets.get(at);
    if (part) periods.at(-1)?.parts.push(part);
  }
  const rows = periods.map(({ start, label, parts }) => {
    const { runs, failed_runs, p50, p95, tokens } = statsFiguresOf(mergeCounts(parts));
    return { start, label, runs, failed_runs, p50, p95, tokens };
  });
  return { unit, time_zone: timeZone, rows };
}
