import { expect, test } from "vitest";
import { fallAmong, fallOfSuite } from "../../../src/lib/statistics/differences-of-times.ts";

const of = (passes: number, runs = 60) => ({ passes, runs });
const earlier = [57, 55, 58, 54, 56, 57].map((passes) => of(passes));

// SciPy 1.17: t.cdf((now - mean) / (s * sqrt(1 + 1/6)), 5) of the log odds of (passes + 0.5) / (60.5 - passes).
test.each([
  [45, 0.006109241],
  [56, 0.4162866304],
])("%d of 60 passes after six earlier runs", (passes, expected) => {
  expect(fallAmong(earlier, of(passes))).toBeCloseTo(expected, 9);
});

test("earlier runs that do not differ make any fall certain", () => {
  const same = [of(60), of(60), of(60)];
  expect(fallAmong(same, of(59))).toBe(0);
  expect(fallAmong(same, of(60))).toBe(1);
});

// SciPy 1.17: t.cdf(distance / error, 5); the variance of runs is sum(m r (1 - r) n / (n - 1)) over the square of
// P (N - P) / N, with the expected passes P.
const tests = [
  { before: of(130, 150), now: of(15, 25) },
  { before: of(138, 150), now: of(22, 25) },
];
test.each([
  ["runs that vary less than chance", [46, 46, 46, 46, 46, 46], 0.022552885687],
  ["the variance of the runs is larger", [46, 44, 47, 45, 46, 40], 0.039445065552],
])("a fall of the suite: %s", (_, passes, expected) => {
  const earlier = passes.map((each) => of(each, 50));
  expect(fallOfSuite(earlier, tests)).toBeCloseTo(expected, 11);
});

test("a suite that always passed falls for certain with one miss, and not without", () => {
  const before = of(60, 60);
  const earlier = [of(10, 10), of(10, 10), of(10, 10)];
  expect(fallOfSuite(earlier, [{ before, now: of(9, 10) }])).toBe(0);
  expect(fallOfSuite(earlier, [{ before, now: of(10, 10) }])).toBe(1);
});
