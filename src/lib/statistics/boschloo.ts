import { binomial } from "./distributions.ts";
import { fisherFewer } from "./exact-tests.ts";
import type { Passes } from "./pass-rates.ts";

/** Rates among which the largest chance is sought: 1/200 to 199/200. */
const STEPS = 200;
/** Fisher's p of two tables counts as equal within this share. */
const TIES = 1e-9;

/** Results by their four numbers: the tests of a suite have few different ones. When full, it starts anew. */
const known = new Map<string, number>();
const MOST_KNOWN = 20_000;

/**
 * The one-sided exact test of R. D. Boschloo ("Raised conditional level of significance for the 2 × 2-table when
 * testing the equality of two probabilities", 1970): the chance that `now` has so few passes where both have the same
 * rate, at the rate for which it is largest. Tables are ordered by Fisher's p.
 */
export function boschlooFewer(before: Passes, now: Passes): number {
  const key = `${before.passes} ${before.runs} ${now.passes} ${now.runs}`;
  const found = known.get(key) ?? largestChance(before.runs, now.runs, extremeUpTo(before, now));
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(key, found);
  return found;
}

/**
 * For each number of passes before, up to how many now the table is at least as extreme as the given one: -1 if none
 * is. More passes before make a table more extreme, so these limits only rise.
 */
function extremeUpTo(before: Passes, now: Passes): readonly number[] {
  const most = fisherFewer(before, now).p * (1 + TIES);
  let limit = -1;
  return Array.from({ length: before.runs + 1 }, (_, passes) => {
    const isExtreme = (mine: number) =>
      fisherFewer({ passes, runs: before.runs }, { passes: mine, runs: now.runs }).p <= most;
    while (limit < now.runs && isExtreme(limit + 1)) limit++;
    return limit;
  });
}

/** The chance of these tables where both sides have the same rate, at the rate for which it is largest. */
function largestChance(before: number, now: number, limits: readonly number[]): number {
  let largest = 0;
  for (let step = 1; step < STEPS; step++) {
    const tables = chancesOf(before, step / STEPS);
    const tails = cumulated(chancesOf(now, step / STEPS));
    let chance = 0;
    for (let passes = 0; passes <= before; passes++)
      chance += (tables[passes] ?? 0) * (tails[limits[passes] ?? -1] ?? 0);
    largest = Math.max(largest, chance);
  }
  return Math.min(1, largest);
}

/** The chances of 0, 1 and so on passes in these runs, each from its neighbour, beginning at the largest. */
function chancesOf(runs: number, rate: number): Float64Array {
  const chances = new Float64Array(runs + 1);
  const odds = rate / (1 - rate);
  const mode = Math.min(runs, Math.floor((runs + 1) * rate));
  chances[mode] = binomial(runs, mode, rate);
  for (let passes = mode; passes < runs; passes++)
    chances[passes + 1] = ((chances[passes] ?? 0) * odds * (runs - passes)) / (passes + 1);
  for (let passes = mode; passes > 0; passes--)
    chances[passes - 1] = ((chances[passes] ?? 0) * passes) / (odds * (runs - passes + 1));
  return chances;
}

/** The sums of all up to each. */
function cumulated(values: Float64Array): Float64Array {
  const sums = new Float64Array(values.length);
  let total = 0;
  for (let index = 0; index < values.length; index++) sums[index] = total += values[index] ?? 0;
  return sums;
}
