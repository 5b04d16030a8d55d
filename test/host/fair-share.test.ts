import { expect, test } from "vitest";
import { fairShare, TURN_MS } from "../../src/host/fair-share.ts";

test.each([
  ["one member has all", "a", 10, 0, { a: 10 }],
  ["two have half each", "a b", 10, 0, { a: 5, b: 5 }],
  ["the remainder goes to the first", "a b c", 10, 0, { a: 4, b: 3, c: 3 }],
  ["then to the second", "a b c", 10, 1, { a: 3, b: 4, c: 3 }],
  ["then to the third", "a b c", 10, 2, { a: 3, b: 3, c: 4 }],
  ["then to the first again", "a b c", 10, 3, { a: 4, b: 3, c: 3 }],
  ["more members than slots take turns", "a b c", 2, 0, { a: 1, b: 1, c: 0 }],
  ["and none is left out", "a b c", 2, 1, { a: 0, b: 1, c: 1 }],
  ["for longer than it takes", "a b c", 2, 2, { a: 1, b: 0, c: 1 }],
  ["the order of the names does not matter", "c a b", 2, 2, { a: 1, b: 0, c: 1 }],
] as const)("%s", (_, members, slots, turn, expected) => {
  const all = members.split(" ");
  const shares = all.map((each) => [each, fairShare(each, all, slots, turn * TURN_MS)]);
  expect(Object.fromEntries(shares)).toEqual(expected);
});

test("a member that the others do not see yet counts itself", () => {
  expect(fairShare("b", ["a"], 10, 0)).toBe(5);
});
