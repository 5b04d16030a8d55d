import { describe, expect, test } from "vitest";
import { neededDesign, suitePower, testPower } from "../../../src/lib/statistics/power.ts";

describe("power", () => {
  const level = 0.05;
  // 12 of 12, then Bin(12, 0.5): up to 8 passes, p = C(12, 4) / C(24, 4) = 0.0466; up to 7: 0.0186.
  test("of a test that falls to a half: up to 7 of 12 passes are found", () => {
    const upTo7 = [1, 12, 66, 220, 495, 792, 924, 792].reduce((sum, each) => sum + each) / 4096;
    expect(testPower(0.5, { repeat: 12, confirm: 12, level })).toBeCloseTo(
      upTo7 * (1 - 0.5 ** 12),
      12,
    );
  });

  test("of a test that breaks: three repeats are enough, as 1/C(8, 3) is below 0.025", () => {
    expect(testPower(0, { repeat: 3, confirm: 5, level })).toBe(1);
    expect(testPower(0, { repeat: 2, confirm: 5, level })).toBe(0);
    expect(neededDesign((design) => testPower(0, design), 0.8, level)).toMatchObject({ repeat: 3 });
  });

  // The share of 2,000 simulated suites: npm run prove -- verdicts.
  test("of a suite whose 60 tests fall from 0.9 to 0.8", () => {
    const rates = Array.from({ length: 60 }, () => 0.9);
    expect(suitePower(rates, 0.1, { repeat: 5, confirm: 5, level })).toBeCloseTo(0.914, 2);
  });

  // SciPy 1.17: binom.pmf of the passes with which fisher_exact is at most 0.025.
  test.each([
    [0.3, 5, 0.5269364254],
    [0.5, 8, 0.3618621826],
    [0.7, 40, 0.9913813155],
  ])("of a test that falls to %d, with %d repeats, is that of SciPy", (rate, repeat, expected) => {
    expect(testPower(rate, { repeat, confirm: repeat, level })).toBeCloseTo(expected, 9);
  });
});
