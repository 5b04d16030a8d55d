/** Verdicts of suites that are compared with a baseline, when the true pass rates are known. */
import { expect, test } from "vitest";
import { drawnSuite, type Experiment, playedSuite } from "../lib/suite-seeds.ts";

/** Forty tests: five break, the others are as before. */
const experiment: Experiment = {
  repeat: 20,
  confirm: 20,
  kinds: {
    falls: { tests: 5, before: 0.95, now: 0.1 },
    wavers: { tests: 5, before: 0.5, now: 0.5 },
    stays: { tests: 30, before: 1, now: 1 },
  },
};
const falling = ["falls 1", "falls 2", "falls 3", "falls 4", "falls 5"];

/** Seeds 1 to this one go through the server: each is 1,600 chats. */
const played = Number(process.env["VERDICT_SEEDS"] ?? 20);
const seeds = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const isExact = ({ broken }: { readonly broken: readonly string[] }) =>
  JSON.stringify(broken) === JSON.stringify(falling);

test(`wf test run names the tests that broke, with ${played} seeds`, async () => {
  let exact = 0;
  for (const seed of seeds(played)) {
    const { exit, err, ...result } = await playedSuite(experiment, seed);
    expect(exit, err).toBe(14);
    // The other seeds are drawn without a server: here both are known.
    expect(result, `seed ${seed}`).toEqual(drawnSuite(experiment, seed));
    if (isExact(result)) exact++;
  }
  console.log(`${exact} of ${played} seeds named the five tests and no other`);
  expect(exact).toBeGreaterThanOrEqual(played * 0.95);
});

test("the five tests and no other are named in at least 95 of 100 seeds", () => {
  const results = seeds(100).map((seed) => drawnSuite(experiment, seed));
  const exact = results.filter(isExact).length;
  // Each kind of claim has half of the level.
  const wrong = (["broken", "fixed"] as const).map(
    (claim) => results.filter((each) => each[claim].some((name) => !falling.includes(name))).length,
  );
  console.log(`${exact} of 100 seeds exact; wrongly broken or fixed in ${wrong.join(" and ")}`);
  expect(exact).toBeGreaterThanOrEqual(95);
  expect(Math.max(...wrong)).toBeLessThan(5);
});

test("false alarms stay below the level where nothing has changed", () => {
  // The rates at which Fisher's test comes nearest to its level.
  const unchanged: Experiment = {
    repeat: 20,
    kinds: {
      half: { tests: 20, before: 0.5, now: 0.5 },
      mostly: { tests: 20, before: 0.8, now: 0.8 },
    },
  };
  const alarms = seeds(1000).filter((seed) => {
    const { broken, fixed } = drawnSuite(unchanged, seed);
    return broken.length + fixed.length > 0;
  }).length;
  console.log(`false alarms in ${alarms} of 1000 seeds`);
  expect(alarms).toBeLessThan(50);
});
