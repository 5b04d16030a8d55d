import { expect, test } from "vitest";
import {
  binomial,
  binomialUpTo,
  normalBelow,
  quantile,
  studentBelow,
} from "../../../src/lib/statistics/distributions.ts";

// Student's t: R. A. Fisher and F. Yates, "Statistical Tables", 1938, table III.
test.each([
  [12.706, 1, 0.975],
  [2.776, 4, 0.975],
  [2.571, 5, 0.975],
  [2.228, 10, 0.975],
  [-2.015, 5, 0.05],
  [0, 7, 0.5],
])("t below %d with %d degrees of freedom", (t, degrees, expected) => {
  expect(studentBelow(t, degrees)).toBeCloseTo(expected, 4);
});

// M. Abramowitz and I. A. Stegun, 1964, table 26.1.
test.each([
  [0, 0.5],
  [1, 0.841344746],
  [-1.96, 0.024997895],
  [3, 0.998650102],
])("z below %d", (z, expected) => {
  expect(normalBelow(z)).toBeCloseTo(expected, 6);
});

// SciPy 1.17: norm.cdf, norm.ppf, t.cdf and binom.pmf.
test.each([
  ["z below -2.5", normalBelow(-2.5), 0.0062096653],
  ["z below 0.7", normalBelow(0.7), 0.7580363478],
  ["z of 0.001", quantile(0.001), -3.0902323062],
  ["z of 0.2", quantile(0.2), -0.8416212336],
  ["z of 0.995", quantile(0.995), 2.5758293035],
  ["t of 6 below -1.5", studentBelow(-1.5, 6), 0.0921403681],
  ["t of 17 below 2.1", studentBelow(2.1, 17), 0.9745200764],
  ["t of 2 below -3.2", studentBelow(-3.2, 2), 0.0426704396],
  ["7 of 12 at 0.5", binomial(12, 7, 0.5), 0.193359375],
  ["3 of 40 at 0.1", binomial(40, 3, 0.1), 0.2003225288],
  ["510 of 1000 at 0.5", binomial(1000, 510, 0.5), 0.0206563516],
  ["none at 0", binomial(5, 0, 0), 1],
  ["at most 3 of 10 at 0.5", binomialUpTo(10, 3, 0.5), 176 / 1024], // 1 + 10 + 45 + 120
  ["at most all", binomialUpTo(7, 7, 0.8), 1],
])("%s", (_, found, expected) => {
  expect(found).toBeCloseTo(expected, 4);
});
