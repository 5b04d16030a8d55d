import type { ErrorGroup, Others } from "./error-groups.ts";
import type { Grouping } from "../stats-fields.ts";
import { statsFiguresOf } from "./figures.ts";
import type { StatsFigures, StatsCounts } from "./figures.ts";
import { periodsOf } from "./periods.ts";
import type { Unit } from "./periods.ts";
import type { Accumulator } from "./accumulator.ts";
import type { TimeSpan } from "./sources.ts";

/** Figures of some time, and how many runs have which status, most first. */
interface Part {
  readonly figures: StatsFigures;
  readonly statuses: readonly (readonly [status: string, runs: number])[];
}

/** Everything that is told of the runs that were read. */
export interface Summary extends Part {
  /** Undefined when a file holds no run. */
  readonly span: TimeSpan | undefined;
  readonly before: (Part & { readonly span: TimeSpan }) | undefined;
  /** Runs whose time is that from start to finish. */
  readonly byClock: number;
  readonly timeZone: string;
  readonly unit: Unit;
  readonly periods: readonly {
    readonly start: number;
    readonly label: string;
    readonly figures: StatsFigures;
  }[];
  /** The largest ones. */
  readonly errors: { readonly groups: readonly ErrorGroup[]; readonly others: Others };
  readonly groups: readonly {
    readonly by: Grouping;
    /** Empty for runs that do not say. */
    readonly rows: readonly { readonly name: string; readonly figures: StatsFigures }[];
    readonly others: Others;
  }[];
}

/** Sums up what was read; lists of groups have at most `top` rows. */
export function summarize(
  reading: Accumulator,
  span: TimeSpan | undefined,
  before: { readonly span: TimeSpan; readonly tally: StatsCounts } | undefined,
  { timeZone, top }: { readonly timeZone: string; readonly top: number },
): Summary {
  const { unit, periods } = span
    ? periodsOf(reading.quarters, span.since, span.until, timeZone)
    : { unit: "hour" as const, periods: [] };
  return {
    ...partOf(reading.all),
    span,
    before: before && { ...partOf(before.tally), span: before.span },
    byClock: reading.all.byClock,
    timeZone,
    unit,
    periods: periods.map(({ start, label, tally }) => ({
      start,
      label,
      figures: statsFiguresOf(tally),
    })),
    errors: reading.errors.top(top),
    groups: [...reading.groups].map(([by, tallies]) => ({ by, ...largest(tallies, top) })),
  };
}

const partOf = (tally: StatsCounts): Part => ({
  figures: statsFiguresOf(tally),
  statuses: [...tally.statuses].sort(([a, of], [b, and]) => and - of || (a < b ? -1 : 1)),
});

function largest(tallies: ReadonlyMap<string, StatsCounts>, top: number) {
  const sorted = [...tallies].sort(
    ([a, { runs }], [b, other]) => other.runs - runs || (a < b ? -1 : 1),
  );
  const rest = sorted.slice(top);
  const runs = rest.reduce((sum, [, each]) => sum + each.runs, 0);
  return {
    rows: sorted.slice(0, top).map(([name, tally]) => ({ name, figures: statsFiguresOf(tally) })),
    others: { groups: rest.length, runs },
  };
}
