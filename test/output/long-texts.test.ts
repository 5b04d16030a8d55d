/** Texts of others are normalized and divided in linear time. */
import { expect, test } from "vitest";
import { questionIn } from "../../src/commands/measure/questions/passages.ts";
import { sentencesIn } from "../../src/lib/word-diff.ts";
import { unicodeForm } from "../../src/lib/text.ts";

const [acute, dot, halfVoiced] = ["\u0301", "\u0323", "\uff9e"];

test.each([
  ["e\u0301", "é"],
  ["ﬁ①", "fi1"],
  [`a${dot.repeat(29)}`, `ạ${dot.repeat(28)}`],
  // At most 30 marks are sorted at once; U+034F divides them.
  [
    `a${(acute + dot).repeat(30)}`,
    `ạ${dot.repeat(14)}${acute.repeat(15)}\u034f${dot.repeat(15)}${acute.repeat(15)}\u034f`,
  ],
  [`か${(acute + halfVoiced).repeat(15)}`, `が${"\u3099".repeat(14)}${acute.repeat(15)}\u034f`],
])("the form of %j is %j", (text, expected) => {
  expect(unicodeForm(text)).toBe(expected);
  expect(unicodeForm(expected)).toBe(expected);
});

test("a text is the sum of its sentences", () => {
  const text = "One is here. Two is there! ".repeat(1000);
  const all = [...sentencesIn(text)];
  expect(all.join("")).toBe(text);
  expect([all.length, all[0]]).toEqual([2000, "One is here. "]);
});

test.each([
  ["- “How many days?”\nMore", "How many days?"],
  ["1. **Why 3 > 2?**", "Why 3 > 2?"],
  ['"', ""],
])("the question in %j", (answer, expected) => {
  expect(questionIn(answer)).toBe(expected);
});

test("a question between a million marks is found: to copy the rest after each would take hours", () => {
  const marks = '"'.repeat(1_000_000);
  expect(questionIn(`${marks}Why?${marks}`)).toBe("Why?");
});
