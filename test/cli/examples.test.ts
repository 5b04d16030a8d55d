import { beforeAll, expect, test } from "vitest";
import { sampled } from "../lib/sampled.ts";
import { checkExample, examplesOf, exceptions, prepareExamples } from "../lib/examples.ts";

beforeAll(prepareExamples);

const all = await examplesOf();

test.each(exceptions.map((pattern) => [pattern]))(
  "an example matches the exception %s",
  (pattern) => {
    expect(all.some((line) => pattern.test(line))).toBe(true);
  },
);

// Of every second command the first; all of them: test/long/examples.test.ts.
test.each(sampled(24, await examplesOf(1)))("%s", checkExample);
