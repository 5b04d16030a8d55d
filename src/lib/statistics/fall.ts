import type { Interval } from "./intervals.ts";
import { passRate } from "./pass-rates.ts";
import type { Passes } from "./pass-rates.ts";

/** By how much a share is lower now, with its interval. */
export interface Fall extends Interval {
  readonly fall: number;
}

/**
 * How much lower the share of passes is now, with its 95 % interval: two score intervals together (R. G. Newcombe,
 * "Interval estimation for the difference between independent proportions", 1998, method 10). As if all runs were of one
 * test, which makes it wider where tests differ. Null without runs on one side.
 */
export function fallInterval(before: Passes, now: Passes): Fall | null {
  const [one, other] = [passRate(before.passes, before.runs), passRate(now.passes, now.runs)];
  if (!one || !other) return null;
  const fall = one.rate - other.rate;
  return {
    fall,
    low: fall - Math.hypot(one.rate - one.low, other.high - other.rate),
    high: fall + Math.hypot(one.high - one.rate, other.rate - other.low),
  };
}
