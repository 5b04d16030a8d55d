import { expect, test } from "vitest";
import { expiryText, formText } from "../../src/lib/form-text.ts";

test.each([
  ["Please review: hello\n\n{{#$output.comment#}}", "Please review: hello"],
  ["A\n\n{{#$output.a#}}\n\nB {{#$output.b#}}", "A\n\nB"],
  ["{{#$output.a#}} {{#$output.b#}}", ""],
  ["A {{#node.name#}}\r\nB", "A {{#node.name#}}\nB"],
])("%j is shown as %j", (content, expected) => {
  expect(formText(content)).toBe(expected);
});

const now = new Date("2026-11-22T20:48:00Z");
const format = (date: Date) =>
  Number.isNaN(date.getTime()) ? "" : date.toISOString().slice(0, 16).replace("T", " ");

test.each([
  ["2026-11-22T21:48:00Z", "expires in 60 minutes (21:48)"],
  ["2026-11-22T20:49:00Z", "expires in 1 minute (20:49)"],
  ["2026-11-22T22:48:00Z", "expires in 2 hours (22:48)"],
  ["2026-11-23T20:47:00Z", "expires in 23 hours (2026-11-23 20:47)"],
  ["2026-11-29T20:48:00Z", "expires in 7 days (2026-11-29 20:48)"],
  ["2026-11-22T20:40:00Z", "expired (20:40)"],
  ["no date", ""],
])("%s: %s", (expires, expected) => {
  expect(expiryText(new Date(expires), now, format)).toBe(expected);
});

test("a relative time has no day to omit", () => {
  expect(expiryText(new Date("2026-11-22T21:48:00Z"), now, () => "in 1h")).toBe(
    "expires in 60 minutes (in 1h)",
  );
});
