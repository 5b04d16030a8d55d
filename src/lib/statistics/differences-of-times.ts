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
