import type { ErrorGroup, OmittedGroups } from "./error-groups.ts";
import type { Grouping } from "../stats-fields.ts";
import { statsFiguresOf } from "./figures.ts";
import type { StatsFigures, StatsCounts } from "./figures.ts";
import { periodsOf } from "./periods.ts";
import type { Unit } from "./periods.ts";
import type { Accumulator } from "./accumulator.ts";
import type { TimeSpan } from "./sources.ts";

/** The figures of a time, and the number of runs by status, most first. */
interface Part {
  readonly figures: StatsFigures;
  readonly statuses: readonly (readonly [status: string, runs: number])[];
}

/** All results of `wf stats`. */
export interface Summary extends Part {
  /** Undefined for a file without runs. */
  readonly span: TimeSpan | undefined;
  readonly before: (Part & { readonly span: TimeSpan }) | undefined;
  /** Runs whose duration is the time from start to finish. */
  readonly byClock: number;
  readonly timeZone: string;
  readonly unit: Unit;
  readonly periods: readonly {
    readonly start: number;
    readonly label: string;
    readonly figures: StatsFigures;
  }[];
  /** The largest ones. */
  readonly errors: { readonly groups: readonly ErrorGroup[]; readonly others: OmittedGroups };
  readonly groups: readonly {
    readonly by: Grouping;
    /** The name is empty for runs without a value. */
    readonly rows: readonly { readonly name: string; readonly figures: StatsFigures }[];
    readonly others: OmittedGroups;
  }[];
}

/** Summarizes the runs that were read; lists of groups have at most `top` rows. */
export function summarize(
  runs: Accumulator,
  span: TimeSpan | undefined,
  before: { readonly span: TimeSpan; readonly counts: StatsCounts } | undefined,
  { timeZone, top }: { readonly timeZone: string; readonly top: number },
): Summary {
  const { unit, periods } = span
    ? periodsOf(runs.buckets, span.since, span.until, timeZone)
    : { unit: "hour" as const, periods: [] };
  return {
    ...partOf(runs.all),
    span,
    before: before && { ...partOf(before.counts), span: before.span },
    byClock: runs.all.byClock,
    timeZone,
    unit,
    periods: periods.map(({ start, label, counts }) => ({
      start,
      label,
      figures: statsFiguresOf(counts),
    })),
    errors: runs.errors.top(top),
    groups: [...runs.groups].map(([by, groups]) => ({ by, ...largestGroups(groups, top) })),
  };
}

const partOf = (counts: StatsCounts): Part => ({
  figures: statsFiguresOf(counts),
  statuses: [...counts.statuses].sort(([a, left], [b, right]) => right - left || (a < b ? -1 : 1)),
});

function largestGroups(groups: ReadonlyMap<string, StatsCounts>, top: number) {
  const sorted = [...groups].sort(
    ([a, left], [b, right]) => right.runs - left.runs || (a < b ? -1 : 1),
  );
  const rest = sorted.slice(top);
  const runs = rest.reduce((sum, [, each]) => sum + each.runs, 0);
  return {
    rows: sorted.slice(0, top).map(([name, counts]) => ({ name, figures: statsFiguresOf(counts) })),
    others: { groups: rest.length, runs },
  };
}
