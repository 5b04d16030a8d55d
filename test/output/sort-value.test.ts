import { expect, test } from "vitest";
import { sortValue } from "../../src/output/html/page-table.ts";
import type { Cell } from "../../src/output/report-model.ts";

test.each<[Cell, number | undefined]>([
  [7, 7],
  [-0.5, -0.5],
  ["0.812", 0.812],
  ["480,574", 480_574],
  ["62 ms", 62],
  ["1.23 s", 1230],
  ["2m 05s", 125_000],
  ["1h 02m", 3_720_000],
  ["812 B", 812],
  ["1.5 KiB", 1536],
  ["16.0 MiB", 16 * 2 ** 20],
  ["3/4", 0.75],
  ["77–97 %", 77],
  ["+25 %", 25],
  ["-25 %", -25],
  ["×12", 12],
  ["+0.050", 0.05],
  [{ text: "5", tone: "bad" }, 5],
  [new Date(1000), 1000],
  ["none", undefined],
  ["", undefined],
  [null, undefined],
  [true, undefined],
  [{ chart: "bar", value: 1 }, undefined],
])("%j is sorted by %j", (cell, expected) => {
  expect(sortValue(cell)).toBe(expected);
});
