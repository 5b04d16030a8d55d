import type { LoggedRun } from "../logs/index.ts";
import { ErrorGroups } from "./error-groups.ts";
import type { Grouping } from "../stats-fields.ts";
import { addRun, newStatsCounts } from "./figures.ts";
import type { StatsCounts } from "./figures.ts";
import { BUCKET_SECONDS } from "./periods.ts";

/** Counts of the runs read so far, for every section of the report. */
export interface Accumulator {
  readonly all: StatsCounts;
  /** By Unix second divided by `BUCKET_SECONDS`. */
  readonly buckets: Map<number, StatsCounts>;
  readonly errors: ErrorGroups;
  /** By the value of each grouping, "" for runs without one. */
  readonly groups: ReadonlyMap<Grouping, Map<string, StatsCounts>>;
  /** Unix seconds of the first and the last run. */
  first: number | undefined;
  last: number | undefined;
}

export const newAccumulator = (by: readonly Grouping[]): Accumulator => ({
  all: newStatsCounts(),
  buckets: new Map(),
  errors: new ErrorGroups(),
  groups: new Map(by.map((grouping) => [grouping, new Map()])),
  first: undefined,
  last: undefined,
});

export function addToAccumulator(into: Accumulator, run: LoggedRun): void {
  addRun(into.all, run);
  into.errors.add(run);
  for (const [grouping, groups] of into.groups) addRun(countsAt(groups, run[grouping] ?? ""), run);
  const { at } = run;
  if (at === undefined) return;
  addRun(countsAt(into.buckets, Math.floor(at / BUCKET_SECONDS)), run);
  into.first = Math.min(into.first ?? at, at);
  into.last = Math.max(into.last ?? at, at);
}

function countsAt<K>(map: Map<K, StatsCounts>, key: K): StatsCounts {
  const existing = map.get(key);
  if (existing) return existing;
  const counts = newStatsCounts();
  map.set(key, counts);
  return counts;
}
