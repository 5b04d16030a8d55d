import { expect, test } from "vitest";
import { runCorrelation } from "../../../src/lib/statistics/run-correlation.ts";

const runs = (...all: readonly (readonly [number, number])[]) =>
  all.map(([passes, count]) => ({ passes, runs: count }));
const varied = runs([5, 5], [1, 5], [2, 5], [4, 5]);
const even = runs([3, 5], [3, 5], [4, 5], [2, 5]);
const sure = runs([5, 5], [5, 5], [5, 5], [5, 5]);

// SciPy 1.17: (F - 1) / (F + r - 1) of f_oneway over the single runs; pooled from the sums of its mean squares.
test.each([
  ["one test", [varied], 0.359756097561],
  ["two tests", [varied, even], 0.134615384615],
  ["a test that always passes has no part in it", [varied, even, sure], 0.134615384615],
  ["runs of unequal size", [runs([3, 3], [0, 2], [2, 4])], 0.48],
  ["runs that are more even than chance", [even], 0],
  ["tests that always pass", [sure], 0],
  ["one repeat: it is assumed", [runs([1, 1], [0, 1], [1, 1])], 0.1],
] as const)("%s", (_, tests, expected) => {
  expect(runCorrelation(tests)).toBeCloseTo(expected, 11);
});
