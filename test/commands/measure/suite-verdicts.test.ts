import { expect, test } from "vitest";
import { drawnSuite, type Experiment, playedSuite } from "../../lib/suite-seeds.ts";

// A hundred seeds with forty tests: test/long/suite-verdicts.test.ts.
test("the verdict names the tests that broke, and no other", async () => {
  const experiment: Experiment = {
    repeat: 10,
    kinds: {
      falls: { tests: 2, before: 0.95, now: 0.1 },
      wavers: { tests: 1, before: 0.5, now: 0.5 },
      stays: { tests: 2, before: 1, now: 1 },
    },
  };
  const { exit, err, ...result } = await playedSuite(experiment, 1);
  expect(exit).toBe(14);
  expect(err).toContain("suite: falls 1, suite: falls 2");
  expect(result.broken).toEqual(["falls 1", "falls 2"]);
  expect(result.fixed).toEqual([]);
  expect(result).toEqual(drawnSuite(experiment, 1));
});
