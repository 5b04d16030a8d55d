import { expect, test } from "vitest";
import { bootstrapInterval, medianInterval } from "../../../src/lib/statistics/intervals.ts";

// W. J. Dixon and A. M. Mood, "The statistical sign test", 1946, table: values on each side of the interval.
test.each([
  [5, null],
  [6, [1, 6]],
  [10, [2, 9]],
  [20, [6, 15]],
] as const)("the median of %d values", (count, expected) => {
  const values = Array.from({ length: count }, (_, index) => count - index);
  const interval = medianInterval(values, 0.05);
  expect(interval && [interval.low, interval.high]).toEqual(expected);
});

// SciPy 1.17: quantile_test(values, p=0.5).confidence_interval(0.95).
test("the median of 37 values is that of SciPy", () => {
  const values = Array.from({ length: 37 }, (_, index) => index + 1);
  expect(medianInterval(values, 0.05)).toEqual({ low: 13, high: 25 });
});

test("a bootstrap interval holds the mean of its values, and is a point for equal ones", () => {
  expect(bootstrapInterval([[0.5], [0.5], [0.5]])).toEqual({ low: 0.5, high: 0.5 });
  expect(bootstrapInterval([[1, 0]])).toBeNull();
  // The mean of 400 ones and 400 zeros varies with a deviation of 0.5 / √800 = 0.01768: 0.5 ± 0.0346
  const { low, high } = bootstrapInterval(
    Array.from({ length: 800 }, (_, index) => [index % 2]),
  ) ?? {
    low: 0,
    high: 0,
  };
  expect(low).toBeCloseTo(0.4654, 1);
  expect(high).toBeCloseTo(0.5346, 1);
});

// SciPy 1.17: bootstrap((values,), numpy.mean, method="percentile"), 400,000 samples: 0.4 to 0.74167.
test("a bootstrap interval is about that of SciPy", () => {
  const values = [0, 0.2, 0.5, 0.5, 0.7, 0.9, 1, 1, 0.3, 0.8, 0.6, 0.4];
  const interval = bootstrapInterval(values.map((each) => [each]));
  expect(interval?.low).toBeCloseTo(0.4, 1);
  expect(interval?.high).toBeCloseTo(0.74167, 1);
});

// NumPy 2.4.6, 400,000 samples of the six groups: 0.01364 to 0.135; of single values, 0 to 0.1455.
test("a bootstrap interval of groups draws whole groups", () => {
  const groups = [[0.1, -0.05], [0.2], [0.3, -0.1, 0.05], [0.25, 0], [0.15], [-0.2, 0.1]];
  const interval = bootstrapInterval(groups);
  expect(Math.abs((interval?.low ?? 0) - 0.01364)).toBeLessThan(0.008);
  expect(Math.abs((interval?.high ?? 0) - 0.135)).toBeLessThan(0.005);
});
