import { seededRandom } from "../numbers.ts";
import { logChoose } from "./distributions.ts";

/** Two numbers between which the true one lies with the confidence that is asked for. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/**
 * The interval of a median, whatever the distribution: two of the values in order (W. R. Thompson, "On
 * confidence ranges for the median", 1936). It misses the true one at most as often as the level says. Null
 * if there are too few values.
 */
export function medianInterval(values: readonly number[], level: number): Interval | null {
  const sorted = values.toSorted((a, b) => a - b);
  const count = sorted.length;
  let tail = 0;
  let rank = 0;
  while (rank < count) {
    tail += Math.exp(logChoose(count, rank) - count * Math.LN2);
    if (2 * tail > level) break;
    rank++;
  }
  const [low, high] = [sorted[rank - 1], sorted[count - rank]];
  return low === undefined || high === undefined ? null : { low, high };
}

/** Of all samples: fixed, so that the same values get the same figures. */
export const SAMPLE_SEED = 20_261_127;

/** Samples of a bootstrap. */
const BOOTSTRAPS = 2_000;

/**
 * The percentile bootstrap interval of a mean (B. Efron, "Bootstrap methods: another look at the
 * jackknife", 1979): it holds 95 % of the means of samples; of few values, the true mean less often. Null for fewer
 * than two.
 */
export function bootstrapInterval(values: readonly number[]): Interval | null {
  if (values.length < 2) return null;
  const random = seededRandom(SAMPLE_SEED);
  const means = new Float64Array(BOOTSTRAPS);
  for (let sample = 0; sample < BOOTSTRAPS; sample++) {
    let sum = 0;
    for (let count = 0; count < values.length; count++)
      sum += values[Math.floor(random() * values.length)] ?? 0;
    means[sample] = sum / values.length;
  }
  means.sort();
  const at = (share: number) => means[Math.floor(share * BOOTSTRAPS)] ?? Number.NaN;
  return { low: at(0.025), high: at(0.975) };
}
