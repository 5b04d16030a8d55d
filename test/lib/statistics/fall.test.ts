import { expect, test } from "vitest";
import { fallInterval } from "../../../src/lib/statistics/fall.ts";

// R. G. Newcombe, "Interval estimation for the difference between independent proportions", 1998, table II, method 10.
test.each([
  [56, 70, 48, 80, 0.0524, 0.3339],
  [9, 10, 3, 10, 0.1705, 0.809],
  [10, 10, 0, 10, 0.6075, 1],
])("%d of %d, then %d of %d", (before, runs, now, runsNow, low, high) => {
  const fall = fallInterval({ passes: before, runs }, { passes: now, runs: runsNow });
  expect(fall?.fall).toBeCloseTo(before / runs - now / runsNow, 12);
  expect(fall?.low).toBeCloseTo(low, 4);
  expect(fall?.high).toBeCloseTo(high, 4);
});

test("there is none without runs on one side", () => {
  expect(fallInterval({ passes: 0, runs: 0 }, { passes: 1, runs: 1 })).toBeNull();
});
