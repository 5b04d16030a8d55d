import { describe, expect, test } from "vitest";
import {
  fewestDocuments,
  neededQuestions,
  randomizationTest,
} from "../../../src/lib/statistics/paired-differences.ts";

/** Each of another document. */
const alone = (differences: readonly number[]) => differences.map((each) => [each]);

/** Six documents with sums of 0.05, 0.2, 0.25, 0.25, 0.15 and -0.1. */
const shared = [[0.1, -0.05], [0.2], [0.3, -0.1, 0.05], [0.25, 0], [0.15], [-0.2, 0.1]];

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
    expect(randomizationTest(alone(differences))).toMatchObject(wanted);
  });

  test("the same differences get the same figures", () => {
    const differences = Array.from({ length: 40 }, (_, index) => Math.sin(index));
    expect(randomizationTest(alone(differences))).toEqual(randomizationTest(alone(differences)));
  });

  // SciPy 1.17: permutation_test((values,), mean, permutation_type="samples"), all 512 signs.
  test("the figures are those of SciPy", () => {
    const found = randomizationTest(alone([0.1, -0.05, 0.2, 0.3, -0.1, 0.05, 0.25, 0, 0.15]));
    expect(found.difference).toBeCloseTo(0.1, 12);
    expect(found.lower).toBeCloseTo(0.9765625, 12);
    expect(found.higher).toBeCloseTo(0.04296875, 12);
    expect(found.either).toBeCloseTo(0.0859375, 12);
  });

  // SciPy 1.17.1: the same of the sums, all 64 signs; by question, higher would be 0.0859375.
  test("documents, not questions, have signs", () => {
    const found = randomizationTest(shared);
    expect(found.difference).toBeCloseTo(0.8 / 11, 12);
    expect(found.lower).toBeCloseTo(0.96875, 12);
    expect(found.higher).toBeCloseTo(0.046875, 12);
    expect(found.either).toBeCloseTo(0.09375, 12);
  });

  // The same of 60 values, 400,000 samples: 0.00726 and 0.01451.
  test("sampled figures are about those of SciPy", () => {
    const values = Array.from({ length: 60 }, (_, index) =>
      Number((Math.sin(index) * 0.3 + 0.06).toFixed(3)),
    );
    const { higher, either } = randomizationTest(alone(values));
    expect(Math.abs(higher - 0.00726)).toBeLessThan(0.003);
    expect(Math.abs(either - 0.01451)).toBeLessThan(0.004);
  });
});

const halfOf40 = Array.from({ length: 40 }, (_, index) => [1, 0, -1, 0][index % 4] ?? 0);

/** Of 40 questions about each of 30 documents, one is found and one is lost. */
const crowded = Array.from({ length: 30 }, () => [1, -1, ...Array<number>(38).fill(0)]);

// The formulas with the normal and chi-square quantiles of SciPy 1.17.1, whose figures are in the comments.
test.each<[string, readonly (readonly number[])[], number, number, number]>([
  // (1.6449 √0.55 + 0.8416 √0.5475)² / 0.05² = 1358.07; corrected 1378.00; × 39 / 31.44 = 1709.32
  ["half of 40 questions differ by ±1", alone(halfOf40), 0.05, 0.05, 1709.32],
  // 2.5758 for 1.6449: 2586.46 × 1.24044 = 3208.34
  ["one of ten comparisons", alone(halfOf40), 0.05, 0.005, 3208.34],
  // The variance of the sums is 2 × 79 / 78 = 2.02564 times that of 80 questions: 1378.00 × 2.02564 × 1.24044
  ["two about each document, alike", halfOf40.map((each) => [each, each]), 0.05, 0.05, 3462.46],
  ["five documents at least", crowded, 0.1, 0.05, 200],
])("questions needed: %s", (_, differences, difference, level, wanted) => {
  const found = neededQuestions(differences, difference, level) ?? 0;
  expect(Math.abs(found - wanted) / wanted).toBeLessThan(0.001);
});

test("one document, or no difference, says nothing about the questions needed", () => {
  expect(neededQuestions([[0.2, 0]], 0.05, 0.05)).toBeNull();
  expect(neededQuestions([[0], [0]], 0.05, 0.05)).toBeNull();
});

test.each([
  [0.05, 5], // 1/32
  [0.025, 6],
  [0.01, 7],
  [0.5, 1],
])("a level of %d takes %d documents", (level, wanted) => {
  expect(fewestDocuments(level)).toBe(wanted);
});
