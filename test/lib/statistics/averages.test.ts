import { expect, test } from "vitest";
import { mean, median, percentile, sampleVariance } from "../../../src/lib/statistics/averages.ts";

const values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5];

// NumPy: percentile(values, p, method="inverted_cdf").
test.each([
  [1, 1],
  [25, 2],
  [50, 4],
  [75, 5],
  [95, 9],
  [100, 9],
])("percentile %d is that of NumPy", (percent, expected) => {
  expect(percentile(Float64Array.from(values).sort(), percent)).toBe(expected);
});

test("mean, variance and median are those of NumPy, and null without values", () => {
  expect(mean(values)).toBe(4);
  expect(sampleVariance(values)).toBeCloseTo(5.6, 12);
  expect(median(values)).toBe(4);
  expect([mean([]), median([]), sampleVariance([]), sampleVariance([1])]).toEqual([
    null,
    null,
    null,
    null,
  ]);
});
