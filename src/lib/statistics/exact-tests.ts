import { sum } from "../numbers.ts";
import { binomialUpTo, logChoose, normalBelow } from "./distributions.ts";
import type { Passes } from "./pass-rates.ts";

/** Where a number of passes lies among all that are possible with the same sums. */
export interface Tail {
  /** The chance of so few passes, or fewer, where nothing has changed. */
  readonly p: number;
  /** All values that `p` can have with these sums, in ascending order; undefined if any. */
  readonly possible?: readonly number[] | undefined;
}

/**
 * The one-sided exact test of Fisher ("The logic of inductive inference", 1935): whether `now` has fewer
 * passes than chance explains.
 */
export function fisherFewer(before: Passes, now: Passes) {
  const { first, chances } = passesByChance(before, now);
  const possible: number[] = [];
  let total = 0;
  for (const chance of chances) possible.push(Math.min(1, (total += chance)));
  return { p: possible[now.passes - first] ?? 1, possible };
}

/** The chances of `first`, `first + 1` and so on passes in `now`, given all passes and runs. */
function passesByChance(before: Passes, now: Passes) {
  const passes = before.passes + now.passes;
  const first = Math.max(0, passes - before.runs);
  const count = Math.min(now.runs, passes) - first + 1;
  const logs = Float64Array.from({ length: count }, (_, index) => {
    const mine = first + index;
    return logChoose(now.runs, mine) + logChoose(before.runs, passes - mine);
  });
  const most = logs.reduce((largest, log) => Math.max(largest, log));
  const weights = logs.map((log) => Math.exp(log - most));
  const all = sum(weights);
  return { first, chances: weights.map((weight) => weight / all) };
}

/** Passes of a test before and now. */
export interface PassPair {
  readonly before: Passes;
  readonly now: Passes;
}

/** Sums of passes up to which the chances of all tests together are computed exactly. */
const MAX_EXACT = 2000;

/**
 * The chance that all tests together have so few passes now where none has changed, test by test
 * (N. Mantel and W. Haenszel, "Statistical aspects of the analysis of data from retrospective studies of
 * disease", 1959). Exact up to 2,000 uncertain passes (C. R. Mehta, N. R. Patel and R. Gray, "Computing an exact
 * confidence interval for the common odds ratio", 1985); beyond, normal with continuity correction.
 */
export function fewerInAll(pairs: readonly PassPair[]): number {
  const strata = pairs.map(({ before, now }) => ({ now, ...passesByChance(before, now) }));
  const open = strata.filter(({ chances }) => chances.length > 1);
  const above = sum(open.map(({ now, first }) => now.passes - first));
  const most = sum(open.map(({ chances }) => chances.length - 1));
  if (most > MAX_EXACT)
    return fewerByNormal(
      open.map(({ chances }) => chances),
      above,
    );
  let all = Float64Array.of(1);
  for (const { chances } of open) all = convolved(all, chances, above);
  return Math.min(1, sum(all));
}

function fewerByNormal(strata: readonly Float64Array[], above: number): number {
  let mean = 0;
  let variance = 0;
  for (const chances of strata) {
    const own = sum(chances.map((chance, index) => chance * index));
    mean += own;
    variance += sum(chances.map((chance, index) => chance * (index - own) ** 2));
  }
  return normalBelow((above + 0.5 - mean) / Math.sqrt(variance));
}

/** The chances of the sums of two independent numbers, up to a sum. */
function convolved(
  one: Float64Array,
  other: Float64Array,
  most: number,
): Float64Array<ArrayBuffer> {
  const sums = new Float64Array(Math.min(one.length + other.length - 1, most + 1));
  for (let index = 0; index < one.length; index++)
    for (let total = index; total < Math.min(index + other.length, sums.length); total++)
      sums[total] = (sums[total] ?? 0) + (one[index] ?? 0) * (other[total - index] ?? 0);
  return sums;
}

/** The two-sided p-value of the sign test: `more` of the pairs that differ have a greater second value. */
export const signTest = (more: number, fewer: number): number =>
  Math.min(1, 2 * binomialUpTo(more + fewer, Math.min(more, fewer), 0.5));
