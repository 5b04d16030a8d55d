import { expect, test } from "vitest";
import { chanceOfSoFew, suitePrior } from "../../../src/lib/statistics/suite-prior.ts";

// SciPy 1.17: betabinom.cdf(passes, runs, a, b), where a and b are the sums of both.
test.each([
  ["Beta(2.5, 1.5)", { mean: 0.625, strength: 4 }, [0, 0], [3, 10], 0.166908264160156],
  ["Beta(0.9, 0.1)", { mean: 0.9, strength: 1 }, [0, 0], [0, 7], 0.01812287125],
  ["Beta(10, 10) and 20 of 20", { mean: 0.5, strength: 20 }, [20, 20], [12, 20], 0.1459321231826],
] as const)("%s: so few passes", (_, { mean, strength }, [x, n], [passes, runs], expected) => {
  const prior = { mean, strengths: [{ strength, share: 1 }] };
  const found = chanceOfSoFew({ passes: x, runs: n }, { passes, runs }, prior);
  expect(found).toBeCloseTo(expected, 10);
});

test("a mixture has the chances of its parts, by their shares", () => {
  const [weak, strong] = [0.25, 64].map((strength) => ({ strength, share: 1 }));
  const of = (...strengths: { strength: number; share: number }[]) =>
    chanceOfSoFew({ passes: 3, runs: 4 }, { passes: 1, runs: 3 }, { mean: 0.7, strengths });
  if (!weak || !strong) throw new Error("two parts");
  const mixed = of({ ...weak, share: 0.25 }, { ...strong, share: 0.75 });
  expect(mixed).toBeCloseTo(0.25 * of(weak) + 0.75 * of(strong), 12);
});

test("tests that are sure make a weak prior, tests that are alike a strong one", () => {
  const all = (passes: readonly number[]) =>
    suitePrior(passes.map((each) => ({ passes: each, runs: 10, weight: 1 })));
  const strengthOf = ({ strengths }: ReturnType<typeof suitePrior>) =>
    strengths.reduce((sum, { strength, share }) => sum + strength * share, 0);
  expect(strengthOf(all([10, 0, 10, 0, 10, 0]))).toBeLessThan(0.1);
  expect(strengthOf(all([5, 5, 5, 5, 5, 5]))).toBeGreaterThan(50);
  // (0.5 + 30) / (1 + 60)
  expect(all([5, 5, 5, 5, 5, 5]).mean).toBe(0.5);
});

test("a test of weight 2 counts as two, one of weight 0 as none", () => {
  const one = { passes: 9, runs: 10, weight: 1 };
  const other = { passes: 2, runs: 10 };
  const twice = suitePrior([one, { ...other, weight: 1 }, { ...other, weight: 1 }]);
  expect(suitePrior([one, { ...other, weight: 2 }])).toEqual(twice);
  expect(suitePrior([one, { ...other, weight: 0 }])).toEqual(suitePrior([one]));
});
