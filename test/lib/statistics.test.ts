/** Figures of test suites against published tables; each expected value is from the source named. */
import { describe, expect, test } from "vitest";
import {
  neededDesign,
  suitePower,
  testPower,
} from "../../src/commands/measure/suites/verdict/verdict.ts";
import {
  correctedTails,
  fewerInAll,
  fisherFewer,
  holm,
  medianInterval,
  normalBelow,
  passRate,
  signTest,
  studentBelow,
} from "../../src/lib/statistics/pass-rates.ts";

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

  // Three passes of three, then none of two: the odds of each table are 1, 6, 3, by hand.
  test("lower odds explain fewer passes", () => {
    expect(fisherFewer(of([3, 3]), of([0, 2])).p).toBeCloseTo(1 / 10, 12);
    expect(fisherFewer(of([3, 3]), of([0, 2]), 0.5).p).toBeCloseTo(1 / (1 + 6 / 2 + 3 / 4), 12);
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

// P. H. Westfall and R. D. Wolfinger, 1997, by hand: a test counts with the largest p-value that it can have
// up to the one that is corrected.
test("a test that cannot be significant costs nothing", () => {
  const broken = fisherFewer(of([5, 5]), of([0, 5])); // 1/252; possible: 1/252, 26/252, …
  const sure = fisherFewer(of([5, 5]), of([4, 5])); // possible: 1/2, 1
  const other = fisherFewer(of([5, 5]), of([1, 5])); // possible: 1/42, 1/2, …
  expect(broken.possible.slice(0, 2)).toEqual([
    expect.closeTo(1 / 252, 12),
    expect.closeTo(26 / 252, 12),
  ]);
  expect(correctedTails([sure, broken, sure])[1]).toBeCloseTo(1 / 252, 12);
  expect(correctedTails([broken, broken, sure])).toEqual([
    expect.closeTo(2 / 252, 12),
    expect.closeTo(2 / 252, 12),
    expect.closeTo(1 / 2, 12),
  ]);
  expect(correctedTails([other, broken])).toEqual([
    expect.closeTo(1 / 42, 12),
    expect.closeTo(1 / 252, 12),
  ]);
});

// Student's t: R. A. Fisher and F. Yates, "Statistical Tables", 1938, table III.
test.each([
  [12.706, 1, 0.975],
  [2.776, 4, 0.975],
  [2.571, 5, 0.975],
  [2.228, 10, 0.975],
  [-2.015, 5, 0.05],
  [0, 7, 0.5],
])("t below %d with %d degrees of freedom", (t, degrees, expected) => {
  expect(studentBelow(t, degrees)).toBeCloseTo(expected, 4);
});

// M. Abramowitz and I. A. Stegun, 1964, table 26.1.
test.each([
  [0, 0.5],
  [1, 0.841344746],
  [-1.96, 0.024997895],
  [3, 0.998650102],
])("z below %d", (z, expected) => {
  expect(normalBelow(z)).toBeCloseTo(expected, 6);
});

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
  [8, 0, 0.0078125],
  [5, 5, 1],
  [0, 0, 1],
])("sign test of %d and %d", (more, fewer, expected) => {
  expect(signTest(more, fewer)).toBeCloseTo(expected, 12);
});

describe("power", () => {
  const level = 0.05;
  // 12 of 12, then Bin(12, 0.5): up to 8 passes, p = C(12, 4) / C(24, 4) = 0.0466; up to 7: 0.0186.
  test("of a test that falls to a half: up to 7 of 12 passes are found", () => {
    const upTo7 = [1, 12, 66, 220, 495, 792, 924, 792].reduce((sum, each) => sum + each) / 4096;
    expect(testPower(0.5, { repeat: 12, confirm: 12, level })).toBeCloseTo(
      upTo7 * (1 - 0.5 ** 12),
      12,
    );
  });

  test("of a test that breaks: three repeats are enough, as 1/C(8, 3) is below 0.025", () => {
    expect(testPower(0, { repeat: 3, confirm: 5, level })).toBe(1);
    expect(testPower(0, { repeat: 2, confirm: 5, level })).toBe(0);
    expect(neededDesign((design) => testPower(0, design), 0.8, level)).toMatchObject({ repeat: 3 });
  });

  // The share of 2,000 simulated suites: npm run prove -- verdicts.
  test("of a suite whose 60 tests fall from 0.9 to 0.8", () => {
    const rates = Array.from({ length: 60 }, () => 0.9);
    expect(suitePower(rates, 0.1, { repeat: 5, confirm: 5, level })).toBeCloseTo(0.914, 2);
  });
});
