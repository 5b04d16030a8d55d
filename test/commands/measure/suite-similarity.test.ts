/** How alike two answers are. */
import { describe, expect, test, vi } from "vitest";
import {
  compareWords,
  jsonIn,
} from "../../../src/commands/measure/suites/answers/compare-answer.ts";

describe("the similarity", () => {
  test.each([
    ["", "", 1],
    ["thirty days", "Thirty days.", 1],
    ["thirty days of leave", "twenty days of leave", 3 / 4],
    ["a b c d", "", 0],
    ["a b c", "a x b c", 3 / 4],
    ["東京に行きます", "東京に行きます", 1],
    ["東京に行きます", "京都に行きます", 3 / 4],
    ["Cafe\u0301", "CAFÉ", 1],
    ["a b", "b a", 0],
    ["a, b, c, d", "d, c, x, a", 3 / 4],
    ["👍", "👍", 1],
    ["👍", "👎", 0],
    ["?", "", 0],
    ["Don't park here", "Do not park here", 1],
    ["You can’t", "you cannot", 1],
    ["1,000 EUR", "1000 EUR", 1],
  ])("%j is like %j: %d", (one, other, expected) => {
    expect(compareWords(one, other).similarity).toBe(expected);
    expect(compareWords(other, one).similarity).toBe(expected);
  });

  test("is that of the plain table of distances", () => {
    let seed = 7;
    const next = (end: number) => {
      seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff;
      return (seed >> 8) % end;
    };
    const words = (most: number) =>
      Array.from({ length: 1 + next(most) }, () => "abcde"[next(5)] ?? "");
    for (let round = 1; round <= 150; round++) {
      const [a, b] = [words(round), words(round)];
      const longer = Math.max(a.length, b.length);
      const expected = (longer - plainDistance(a, b)) / longer;
      expect(compareWords(a.join(" "), b.join(" ")).similarity, `${a} / ${b}`).toBe(expected);
    }
  });

  test.each([
    ["words", "one two three four five six seven ", "days "],
    ["Chinese", "员工每年有三十天的带薪休假", "天"],
  ])("of 100,000 characters of %s is counted to the end, in little time", (_, text, end) => {
    const long = text.repeat(Math.ceil(100_000 / text.length));
    const start = process.cpuUsage();
    const half = long.slice(0, text.length * Math.floor(50_000 / text.length));
    expect(compareWords(long, half + end).similarity).toBeCloseTo(0.5, 3);
    expect(process.cpuUsage(start).user).toBeLessThan(10_000_000);
  });

  test("of a text without blanks does not split a character of two units", () => {
    const long = "𠮷".repeat(1500);
    expect(compareWords(`.${long}`, long).similarity).toBe(1);
  });

  // The time grows with the square of the words that differ: two seconds of processor time for 50,000.
  test.each([
    [12_000, 0],
    [13_000, undefined],
  ])("of two texts of %d different words is %j", (count, expected) => {
    const [one, other] = [words("x", count), words("y", count)];
    expect(compareWords(one, other).similarity).toBe(expected);
    expect(compareWords(one, `${one} y`).similarity).toBe(count / (count + 1));
  });

  test("of 12,000 shared words in another order is counted", () => {
    const all = words("x", 12_000).split(" ");
    expect(compareWords(all.join(" "), all.toReversed().join(" ")).similarity).toBeLessThan(0.001);
  });

  test("of a word with 300,000 marks is counted: to sort them all would take minutes", () => {
    const marks = "\u0301\u0323".repeat(150_000);
    expect(compareWords(`a${marks}`, `a${marks}`).similarity).toBe(1);
  });
});

test("no block is parsed after the first one that is JSON", () => {
  const parse = vi.spyOn(JSON, "parse");
  expect(jsonIn(`Here:\n\`\`\`\n{\n\`\`\`\n${"```\n[1]\n```\n".repeat(20_000)}`)).toEqual([1]);
  expect(parse).toHaveBeenCalledTimes(3);
  parse.mockRestore();
});

test.each([
  ["You have 30 days.", "You have 30 days!", undefined],
  ["You have 30 days.", "You have 14 weeks.", [3, "30 days.", "14 weeks."]],
  ["Yes", "Yes, until the end of May", [2, "", "until the end of"]],
])("%j and %j first differ: %j", (a, b, expected) => {
  const { difference } = compareWords(a, b);
  expect(difference && [difference.word, difference.one, difference.other]).toEqual(expected);
});

const words = (start: string, count: number) =>
  Array.from({ length: count }, (_, at) => start + at).join(" ");

function plainDistance(a: readonly string[], b: readonly string[]): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [index, word] of a.entries()) {
    const next = [index + 1];
    for (const [column, other] of b.entries()) {
      const replaced = (row[column] ?? 0) + Number(word !== other);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
