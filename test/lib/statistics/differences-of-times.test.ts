import { expect, test } from "vitest";
import { fallAmong } from "../../../src/lib/statistics/differences-of-times.ts";

const of = (passes: number, runs = 60) => ({ passes, runs });
const earlier = [57, 55, 58, 54, 56, 57].map((passes) => of(passes));

// SciPy 1.17: t.cdf((now - mean) / (s * sqrt(1 + 1/6)), 5) of the log odds of (passes + 0.5) / (60.5 - passes).
test.each([
  [45, 0.006109241],
  [56, 0.4162866304],
])("%d of 60 passes after six earlier runs", (passes, expected) => {
  const found = fallAmong(earlier, of(passes));
  expect(found.p).toBeCloseTo(expected, 9);
  expect(found.odds).toBeCloseTo(0.4469856254, 9);
});

test("earlier runs that do not differ make any fall certain", () => {
  const same = [of(60), of(60), of(60)];
  expect(fallAmong(same, of(59))).toEqual({ p: 0, odds: 1 });
  expect(fallAmong(same, of(60))).toEqual({ p: 1, odds: 1 });
});
