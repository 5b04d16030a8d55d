import { describe, expect, test } from "vitest";
import { normalBelow } from "../../../src/lib/statistics/distributions.ts";
import { fewerInAll, fisherFewer, signTest } from "../../../src/lib/statistics/exact-tests.ts";

/** Passes of so many runs. */
const of = ([passes, runs]: readonly [number, number]) => ({ passes, runs });

describe("Fisher's exact test with one side", () => {
  test.each([
    // R. A. Fisher, "The Design of Experiments", 1935: the lady tasting tea.
    ["tea", [3, 4], [1, 4], 17 / 70],
    ["tea, all right", [4, 4], [0, 4], 1 / 70],
    // R. A. Fisher, "The logic of inductive inference", 1935: convictions of like-sex twins.
    ["twins", [10, 13], [2, 17], 0.00046518],
    ["one run each", [1, 1], [0, 1], 1 / 2],
    ["nothing failed", [20, 20], [7, 7], 1],
    ["more passes", [0, 4], [4, 4], 1],
  ] as const)("%s", (_, before, now, expected) => {
    expect(fisherFewer(of(before), of(now)).p).toBeCloseTo(expected, 8);
  });

  test("stays a number for many runs", () => {
    const { p } = fisherFewer(of([1000, 1000]), of([0, 1000]));
    expect(p).toBeGreaterThanOrEqual(0);
    expect(p).toBeLessThan(1e-300);
  });
});

describe("all tests together", () => {
  // Penicillin in rabbits: N. Mantel, "Chi-square tests with one degree of freedom", 1963; its exact p-value 0.0200 in
  // A. Agresti, "Categorical Data Analysis", 1990, and half of R's 0.03994 (mantelhaen.test, Rabbits).
  test("the exact test of Cochran, Mantel and Haenszel", () => {
    const rabbits = [
      [0, 6, 0, 5],
      [3, 3, 0, 6],
      [6, 0, 2, 4],
      [5, 1, 6, 0],
      [2, 0, 5, 0],
    ] as const;
    const pairs = rabbits.map(([cured, died, curedLater, diedLater]) => ({
      before: of([cured, cured + died]),
      now: of([curedLater, curedLater + diedLater]),
    }));
    expect(fewerInAll(pairs)).toBeCloseTo(0.01997, 5);
  });

  test.each([
    [[], 1],
    [[[5, 5, 5, 5]], 1], // nothing can differ
    [[[1, 1, 0, 1]], 1 / 2],
    [
      [
        [1, 1, 0, 1],
        [1, 1, 0, 1],
        [0, 1, 1, 1],
      ],
      1 / 2,
    ], // 1 of 3 coins or fewer
  ] as const)("%j", (tables, expected) => {
    const pairs = tables.map(([a, n, b, m]) => ({ before: of([a, n]), now: of([b, m]) }));
    expect(fewerInAll(pairs)).toBeCloseTo(expected, 12);
  });

  test("many runs are as likely as the normal distribution says", () => {
    // 3,000 coins of which 1,446 fall: z = (1446 + 0.5 - 1500) / sqrt(750) = -1.9536.
    const pairs = Array.from({ length: 3000 }, (_, index) => ({
      before: of([index < 1446 ? 0 : 1, 1]),
      now: of([index < 1446 ? 1 : 0, 1]),
    }));
    expect(fewerInAll(pairs)).toBeCloseTo(normalBelow(-1.95358), 4);
  });
});

// Binomial probabilities of S. Siegel, "Nonparametric Statistics", 1956, table D, doubled.
test.each([
  [9, 1, 0.021484375],
  [1, 9, 0.021484375],
  [8, 0, 0.0078125],
  [5, 5, 1],
  [0, 0, 1],
])("sign test of %d and %d", (more, fewer, expected) => {
  expect(signTest(more, fewer)).toBeCloseTo(expected, 12);
});

// SciPy 1.17: fisher_exact(table, alternative="less") and binomtest(more, more + fewer).
test("the figures are those of SciPy", () => {
  expect(fisherFewer(of([18, 20]), of([11, 20])).p).toBeCloseTo(0.0154751526, 9);
  expect(fisherFewer(of([9, 10]), of([6, 12])).p).toBeCloseTo(0.0588235294, 9);
  expect(fisherFewer(of([50, 60]), of([40, 60])).p).toBeCloseTo(0.0283629674, 9);
  expect(signTest(14, 5)).toBeCloseTo(0.0635681152, 9);
  expect(signTest(3, 11)).toBeCloseTo(0.0573730469, 9);
});
