import { expect, test } from "vitest";
import { TextDigest } from "../../src/runs/text.ts";

test.each([
  [["Leave is ", "30 days"], "Leave is 30 days", true, true],
  [["Leave is "], "Leave is 30 days", false, true],
  [["Leave is "], "leave is 30 days", false, false],
  [["ab"], "ba", false, false],
  [["ab", "c"], "ab", false, false],
  [[], "a", false, true],
  [[], "", true, true],
  [["é", "😀"], "é😀", true, true],
  [["\u{1f600}".slice(0, 1), "\u{1f600}".slice(1)], "😀!", false, true],
] as const)("%j and %j: equal %j, beginning %j", (pieces, text, isEqual, isBeginning) => {
  const digest = new TextDigest();
  for (const piece of pieces) digest.add(piece);
  expect(digest.equals(text)).toBe(isEqual);
  expect(digest.isPrefixOf(text)).toBe(isBeginning);
});
