import { expect, test } from "vitest";
import { patterns, tooManySteps } from "../lib/patterns.ts";

// The time for longer texts is measured in test/long/patterns.test.ts.
test("no pattern takes more than linear time for a text of others", () => {
  expect(tooManySteps(patterns())).toEqual([]);
});

test("finds patterns of quadratic and exponential time", () => {
  const slow = [/[-.]+$/, /^\s*\d*\.?\d+\s*$/, /a+b/i, /(?:a+)+$/];
  const linear = [/(?<![-.])[-.]+$/, /^\d+(?:\.\d+)?$/, /"[^"]*"/];
  const found = tooManySteps([...slow, ...linear].map((form) => ({ where: form.source, form })));
  expect(found.map((each) => each.split(": ")[0])).toEqual(slow.map(({ source }) => source));
});
