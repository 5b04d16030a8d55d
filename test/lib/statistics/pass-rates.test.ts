import { expect, test } from "vitest";
import {
  intervalText,
  passRate,
  totalPasses,
  totalRate,
} from "../../../src/lib/statistics/pass-rates.ts";

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

// SciPy 1.17: binomtest(k, n).proportion_ci(method="wilson").
test.each([
  [7, 10, 0.3967781475, 0.8922087326],
  [0, 12, 0, 0.2424940067],
  [193, 200, 0.9295293885, 0.9829444579],
])("the interval of %d passes in %d runs is that of SciPy", (passes, runs, low, high) => {
  expect(passRate(passes, runs)?.low).toBeCloseTo(low, 9);
  expect(passRate(passes, runs)?.high).toBeCloseTo(high, 9);
});

test("passes add up, and an interval is shown in percent", () => {
  expect(totalPasses([of(1, 2), of(3, 4)])).toEqual({ passes: 4, runs: 6 });
  expect(totalPasses([])).toEqual({ passes: 0, runs: 0 });
  expect(intervalText({ low: 0.7654, high: 0.97 })).toBe("77–97 %");
});

const of = (passes: number, runs: number) => ({ passes, runs });

const tests = (...shares: readonly (readonly [passes: number, runs: number])[]) =>
  shares.map(([passes, runs]) => ({ passes, runs }));

test.each([
  // All repeats alike: the variance between the tests, 2/1 · (2.5² + 2.5²)/10² = 0.25, is that of one run.
  ["two tests that differ", tests([5, 5], [0, 5]), 1, 0.5],
  // 10/9 · 10 · 0.5²/10² = 0.02778 is that of nine runs.
  [
    "ten tests of one run",
    tests(...Array.from({ length: 10 }, (_, at) => [at % 2, 1] as const)),
    9,
    0.5,
  ],
  [
    "tests that all pass count once each",
    tests(...Array.from({ length: 20 }, () => [5, 5] as const)),
    20,
    1,
  ],
  ["never more than there are runs", tests([1, 2], [2, 4], [3, 6], [3, 7]), 19, 9 / 19],
])("the rate of all tests: %s", (_, all, effective, rate) => {
  const [total, alike] = [totalRate(all), passRate(rate * effective, effective)];
  expect(total?.rate).toBeCloseTo(rate, 12);
  expect(total?.low).toBeCloseTo(alike?.low ?? Number.NaN, 9);
  expect(total?.high).toBeCloseTo(alike?.high ?? Number.NaN, 9);
});

test("there is no rate of tests without runs", () => {
  expect(totalRate(tests([0, 0]))).toBeNull();
});
