import { seededRandom, sum } from "../numbers.ts";
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
 * The percentile bootstrap interval of a mean (B. Efron, "Bootstrap methods: another look at the jackknife", 1979) of
 * values in groups: whole groups are drawn, because their values are alike (A. C. Davison and D. V. Hinkley, "Bootstrap
 * Methods and their Application", 1997, 3.8). It holds 95 % of the means of samples; of few groups, the true mean less
 * often. Null for fewer than two.
 */
export function bootstrapInterval(groups: readonly (readonly number[])[]): Interval | null {
  if (groups.length < 2) return null;
  const random = seededRandom(SAMPLE_SEED);
  const totals = groups.map((values) => ({ sum: sum(values), count: values.length }));
  const means = new Float64Array(BOOTSTRAPS);
  for (let sample = 0; sample < BOOTSTRAPS; sample++) {
    let [total, count] = [0, 0];
    for (let drawn = 0; drawn < totals.length; drawn++) {
      const group = totals[Math.floor(random() * totals.length)];
      total += group?.sum ?? 0;
      count += group?.count ?? 0;
    }
    means[sample] = total / count;
  }
  means.sort();
  const at = (share: number) => means[Math.floor(share * BOOTSTRAPS)] ?? Number.NaN;
  return { low: at(0.025), high: at(0.975) };
}
