import { sum } from "../numbers.ts";
import { sampleVariance } from "./averages.ts";
import { studentBelow } from "./distributions.ts";
import type { Passes } from "./pass-rates.ts";

/**
 * Whether a share is lower than those of earlier times explain: the prediction interval for one more observation
 * (G. J. Hahn, "Factors for calculating two-sided prediction intervals for samples from a normal distribution", 1969),
 * on the scale of log odds. `p` is the chance of so low a share where nothing else has changed; by the ratio `odds`
 * those of a pass may be lower at a bad time.
 */
export function fallAmong(earlier: readonly Passes[], now: Passes) {
  const known = earlier.map(logOdds);
  const count = known.length;
  const mean = sum(known) / count;
  const error = Math.sqrt((sampleVariance(known) ?? 0) * (1 + 1 / count));
  const distance = logOdds(now) - mean;
  const sure = distance < 0 ? 0 : 1;
  const p = error === 0 ? sure : studentBelow(distance / error, count - 1);
  return { p, odds: Math.exp(-2 * error) };
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
  const odds = earlier.map(logOdds);
  const count = odds.length;
  const runs = sum(tests.map(({ now }) => now.runs));
  const rate = ({ passes, runs: all }: Passes) => passes / all;
  const expected = sum(tests.map(({ known, now }) => now.runs * rate(known)));
  const variance = sum(
    tests.map(({ known, now }) => {
      const bessel = known.runs > 1 ? known.runs / (known.runs - 1) : 1;
      return now.runs * rate(known) * (1 - rate(known)) * bessel;
    }),
  );
  const slope = (expected * (runs - expected)) / runs;
  const own = slope > 0 ? variance / slope ** 2 : 0;
  const error = Math.sqrt(Math.max(sampleVariance(odds) ?? 0, own) * (1 + 1 / count));
  const passes = sum(tests.map(({ now }) => now.passes));
  const distance = logOdds({ passes, runs }) - sum(odds) / count;
  if (error === 0) return distance < 0 ? 0 : 1;
  return studentBelow(distance / error, count - 1);
}
