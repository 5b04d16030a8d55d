/** The sum of numbers; 0 for none. */
export function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const each of numbers) total += each;
  return total;
}

/** A number with its digits in groups: `480,574`; one with other characters as it is. */
export function groupDigits(number: number): string {
  const [, sign = "", digits] = /^(-?)(\d+)$/.exec(String(number)) ?? [];
  if (digits === undefined) return String(number);
  const first = digits.length % 3;
  const groups = digits.slice(first).match(/\d{3}/g) ?? [];
  return sign + [digits.slice(0, first), ...groups].filter(Boolean).join(",");
}

/**
 * The percentile by nearest rank (definition 1 of Hyndman and Fan, "Sample Quantiles in Statistical
 * Packages", 1996; SQL's percentile_disc): the smallest value that at least `percent` of all values do
 * not exceed, so it is always one of them. `percent` is a whole number, so ranks are exact. Null without
 * values.
 */
export const percentile = (sorted: Float64Array, percent: number): number | null =>
  sorted[Math.ceil((percent * sorted.length) / 100) - 1] ?? null;
