import { binomial } from "./distributions.ts";
import { fisherFewer } from "./exact-tests.ts";
import type { Passes } from "./pass-rates.ts";

/** Rates among which the largest chance is sought: 1/200 to 199/200. */
const STEPS = 200;
/** Fisher's p of two tables counts as equal within this share. */
const TIES = 1e-9;

/**
 * The one-sided exact test of R. D. Boschloo ("Raised conditional level of significance for the 2 × 2-table when
 * testing the equality of two probabilities", 1970): the chance that `now` has so few passes where both have the same
 * rate, at the rate for which it is largest. Tables are ordered by Fisher's p.
 */
export function boschlooFewer(before: Passes, now: Passes): number {
  const most = fisherFewer(before, now).p * (1 + TIES);
  // For each number of passes before, up to how many now the table is at least as extreme: -1 if none is.
  const limits = Array.from({ length: before.runs + 1 }, (_, passes) => {
    let limit = -1;
    const isExtreme = (mine: number) =>
      fisherFewer({ passes, runs: before.runs }, { passes: mine, runs: now.runs }).p <= most;
    while (limit < now.runs && isExtreme(limit + 1)) limit++;
    return limit;
  });
  let largest = 0;
  for (let step = 1; step < STEPS; step++) {
    const rate = step / STEPS;
    const below = cumulated(now.runs, rate);
    let chance = 0;
    for (const [passes, limit] of limits.entries())
      if (limit >= 0) chance += binomial(before.runs, passes, rate) * (below[limit] ?? 1);
    largest = Math.max(largest, chance);
  }
  return Math.min(1, largest);
}

/** The chances of at most 0, 1 and so on passes in runs that pass with a rate. */
function cumulated(runs: number, rate: number): number[] {
  let total = 0;
  return Array.from({ length: runs + 1 }, (_, passes) => (total += binomial(runs, passes, rate)));
}
