import { expect, test } from "vitest";
import { checkKey, mayOpen } from "../../src/lib/api-key.ts";
import { maskKey } from "../../src/redact/keys.ts";

test.each([
  ["app-0123456789", ["app"], "app-****6789"],
  ["dataset-0123456789", ["dataset"], "dataset-****6789"],
  ["sk-0123456789", ["dataset", "app"], "sk-****6789"],
  ["gateway-0123456789", ["dataset", "app"], "****6789"],
  ["app-1234", ["app"], "****"],
  ["app-0123 456789", ["app"], "****"],
])("%j opens %j and is shown as %s", (key, kinds, masked) => {
  expect((["dataset", "app"] as const).filter((kind) => mayOpen(key, kind))).toEqual(kinds);
  expect(maskKey(key)).toBe(masked);
});

test.each([
  ["a b", "KB_KEY contains spaces, line breaks or characters no key has"],
  ["schlüssel", "KB_KEY contains spaces, line breaks or characters no key has"],
  ["k".repeat(4097), "KB_KEY is too long for a key (4097 characters)"],
])("text that cannot be a key is rejected", (text, message) => {
  expect(() => checkKey(text, "KB_KEY")).toThrow(message);
});
