import { passRate } from "./pass-rates.ts";
import type { Passes } from "./pass-rates.ts";

/**
 * How much lower the share of passes is now, with its 95 % interval: two score intervals together (R. G. Newcombe,
 * "Interval estimation for the difference between independent proportions", 1998, method 10). As if all runs were of one
 * test, which makes it wider where tests differ. Null without runs on one side.
 */
export function fallInterval(before: Passes, now: Passes) {
  const [one, other] = [passRate(before.passes, before.runs), passRate(now.passes, now.runs)];
  if (!one || !other) return null;
  const fall = one.rate - other.rate;
  return {
    fall,
    low: fall - Math.hypot(one.rate - one.low, other.high - other.rate),
    high: fall + Math.hypot(one.high - one.rate, other.rate - other.low),
  };
}
