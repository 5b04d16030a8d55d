import { expect, test } from "vitest";
import {
  cut,
  cutDistinct,
  shortIdLength,
  widthOf,
  wrap,
  wrapMessage,
} from "../../src/output/display-width.ts";

const leave = "policies/human-resources/europe/germany/parental-leave-1.md";

test.each<[text: string, width: number, shown: string]>([
  ["short.md", 8, "short.md"],
  [leave, 24, "pol…/parental-leave-1.md"],
  [leave, 20, "poli…/parenta…e-1.md"],
  [leave, 12, "parent…-1.md"],
  ["docs/My Handbook.md", 16, "…/My Handbook.md"],
  ["会议记录/第一季度/产品评审会议纪要-1.md", 25, "会…/产品评审会议纪要-1.md"],
  ["Rate limit exceeded and/or the quota is used up", 20, "Rate limit exceeded…"],
  ["日本語の文書", 6, "日本…"],
  ["abc", 1, "…"],
  ["abc", 0, ""],
])("%j in %d columns is %j", (text, width, shown) => {
  expect(cut(text, width)).toBe(shown);
  expect(widthOf(shown)).toBeLessThanOrEqual(width);
});

test("in ASCII, the mark is three dots", () => {
  expect(cut("Rate limit exceeded", 10, "...")).toBe("Rate li...");
  expect(cut(leave, 26, "...")).toBe("pol.../parental-leave-1.md");
});

test.each<[texts: readonly string[], width: number, shown: readonly string[]]>([
  [["a", "b"], 5, ["a", "b"]],
  [
    ["Quarterly report of the company 2025", "Quarterly report of the company 2026"],
    16,
    ["Quarterly r…2025", "Quarterly r…2026"],
  ],
  [
    [leave, leave.replace("germany", "austria")],
    25,
    ["polici…germany/pa…ve-1.md", "polici…austria/pa…ve-1.md"],
  ],
  [["same long text", "same long text"], 8, ["same lo…", "same lo…"]],
  [
    ["日本語の文書 総務部 規程集 第一版", "日本語の文書 総務部 規程集 第二版"],
    16,
    ["日本語の…第一版", "日本語の…第二版"],
  ],
])("%j in %d columns stay different", (texts, width, shown) => {
  expect(cutDistinct(texts, width)).toEqual(shown);
});

test("random texts that differ anywhere stay different", () => {
  for (let at = 0; at < 60; at++) {
    const texts = ["x", "y", "z"].map((mark) => `${"a".repeat(at)}${mark}${"b".repeat(60 - at)}`);
    for (const width of [8, 13, 30]) {
      const shown = cutDistinct(texts, width);
      expect(new Set(shown).size, shown.join(" ")).toBe(3);
      for (const text of shown) expect(widthOf(text)).toBeLessThanOrEqual(width);
    }
  }
});

test.each([
  [["c2ee420a-a368-429e-80b2-52898ba00000"], 8],
  [["c2ee420a-a368-429e-80b2-52898ba00000", "f3a59b7d-81b8-41ab-8acb-e846d9b00000"], 8],
  // IDs that begin with a time share the start.
  [["0199a1b2-c3d4-7000-8000-000000000001", "0199a1b2-c3d5-7000-8000-000000000002"], 13],
])("the starts of %j need %d characters", (ids, length) => {
  expect(shortIdLength(ids)).toBe(length);
});

test.each<[line: string, width: number, lines: readonly string[]]>([
  ["one two three", 13, ["one two three"]],
  ["one two three", 8, ["one two", "three"]],
  ["one two three", 7, ["one two", "three"]],
  ["one abcdefghij", 5, ["one", "abcde", "fghij"]],
  ["日本語の文書", 5, ["日本", "語の", "文書"]],
  ["", 5, [""]],
  ["ab", 0, ["a", "b"]],
  ["ab", -1, ["a", "b"]],
])("%j wraps in %d columns", (line, width, lines) => {
  expect(wrap(line, width)).toEqual(lines);
});

test.each<[text: string, width: number, shown: string]>([
  ["error: failed (401 unauthorized)", 40, "error: failed (401 unauthorized)"],
  ["error: failed (401 unauthorized)", 31, "error: failed (401\n    unauthorized)"],
  [
    "hint: run `kb doc show a b` or `kb list`",
    24,
    "hint: run\n    `kb doc show a b` or\n    `kb list`",
  ],
  [
    "hint: `kb doc show Handbook a.md` shows it",
    20,
    "hint: `kb doc show Handbook a.md` shows\n    it",
  ],
  ["see https://example.com/a/long/address now", 12, "see https://example.com/a/long/address now"],
  ["文档 未找到", 10, "文档\n    未找到"],
  ["  1  Approve", 12, "  1  Approve"],
  ["a `b c", 5, "a `b\n    c"],
  ["Delete tags draft, it? [y/N] ", 24, "Delete tags draft, it?\n    [y/N] "],
  ["", 5, ""],
])("the message %j in %d columns is %j", (text, width, shown) => {
  expect(wrapMessage(text, width)).toBe(shown);
});

test("without a terminal a message is one line", () => {
  expect(wrapMessage("a ".repeat(200), Infinity)).toBe("a ".repeat(200));
});
