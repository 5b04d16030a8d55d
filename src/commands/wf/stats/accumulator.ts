import type { LoggedRun } from "../logs/index.ts";
import { errorGroups } from "./error-groups.ts";
import type { ErrorGroups } from "./error-groups.ts";
import type { Grouping } from "../stats-fields.ts";
import { addRun, newStatsCounts } from "./figures.ts";
import type { StatsCounts } from "./figures.ts";
import { BUCKET_SECONDS } from "./periods.ts";

/** What was read of some time, from every side that is shown. */
export interface Accumulator {
  readonly all: StatsCounts;
  /** By Unix second divided by `quarter`. */
  readonly quarters: Map<number, StatsCounts>;
  readonly errors: ErrorGroups;
  /** Tallies by what runs are told apart by; those that do not say are under "". */
  readonly groups: ReadonlyMap<Grouping, Map<string, StatsCounts>>;
  /** Unix seconds of the first and the last run. */
  first: number | undefined;
  last: number | undefined;
}

export const newAccumulator = (by: readonly Grouping[]): Accumulator => ({
  all: newStatsCounts(),
  quarters: new Map(),
  errors: errorGroups(),
  groups: new Map(by.map((grouping) => [grouping, new Map()])),
  first: undefined,
  last: undefined,
});

export function addToAccumulator(into: Accumulator, run: LoggedRun): void {
  addRun(into.all, run);
  into.errors.see(run);
  for (const [grouping, groups] of into.groups) addRun(tallyAt(groups, run[grouping] ?? ""), run);
  const { at } = run;
  if (at === undefined) return;
  addRun(tallyAt(into.quarters, Math.floor(at / BUCKET_SECONDS)), run);
  into.first = Math.min(into.first ?? at, at);
  into.last = Math.max(into.last ?? at, at);
}

function tallyAt<K>(tallies: Map<K, StatsCounts>, key: K): StatsCounts {
  const found = tallies.get(key);
  if (found) return found;
  const made = newStatsCounts();
  tallies.set(key, made);
  return made;
}
