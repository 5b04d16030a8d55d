import { sum } from "../numbers.ts";

/** The mean; null without values. */
export const mean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : sum(values) / values.length;

/** The unbiased estimate of the variance (divided by n - 1); null for fewer than two values. */
export function sampleVariance(values: readonly number[]): number | null {
  if (values.length < 2) return null;
  const center = sum(values) / values.length;
  return sum(values.map((each) => (each - center) ** 2)) / (values.length - 1);
}

/**
 * The percentile by nearest rank (definition 1 of Hyndman and Fan, "Sample Quantiles in Statistical
 * Packages", 1996; SQL's percentile_disc): the smallest value that at least `percent` of all values do
 * not exceed, so it is always one of them. `percent` is a whole number, so ranks are exact. Null without
 * values.
 */
export const percentile = (sorted: Float64Array, percent: number): number | null =>
  sorted[Math.ceil((percent * sorted.length) / 100) - 1] ?? null;

/** The median by nearest rank; null without values. */
export const median = (values: readonly number[]): number | null =>
  percentile(Float64Array.from(values).sort(), 50);
