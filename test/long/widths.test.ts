import { expect, test } from "vitest";
import { differentWidths } from "../lib/widths.ts";

test("the width of every character is that of string-width 8", () => {
  expect(differentWidths(1)).toEqual([]);
});
