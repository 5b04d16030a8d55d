import { expect, test } from "vitest";
import { seededRandom } from "../../../src/lib/numbers.ts";
import { mean, sampleVariance } from "../../../src/lib/statistics/averages.ts";
import { betaValue, normalValue } from "../../../src/lib/statistics/random-values.ts";
import { likelyRates } from "../../../src/lib/statistics/suite-prior.ts";

const COUNT = 20_000;
const valuesOf = (value: (random: () => number) => number): number[] => {
  const random = seededRandom(1);
  return Array.from({ length: COUNT }, () => value(random));
};

/** Mean and variance; that of Beta(a, b) is ab / ((a + b)^2 (a + b + 1)). */
test.each([
  ["normal", normalValue, 0, 1],
  ["Beta(4, 0.7)", (random: () => number) => betaValue(4, 0.7, random), 4 / 4.7, 0.02224],
  ["Beta(0.5, 2)", (random: () => number) => betaValue(0.5, 2, random), 0.2, 0.04571],
  ["Beta(0.004, 0.001)", (random: () => number) => betaValue(0.004, 0.001, random), 0.8, 0.1592],
] as const)("%s", (_, value, center, variance) => {
  const values = valuesOf(value);
  expect(values.every(Number.isFinite)).toBe(true);
  // Five standard errors: a mean that far off is not chance.
  const error = 5 * Math.sqrt(variance / COUNT);
  expect(Math.abs((mean(values) ?? 0) - center)).toBeLessThan(error);
  expect((sampleVariance(values) ?? 0) / variance).toBeCloseTo(1, 1);
});

test("likely rates of tests: prior and passes together", () => {
  const prior = { mean: 0.5, strengths: [{ strength: 4, share: 1 }] };
  const tests = Array.from({ length: COUNT }, () => ({ passes: 6, runs: 6 }));
  // Beta(2 + 6, 2): its mean is 0.8.
  expect(mean(likelyRates(tests, prior, seededRandom(1)))).toBeCloseTo(0.8, 2);
});
