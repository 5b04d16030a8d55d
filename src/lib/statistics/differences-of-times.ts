import { sum } from "../numbers.ts";
import { sampleVariance } from "./averages.ts";
import { studentBelow } from "./distributions.ts";
import type { PassPair } from "./exact-tests.ts";
import { rateOf, totalPasses } from "./pass-rates.ts";
import type { Passes } from "./pass-rates.ts";

/**
 * Whether a share is lower than those of earlier times explain: the prediction interval for one more observation
 * (G. J. Hahn, "Factors for calculating two-sided prediction intervals for samples from a normal distribution", 1969),
 * on the scale of log odds. Gives the chance of so low a share where nothing else has changed. The variance between
 * times is at least `leastVariance`.
 */
export function fallAmong(earlier: readonly Passes[], now: Passes, leastVariance = 0): number {
  const known = earlier.map(logOdds);
  const count = known.length;
  const mean = sum(known) / count;
  const error = Math.sqrt(Math.max(sampleVariance(known) ?? 0, leastVariance) * (1 + 1 / count));
  const distance = logOdds(now) - mean;
  const sure = distance < 0 ? 0 : 1;
  return error === 0 ? sure : studentBelow(distance / error, count - 1);
}

/** Half a run more on each side keeps those finite that all passed (J. B. S. Haldane, 1956). */
const logOdds = ({ passes, runs }: Passes): number =>
  Math.log((passes + 0.5) / (runs - passes + 0.5));

/**
 * The chance of so low a share of all tests at another time: Student's t of the log odds among those of `earlier` runs
 * (as `fallAmong`). The variance between times is at least the one that the runs themselves have; `before` are those of a
 * test at all earlier times.
 */
export function fallOfSuite(earlier: readonly Passes[], tests: readonly PassPair[]): number {
  const total = totalPasses(tests.map(({ now }) => now));
  const expected = sum(tests.map(({ before, now }) => now.runs * rateOf(before)));
  const variance = sum(
    tests.map(({ before, now }) => {
      const bessel = before.runs > 1 ? before.runs / (before.runs - 1) : 1;
      return now.runs * rateOf(before) * (1 - rateOf(before)) * bessel;
    }),
  );
  const slope = (expected * (total.runs - expected)) / total.runs;
  return fallAmong(earlier, total, slope > 0 ? variance / slope ** 2 : 0);
}
