import { expect, test } from "vitest";
import { didYouMean } from "../../src/lib/did-you-mean.ts";

const words = [
  "list",
  "lint",
  "plan",
  "stop",
  "wait",
  "copy",
  "stats",
  "metadata",
  "doc",
  "--sort",
];

test.each([
  ["lits", "list"], // swapped
  ["lst", "list"], // missing
  ["lisst", "list"], // too many
  ["lust", "list"], // replaced
  ["LIST", "list"],
  ["meta", "metadata"],
  ["docs", "doc"],
  ["documents", "doc"],
  ["--srot", "--sort"],
  ["tsop", "stop"],
])("%s: did you mean %s?", (typed, near) => {
  expect(didYouMean(typed, words)).toBe(near);
});

test.each([
  "man",
  "top",
  "tail",
  "nope",
  "init",
  "do",
  "li",
  "",
  "lsit2",
  "--format",
  "constructor",
])("%s: no suggestion", (typed) => {
  expect(didYouMean(typed, words)).toBeUndefined();
});

test("an equal word in another case comes before a longer one", () => {
  expect(didYouMean("hand", ["Handbook", "Hand"])).toBe("Hand");
});
