import type { LoggedRun } from "./logged-run.ts";
import { errorGroups } from "./stats-errors.ts";
import type { ErrorGroups } from "./stats-errors.ts";
import type { Grouping } from "./stats-fields.ts";
import { count, tally } from "./stats-figures.ts";
import type { Tally } from "./stats-figures.ts";
import { quarter } from "./stats-periods.ts";

/** What was read of some time, from every side that is shown. */
export interface Reading {
  readonly all: Tally;
  /** By Unix second divided by `quarter`. */
  readonly quarters: Map<number, Tally>;
  readonly errors: ErrorGroups;
  /** Tallies by what runs are told apart by; those that do not say are under "". */
  readonly groups: ReadonlyMap<Grouping, Map<string, Tally>>;
  /** Unix seconds of the first and the last run. */
  first: number | undefined;
  last: number | undefined;
}

export const reading = (by: readonly Grouping[]): Reading => ({
  all: tally(),
  quarters: new Map(),
  errors: errorGroups(),
  groups: new Map(by.map((grouping) => [grouping, new Map()])),
  first: undefined,
  last: undefined,
});

export function see(into: Reading, run: LoggedRun): void {
  count(into.all, run);
  into.errors.see(run);
  for (const [grouping, groups] of into.groups) count(tallyAt(groups, run[grouping] ?? ""), run);
  const { at } = run;
  if (at === undefined) return;
  count(tallyAt(into.quarters, Math.floor(at / quarter)), run);
  into.first = Math.min(into.first ?? at, at);
  into.last = Math.max(into.last ?? at, at);
}

function tallyAt<K>(tallies: Map<K, Tally>, key: K): Tally {
  const found = tallies.get(key);
  if (found) return found;
  const made = tally();
  tallies.set(key, made);
  return made;
}
