import { expect, test } from "vitest";
import { escapeControls, shorten, visible, widthOf } from "../../src/output/display-width.ts";
import { seeded } from "../lib/seeded.ts";

test.each([
  ["plain ünïcödé 日本 👩‍👩‍👧", "plain ünïcödé 日本 👩‍👩‍👧"],
  ["two\nlines", "two⏎lines"],
  ["two\r\nlines", "two⏎lines"],
  ["tab\there", "tab␉here"],
  ["\u001b[31mred\u001b[0m", "␛[31mred␛[0m"],
  ["\u0000\u0007\u007f", "␀␇␡"],
  ["\u009b2J", "<U+009B>2J"],
  ["txt.\u202egpj.exe", "txt.<U+202E>gpj.exe"],
  ["\u2066a\u2069\u200e\u061c", "<U+2066>a<U+2069><U+200E><U+061C>"],
  ["a\u2028b", "a<U+2028>b"],
  ["half \ud83d", "half <U+D83D>"],
])("visible(%j) is %j", (text, expected) => {
  expect(visible(text)).toBe(expected);
});

test.each([
  ["a\nb\r\nc", "a\nb\nc"],
  ["\tcode", "    code"],
  ["over\rwritten", "over␍written"],
  ["\u001b]0;title\u0007\n", "␛]0;title␇\n"],
])("with newlines, visible(%j) is %j", (text, expected) => {
  expect(visible(text, { newlines: true })).toBe(expected);
});

const alphabet = [
  ..."\u0000\t\n\r\u001b\u007f\u0085\u009b\u200b\u200d\u200e\u202e\u2028\u2066\ud800",
  "[31m",
  "a",
  "é",
  "e\u0301",
  "日",
  "한",
  "👩‍👩‍👧",
  "🇯🇵",
  "ﷺ",
  "-",
];

function randomText(next: () => number): string {
  return Array.from(
    { length: Math.floor(next() * 30) },
    () => alphabet[Math.floor(next() * alphabet.length)],
  ).join("");
}

test("random texts are made safe for a terminal", () => {
  const random = seeded(20261121);
  const acting = /[\p{Cc}\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\u2028\u2029]/u;
  for (let round = 0; round < 3000; round++) {
    const text = randomText(random);
    expect(visible(text)).not.toMatch(acting);
    expect(visible(text, { newlines: true }).replaceAll("\n", "")).not.toMatch(acting);
  }
});

test("random texts are shortened only if they are too wide", () => {
  const random = seeded(7);
  for (let round = 0; round < 3000; round++) {
    const text = visible(randomText(random));
    const width = round % 12;
    const short = shorten(text, width);
    expect(widthOf(short)).toBeLessThanOrEqual(width);
    if (widthOf(text) <= width) expect(short).toBe(text);
  }
});

test.each([
  ["", 0],
  ["abc", 3],
  ["日本語", 6],
  ["한국어", 6],
  ["\u1112\u1161\u11ab", 2], // 한 in its three letters
  ["ｆｕｌｌ", 8],
  ["ﾊﾝｶｸ", 4],
  ["e\u0301", 1],
  ["a\u200bb", 2],
  ["👩‍👩‍👧", 2],
  ["🇯🇵", 2],
  ["👍🏽", 2],
  ["❤️", 2],
  ["1️⃣", 2],
  ["©", 1],
  ["…", 1],
  ["─", 1],
  ["русский", 7],
])("%j takes %i columns", (text, width) => {
  expect(widthOf(text)).toBe(width);
});

test.each([
  ["abcdef", 6, "abcdef"],
  ["abcdef", 5, "abcd…"],
  ["日本語", 5, "日本…"],
  ["日本語", 4, "日…"],
  ["e\u0301e\u0301e\u0301", 2, "e\u0301…"],
  ["👩‍👩‍👧👩‍👩‍👧", 3, "👩‍👩‍👧…"],
  ["👩‍👩‍👧x", 2, "…"],
  ["abc", 1, "…"],
  ["abc", 0, ""],
])("%j in %i columns is %j", (text, width, expected) => {
  expect(shorten(text, width)).toBe(expected);
});

test("escaped JSON parses to the same value", () => {
  const value = { "\u202e": "a\u001b[0m\u007f\u009b\u2028\n", plain: "日本" };
  const json = escapeControls(JSON.stringify(value, null, 2));
  expect(json).toBe('{\n  "\\u202e": "a\\u001b[0m\\u007f\\u009b\\u2028\\n",\n  "plain": "日本"\n}');
  expect(JSON.parse(json)).toEqual(value);
});
