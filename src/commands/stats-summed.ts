import type { ErrorGroup, Others } from "./stats-errors.ts";
import type { Grouping } from "./stats-fields.ts";
import { figuresOf } from "./stats-figures.ts";
import type { Figures, Tally } from "./stats-figures.ts";
import { periodsOf } from "./stats-periods.ts";
import type { Unit } from "./stats-periods.ts";
import type { Reading } from "./stats-reading.ts";
import type { Span } from "./stats-sources.ts";

/** Figures of some time, and how many runs have which status, most first. */
interface Part {
  readonly figures: Figures;
  readonly statuses: readonly (readonly [status: string, runs: number])[];
}

/** Everything that is told of the runs that were read. */
export interface Summed extends Part {
  /** Undefined when a file holds no run. */
  readonly span: Span | undefined;
  readonly before: (Part & { readonly span: Span }) | undefined;
  /** Runs whose time is that from start to finish. */
  readonly byClock: number;
  readonly timeZone: string;
  readonly unit: Unit;
  readonly periods: readonly {
    readonly start: number;
    readonly label: string;
    readonly figures: Figures;
  }[];
  /** The largest ones. */
  readonly errors: { readonly groups: readonly ErrorGroup[]; readonly others: Others };
  readonly groups: readonly {
    readonly by: Grouping;
    /** Empty for runs that do not say. */
    readonly rows: readonly { readonly name: string; readonly figures: Figures }[];
    readonly others: Others;
  }[];
}

/** Sums up what was read; lists of groups have at most `top` rows. */
export function summed(
  reading: Reading,
  span: Span | undefined,
  before: { readonly span: Span; readonly tally: Tally } | undefined,
  { timeZone, top }: { readonly timeZone: string; readonly top: number },
): Summed {
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
      figures: figuresOf(tally),
    })),
    errors: reading.errors.top(top),
    groups: [...reading.groups].map(([by, tallies]) => ({ by, ...largest(tallies, top) })),
  };
}

const partOf = (tally: Tally): Part => ({
  figures: figuresOf(tally),
  statuses: [...tally.statuses].sort(([a, of], [b, and]) => and - of || (a < b ? -1 : 1)),
});

function largest(tallies: ReadonlyMap<string, Tally>, top: number) {
  const sorted = [...tallies].sort(
    ([a, { runs }], [b, other]) => other.runs - runs || (a < b ? -1 : 1),
  );
  const rest = sorted.slice(top);
  const runs = rest.reduce((sum, [, each]) => sum + each.runs, 0);
  return {
    rows: sorted.slice(0, top).map(([name, tally]) => ({ name, figures: figuresOf(tally) })),
    others: { groups: rest.length, runs },
  };
}
