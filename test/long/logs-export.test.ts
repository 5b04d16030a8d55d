import { expect, test } from "vitest";
import { exportsKilled, exportsUnderWay } from "../lib/export-scenario.ts";
import { temporaryDirectory } from "../lib/support.ts";

const folder = await temporaryDirectory();

test("exports every run of a hundred changing logs once", async () => {
  for (let seed = 100; seed < 200; seed++) await exportsUnderWay(seed, folder);
  expect.hasAssertions();
});

test.each([1, 2, 3, 4, 5, 6])("an export killed ten times has no duplicates (seed %i)", (seed) =>
  exportsKilled(seed, 10, folder),
);
