import { expect, test } from "vitest";
import { consoleUrlOf, defaultConsoleUrl } from "../../src/config/profiles.ts";

test.each([
  ["https://example.com/v1", "https://example.com"],
  ["http://127.0.0.1:5001/dify/v1", "http://127.0.0.1:5001"],
  ["https://api.dify.ai/v1", "https://cloud.dify.ai"],
])("the web console of %s is %s by default", (baseUrl, expected) => {
  expect(defaultConsoleUrl(baseUrl)).toBe(expected);
});

test.each([
  ["example.com", "https://example.com"],
  ["localhost:3000/", "http://localhost:3000"],
  ["https://example.com/console//", "https://example.com/console"],
  ["http://dify.example", "http://dify.example"],
])("the address %s is %s", (text, expected) => {
  expect(consoleUrlOf(text)).toBe(expected);
});

test.each([
  "ftp://example.com",
  "file:///etc/passwd",
  "javascript:alert(1)",
  "https://ann:pw@example.com",
  "https://example.com?a=b",
  "https://example.com/#a",
  "exa mple.com",
  "",
])("%j is rejected", (text) => {
  expect(() => consoleUrlOf(text)).toThrow("invalid address of the web console");
});
