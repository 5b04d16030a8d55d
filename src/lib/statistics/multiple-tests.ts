import { sum } from "../numbers.ts";
import type { Tail } from "./exact-tests.ts";

/**
 * The p-values of several exact tests, corrected for their number step by step as Holm's are, where each of the
 * others counts with the p-values that it can have (P. H. Westfall and R. D. Wolfinger, "Multiple tests with
 * discrete distributions", 1997): one that cannot be significant costs nothing. In the order given.
 */
export function correctedTails(tails: readonly Tail[]): number[] {
  const order = tails.map((tail, index) => ({ tail, index }));
  order.sort((a, b) => a.tail.p - b.tail.p);
  const corrected = Array.from({ length: tails.length }, () => 1);
  let least = 0;
  for (const [rank, { tail, index }] of order.entries()) {
    const { p } = tail;
    const chance = sum(order.slice(rank).map((other) => reached(other.tail, p)));
    least = Math.max(least, Math.min(1, chance));
    if (least === 1) break; // as is all that follows
    corrected[index] = least;
  }
  return corrected;
}

/** The chance that a test has a p-value up to this one. */
const reached = ({ possible }: Tail, p: number): number =>
  // Equal tables differ in their last digits.
  possible ? (possible.findLast((each) => each <= p * (1 + 1e-9)) ?? 0) : p;

/**
 * The p-values of several tests, corrected for their number (S. Holm, "A simple sequentially rejective
 * multiple test procedure", 1979), in the order given.
 */
export const holm = (pValues: readonly number[]): number[] =>
  correctedTails(pValues.map((p) => ({ p })));
