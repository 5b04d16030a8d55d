/** What a calibration says about judges whose bias is known. */
import { expect, test } from "vitest";
import { drawnBias, playedBias } from "../lib/judge-seeds.ts";

/** Seeds 1 to this one go through the server: each is 600 chats. */
const played = 5;
const seeds = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

// Fifteen points: 30 of 200 answers pass only with the change.
const long = { pairs: 200, padded: 30, reversed: 0 };
const late = { pairs: 200, padded: 0, reversed: 30 };
const fair = { pairs: 200, padded: 0, reversed: 0 };

test.each([
  ["length", "padded", long],
  ["order", "reversed", late],
])(
  "a bias of 15 points by %s is told in at least 95 of 100 seeds, and no other",
  (_, change, judge) => {
    const told = seeds(100).map((seed) => drawnBias(judge, seed));
    const found = told.filter((each) => each[change] === "more").length;
    const others = told.filter((each) => Object.keys(each).some((name) => name !== change)).length;
    console.log(`${change}: told in ${found} of 100 seeds, the other change in ${others}`);
    expect(found).toBeGreaterThanOrEqual(95);
    expect(others).toBeLessThanOrEqual(5);
  },
);

test("a judge without bias is accused in at most 5 of 100 seeds", () => {
  const told = seeds(100).filter((seed) => Object.keys(drawnBias(fair, seed)).length > 0);
  console.log(`accused in ${told.length} of 100 seeds`);
  expect(told.length).toBeLessThanOrEqual(5);
});

test(`wf test calibrate says the same about chats of the sandbox, with ${played} seeds`, async () => {
  for (const seed of seeds(played)) {
    expect(await playedBias(long, seed), `seed ${seed}`).toEqual({ padded: "more" });
    expect(await playedBias(late, seed), `seed ${seed}`).toEqual({ reversed: "more" });
  }
  let accused = 0;
  for (const seed of seeds(played))
    if (Object.keys(await playedBias(fair, seed)).length > 0) accused++;
  expect(accused).toBeLessThanOrEqual(Math.ceil(played * 0.05));
});
