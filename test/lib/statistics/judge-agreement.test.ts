/** Figures of calibrations against published tables; each expected value is from the source named. */
import { expect, test } from "vitest";
import {
  bestThreshold,
  biasesOf,
  comparedWithChance,
  kappaOf,
  rateByJudge,
} from "../../../src/lib/statistics/judge-agreement.ts";
import { passRate } from "../../../src/lib/statistics/pass-rates.ts";

// Both pass; only people, only the judge; both fail.
test.each<[string, readonly [number, number, number, number], readonly number[] | null]>([
  // J. Sim and C. Wright, "The kappa statistic in reliability studies", 2005, table 1.
  ["Sim and Wright", [22, 2, 4, 11], [0.67]],
  // Wikipedia, "Cohen's kappa": the example, and two with the same agreement.
  ["two readers", [20, 5, 10, 15], [0.4]],
  ["same agreement", [45, 15, 25, 15], [0.13]],
  ["same agreement, greater kappa", [25, 35, 5, 35], [0.26]],
  // By hand: chance 1/2, kappa 1/2, root of its variance 3/8; times 1.96, cut at 1.
  ["four answers", [1, 0, 1, 2], [0.5, -0.235, 1]],
  ["four answers, the other way", [1, 1, 0, 2], [0.5, -0.235, 1]],
  ["always, so without an interval", [5, 0, 0, 5], [1]],
  ["never", [0, 5, 5, 0], [-1]],
  ["a judge that passes all", [5, 0, 5, 0], [0]],
  ["one kind", [5, 0, 0, 0], null],
  ["none", [0, 0, 0, 0], null],
])("kappa of %s", (_, [both, people, judge, neither], expected) => {
  const found = kappaOf({
    good: both + people,
    bad: judge + neither,
    false_passes: judge,
    false_fails: people,
  });
  if (expected === null) return expect(found).toBeNull();
  if (expected[0] !== undefined && Math.abs(expected[0]) % 1 === 0) expect(found).toHaveLength(1);
  for (const [index, value] of expected.entries())
    expect(found?.[index]).toBeCloseTo(value, index === 0 ? 2 : 3);
});

// Intervals as above; without one by Fisher's exact test: 1 of 252 tables, 1 of 6.
test.each<[string, readonly [number, number, number, number], string]>([
  ["two readers", [20, 5, 10, 15], "better"],
  ["four answers", [1, 0, 1, 2], "inconclusive"],
  ["ten answers, always", [5, 0, 0, 5], "better"],
  ["four answers, always", [2, 0, 0, 2], "inconclusive"],
  ["ten answers, never", [0, 5, 5, 0], "worse"],
  ["four answers, never", [0, 2, 2, 0], "inconclusive"],
  ["mostly the opposite", [5, 20, 15, 10], "worse"],
  ["a judge that passes all", [114, 0, 6, 0], "inconclusive"],
  ["one kind", [5, 0, 0, 0], "inconclusive"],
])("beside chance, %s", (_, [both, people, judge, neither], expected) => {
  const agreement = {
    good: both + people,
    bad: judge + neither,
    false_passes: judge,
    false_fails: people,
  };
  expect(comparedWithChance(agreement, kappaOf(agreement))).toBe(expected);
});

const pairs = (more: number, fewer: number, same = 3) => [
  ...Array.from({ length: more }, () => [false, true] as const),
  ...Array.from({ length: fewer }, () => [true, false] as const),
  ...Array.from({ length: same }, () => [true, true] as const),
];

test("pairs are compared by McNemar's exact test, corrected for the number of changes", () => {
  // M. P. Fay, "Exact McNemar's test and matching confidence intervals" (exact2x2): p = 0.06543.
  expect(biasesOf([["padded", pairs(9, 2)]])).toEqual([
    { change: "padded", pairs: 14, more: 9, fewer: 2, p: expect.closeTo(0.06543, 5) },
  ]);
  // Holm: twice the smaller p-value, at most the greater one; 2/64 for six of six pairs.
  const [first, second] = biasesOf([
    ["reversed", pairs(6, 0)],
    ["padded", pairs(2, 9)],
  ]);
  expect(first?.p).toBeCloseTo(0.0625, 12);
  expect(second?.p).toBeCloseTo(134 / 2048, 12);
});

const scored = (good: readonly number[], bad: readonly number[]) => [
  ...good.map((score) => ({ isGood: true, score })),
  ...bad.map((score) => ({ isGood: false, score })),
];

test.each([
  ["apart", scored([0.8, 0.8, 0.9], [0.2, 0.4]), 0.6, [0, 0]],
  // With 0.3 one bad answer passes, with 0.7 two good ones fail.
  ["overlapping", scored([0.5, 0.5, 0.9, 0.9], [0.1, 0.1, 0.5, 0.1]), 0.3, [1, 0]],
  ["one score", scored([0.7], [0.7]), undefined, undefined],
])("the threshold of scores that are %s", (_, all, at, wrong) => {
  const best = bestThreshold(all);
  if (at === undefined) return expect(best).toBeUndefined();
  expect(best?.at_least).toBeCloseTo(at, 12);
  expect([best?.agreement.false_passes, best?.agreement.false_fails]).toEqual(wrong);
});

test("the figures of a threshold are those of answers that it was not fitted to", () => {
  // The threshold of all is 0.55. Without the good 0.6 it is 0.75, and without the bad 0.5 it is 0.35.
  const best = bestThreshold(scored([0.6, 0.9], [0.5, 0.6, 0.1]));
  expect(best).toMatchObject({ at_least: 0.55, agreement: { false_passes: 2, false_fails: 1 } });
});

test("a share that a judge passed is corrected for its errors", () => {
  // It passes 0.9 of the good answers and 0.2 of the bad ones: (0.76 - 0.2) / (0.9 - 0.2) = 0.8.
  const agreement = { good: 50, bad: 50, false_passes: 10, false_fails: 5 };
  const observed = passRate(38, 50) ?? { rate: 0, low: 0, high: 0 };
  const rate = rateByJudge(observed, agreement);
  expect(rate?.rate).toBeCloseTo(0.8, 12);
  // By hand, with the score intervals 0.6259-0.8570, 0.7864-0.9565 and 0.1124-0.3304; above 1 is cut.
  expect(rate?.low).toBeCloseTo((0.62587 - 0.33037) / (0.95652 - 0.33037), 4);
  expect(rate?.high).toBe(1);
  // One that guesses tells nothing, and neither does one that has seen no bad answer.
  expect(rateByJudge(observed, { ...agreement, false_passes: 40 })).toBeNull();
  expect(rateByJudge(observed, { ...agreement, bad: 0, false_passes: 0 })).toBeNull();
});
