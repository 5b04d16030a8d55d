import { expect, test } from "vitest";
import { checkKey, kindOfKey } from "../../src/lib/api-key.ts";
import { maskKey } from "../../src/redact/keys.ts";

test.each([
  ["app-0123456789", "app", "app-****6789"],
  ["dataset-0123456789", "dataset", "dataset-****6789"],
  ["sk-0123456789", undefined, "****6789"],
  ["app-1234", "app", "****"],
  ["app-0123 456789", "app", "****"],
])("%j is of kind %s and shown as %s", (key, kind, masked) => {
  expect(kindOfKey(key)).toBe(kind);
  expect(maskKey(key)).toBe(masked);
});

test.each([
  ["a b", "KB_KEY contains spaces, line breaks or characters no key has"],
  ["schlüssel", "KB_KEY contains spaces, line breaks or characters no key has"],
  ["k".repeat(4097), "KB_KEY is too long for a key (4097 characters)"],
])("text that cannot be a key is rejected", (text, message) => {
  expect(() => checkKey(text, "KB_KEY")).toThrow(message);
});
