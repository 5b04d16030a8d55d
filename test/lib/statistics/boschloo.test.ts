import { expect, test } from "vitest";
import { boschlooFewer } from "../../../src/lib/statistics/boschloo.ts";

// SciPy 1.17: boschloo_exact([[now, before], [missed now, missed before]], alternative="less", n=256). It also looks
// between the rates of the grid, where the chance is at most 4 in 10,000 larger.
test.each([
  [[1, 1], [0, 7], 0.049086987972],
  [[5, 5], [1, 11], 0.000321135075],
  [[4, 5], [0, 5], 0.0107421875],
  [[30, 30], [3, 11], 5.579452993e-7],
  [[9, 11], [0, 21], 6.132376591e-7],
  [[49, 55], [5, 10], 0.004339901588],
  [[2, 2], [1, 2], 0.3125],
  [[0, 5], [0, 5], 1],
] as const)("%j before, %j now", ([x, n], [s, runs], expected) => {
  const found = boschlooFewer({ passes: x, runs: n }, { passes: s, runs });
  expect(found / expected).toBeLessThanOrEqual(1 + 1e-9);
  expect(found / expected).toBeGreaterThan(1 - 4e-4);
});
