import { describe, expect, test } from "vitest";
import {
  neededQuestions,
  randomizationTest,
} from "../../../src/lib/statistics/paired-differences.ts";

describe("the paired randomization test", () => {
  test.each<[string, readonly number[], object]>([
    ["three falls: 1 of 8 signs is as low", [-1, -1, -1], { lower: 1 / 8, either: 2 / 8 }],
    ["equal questions do not count", [0, 0, -1, 0], { difference: -1 / 4, lower: 1 / 2 }],
    // sums of ±1 ±2: -3 -1 1 3
    ["a rise and a fall", [2, -1], { lower: 3 / 4, higher: 2 / 4, either: 1 }],
    ["nothing", [], { difference: 0, lower: 1, higher: 1, either: 1 }],
    ["13 falls", Array.from({ length: 13 }, () => -0.1), { lower: 1 / 8192 }],
    ["30 falls: none of 9,999 samples is as low", Array(30).fill(-0.1), { lower: 1 / 10_000 }],
  ])("%s", (_, differences, wanted) => {
    expect(randomizationTest(differences)).toMatchObject(wanted);
  });

  test("the same differences get the same figures", () => {
    const differences = Array.from({ length: 40 }, (_, index) => Math.sin(index));
    expect(randomizationTest(differences)).toEqual(randomizationTest(differences));
  });

  // SciPy 1.17: permutation_test((values,), mean, permutation_type="samples"), all 512 signs.
  test("the figures are those of SciPy", () => {
    const found = randomizationTest([0.1, -0.05, 0.2, 0.3, -0.1, 0.05, 0.25, 0, 0.15]);
    expect(found.difference).toBeCloseTo(0.1, 12);
    expect(found.lower).toBeCloseTo(0.9765625, 12);
    expect(found.higher).toBeCloseTo(0.04296875, 12);
    expect(found.either).toBeCloseTo(0.0859375, 12);
  });

  // The same of 60 values, 400,000 samples: 0.00726 and 0.01451.
  test("sampled figures are about those of SciPy", () => {
    const values = Array.from({ length: 60 }, (_, index) =>
      Number((Math.sin(index) * 0.3 + 0.06).toFixed(3)),
    );
    const { higher, either } = randomizationTest(values);
    expect(Math.abs(higher - 0.00726)).toBeLessThan(0.003);
    expect(Math.abs(either - 0.01451)).toBeLessThan(0.004);
  });
});

test.each([
  // Half of 40 questions differ by ±1: variance 20/39 = 0.51282; (1.6449 + 0.8416)² × 0.51282 / 0.05² = 1268.2
  [Array.from({ length: 40 }, (_, index) => [1, 0, -1, 0][index % 4] ?? 0), 0.05, 1269],
  // One of ten comparisons: (2.5758 + 0.8416)² × 0.51282 / 0.05² = 2395.7
  [Array.from({ length: 40 }, (_, index) => [1, 0, -1, 0][index % 4] ?? 0), 0.005, 2396],
  [[0.2, 0.2], 0.05, null],
  [[0.2], 0.05, null],
])("questions needed", (differences, level, wanted) => {
  expect(neededQuestions(differences, 0.05, level)).toBe(wanted);
});
