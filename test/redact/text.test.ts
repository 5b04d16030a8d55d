import { expect, test } from "vitest";
import { parseJson } from "../../src/lib/json.ts";
import { redactStructure, redactText, redactValue, truncate } from "../../src/redact/text.ts";

test.each([
  ["Authorization: Bearer abc", "Authorization: ***"],
  ["X-Api-Key: abc", "X-Api-Key: ***"],
  ["Bearer abcdefghi0123", "Bearer ***"],
  ["the bearer of good news", "the bearer of good news"],
  ["key app-ABCdef0123", "key app-***"],
  ["the app-store-listing page", "the app-store-listing page"],
  ["https://a/f?sign=x&n=1", "https://a/f?sign=***&n=1"],
  ["https://ann:pw@a/f", "https://***@a/f"],
  ['got {"api_key": "x", "n": 1} back', 'got {"api_key": "***", "n": 1} back'],
  ["token=abc&page=2", "token=***&page=2"],
  ['{ "password": "x", "n": 1 }', '{"password":"***","n":1}'],
])("%j becomes %j", (text, expected) => {
  expect(redactText(text)).toBe(expected);
});

test("everything within credentials is masked, whatever its name", () => {
  const value = { name: "Ann", credentials: { user: "x", pin: 12, list: ["y"] }, accessToken: "z" };
  expect(redactValue(value)).toEqual({
    name: "Ann",
    credentials: { user: "***", pin: "***", list: ["***"] },
    accessToken: "***",
  });
});

test.each([
  [
    { name: "Ann", age: 7, ok: true },
    { name: "<3 characters>", age: "<number>", ok: true },
  ],
  [
    ["a", ""],
    ["<1 character>", ""],
  ],
  [null, null],
])("the structure of %j is %j", (value, expected) => {
  expect(redactStructure(value)).toEqual(expected);
});

test("long numbers are hidden, too", () => {
  const value = parseJson('{"a":1790123456789012345,"b":[0.1234567890123456789]}');
  expect(redactStructure(value)).toEqual({ a: "<number>", b: ["<number>"] });
  expect(redactValue({ token: value })).toEqual({ token: { a: "***", b: ["***"] } });
});

test("a shortened text shows its length", () => {
  expect(truncate(3, "abcdef")).toBe("abc… (6 characters)");
  expect(truncate(6, "abcdef")).toBe("abcdef");
});
