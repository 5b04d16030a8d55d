import { expect, test } from "vitest";
import { fisherFewer } from "../../../src/lib/statistics/exact-tests.ts";
import { correctedTails, holm } from "../../../src/lib/statistics/multiple-tests.ts";

/** Passes of so many runs. */
const of = ([passes, runs]: readonly [number, number]) => ({ passes, runs });

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

// S. Holm, 1979: each p-value times the number of those that are as large, never less than the one before.
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
