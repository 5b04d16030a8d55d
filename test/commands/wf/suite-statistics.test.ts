/** Figures of test suites against published tables; each expected value is from the source named. */
import { describe, expect, test } from "vitest";
import {
  fisherExact,
  holm,
  neededRuns,
  passRate,
  signTest,
} from "../../../src/commands/wf/test/statistics.ts";

// R. G. Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I, method 3.
test.each([
  [81, 263, 0.2553, 0.3662],
  [15, 148, 0.0624, 0.1605],
  [0, 20, 0, 0.1611],
  [1, 29, 0.0061, 0.1718],
])("the interval of %d passes in %d runs", (passes, runs, low, high) => {
  const rate = passRate(passes, runs);
  expect(rate?.low).toBeCloseTo(low, 4);
  expect(rate?.high).toBeCloseTo(high, 4);
  expect(rate?.rate).toBe(passes / runs);
});

test("the interval ends at 1 if all runs passed, and there is none without runs", () => {
  expect(passRate(20, 20)?.high).toBe(1);
  expect(passRate(20, 20)?.low).toBeCloseTo(0.8389, 4);
  expect(passRate(0, 0)).toBeNull();
});

describe("Fisher's exact test", () => {
  test.each([
    // R. A. Fisher, "The Design of Experiments", 1935: the lady tasting tea.
    ["tea", [3, 4], [1, 4], 34 / 70],
    ["tea, all right", [4, 4], [0, 4], 2 / 70],
    // R. A. Fisher, "The logic of inductive inference", 1935: convictions of like-sex twins;
    // two-sided value of fisher.test in R.
    ["twins", [10, 13], [2, 17], 0.0005367],
    ["the same", [5, 20], [5, 20], 1],
    ["one run each", [1, 1], [0, 1], 1],
    ["nothing failed", [20, 20], [7, 7], 1],
  ] as const)("%s", (_, [a, n], [b, m], expected) => {
    const p = fisherExact({ passes: a, runs: n }, { passes: b, runs: m });
    expect(p).toBeCloseTo(expected, 7);
    expect(fisherExact({ passes: b, runs: m }, { passes: a, runs: n })).toBeCloseTo(p, 12);
  });

  test("stays a number for many runs", () => {
    const p = fisherExact({ passes: 100_000, runs: 100_000 }, { passes: 0, runs: 100_000 });
    expect(p).toBeGreaterThanOrEqual(0);
    expect(p).toBeLessThan(1e-300);
  });
});

test.each([
  [
    [0.01, 0.04, 0.03, 0.005],
    [0.03, 0.06, 0.06, 0.02],
  ],
  [
    [0.4, 0.6],
    [0.8, 0.8],
  ],
  [[0.9], [0.9]],
  [[], []],
])("Holm's correction of %j", (pValues, expected) => {
  const corrected = holm(pValues);
  expect(corrected).toHaveLength(expected.length);
  for (const [index, p] of expected.entries()) expect(corrected[index]).toBeCloseTo(p, 12);
});

// Binomial probabilities of S. Siegel, "Nonparametric Statistics", 1956, table D, doubled.
test.each([
  [9, 1, 0.021484375],
  [1, 9, 0.021484375],
  [8, 2, 0.109375],
  [8, 0, 0.0078125],
  [5, 5, 1],
  [0, 0, 1],
])("sign test of %d and %d", (more, fewer, expected) => {
  expect(signTest(more, fewer)).toBeCloseTo(expected, 12);
});

// With n runs on both sides, 2 / C(2n, n) times the number of tests must not exceed the level.
test.each([
  [1, 0.05, 4], // 2/70
  [40, 0.05, 7], // 40 · 2/3432; with 6: 40 · 2/924 = 0.087
  [1, 0.01, 5], // 2/252
])("%d tests at level %d need %d runs", (tests, level, expected) => {
  expect(neededRuns(tests, level)).toBe(expected);
});
