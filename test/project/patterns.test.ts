import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../lib/paths.ts";
import { patterns, tooManySteps } from "../lib/patterns.ts";
import { rareTest } from "../lib/sampled.ts";

// The time for longer texts is measured in test/long/patterns.test.ts.
rareTest("no pattern takes more than linear time for a text of others", () => {
  expect(tooManySteps(patterns())).toEqual([]);
});

test("texts of others are normalized by unicodeForm, in linear time", () => {
  const found = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".ts") && !path.startsWith("sandbox/"))
    .filter((path) => /\.normalize\("/.test(readFileSync(join(root, "src", path), "utf8")));
  expect(found).toEqual(["host/safe-path.ts"]); // paths of files: the system limits their length
});

test("finds patterns of quadratic and exponential time", () => {
  const slow = [/[-.]+$/, /^\s*\d*\.?\d+\s*$/, /a+b/i, /(?:a+)+$/];
  const linear = [/(?<![-.])[-.]+$/, /^\d+(?:\.\d+)?$/, /"[^"]*"/];
  const found = tooManySteps([...slow, ...linear].map((form) => ({ where: form.source, form })));
  expect(found.map((each) => each.split(": ")[0])).toEqual(slow.map(({ source }) => source));
});
