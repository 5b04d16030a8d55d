import { sum } from "../numbers.ts";
import { sampleVariance } from "./averages.ts";
import { studentBelow } from "./distributions.ts";
import { totalPasses } from "./pass-rates.ts";
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

/** Passes of a test before now, in all runs together, and those of now. */
export interface KnownAndNow {
  readonly known: Passes;
  readonly now: Passes;
}

/**
 * The chance of so low a share of all tests at another time: Student's t of the log odds among those of `earlier` runs
 * (as `fallAmong`). The variance between times is at least the one that the runs themselves have.
 */
export function fallOfSuite(earlier: readonly Passes[], tests: readonly KnownAndNow[]): number {
  const total = totalPasses(tests.map(({ now }) => now));
  const rate = ({ passes, runs }: Passes) => passes / runs;
  const expected = sum(tests.map(({ known, now }) => now.runs * rate(known)));
  const variance = sum(
    tests.map(({ known, now }) => {
      const bessel = known.runs > 1 ? known.runs / (known.runs - 1) : 1;
      return now.runs * rate(known) * (1 - rate(known)) * bessel;
    }),
  );
  const slope = (expected * (total.runs - expected)) / total.runs;
  return fallAmong(earlier, total, slope > 0 ? variance / slope ** 2 : 0);
}
