import type { ConditionResult } from "../../conditions/index.ts";
import { figureNames } from "./fields.ts";
import type { Grouping, Unit } from "./fields.ts";
import { largestGroups } from "./accumulator.ts";
import type { Accumulator } from "./accumulator.ts";
import { statsFiguresOf } from "./figures.ts";
import type { StatsCounts, StatsFigures } from "./figures.ts";
import { periodsOf } from "./periods.ts";
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
        : periodRows(runs, { since, until }, timeZone, unit),
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

function periodRows(
  { buckets }: Accumulator,
  span: TimeSpan,
  timeZone: string,
  requested: Unit | undefined,
) {
  const { unit, periods } = periodsOf(buckets, span, timeZone, requested);
  const rows = periods.map(({ start, label, counts }) => {
    const { runs, failed_runs, p95, tokens } = statsFiguresOf(counts);
    return { start, label, runs, failed_runs, p95, tokens };
  });
  return { unit, time_zone: timeZone, rows };
}
