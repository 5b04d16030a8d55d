/** The choice and the proof of `kb tune` without a server; `npm run prove -- tuning` has the rates. */
import { expect, test } from "vitest";
import {
  partsWithin,
  roundsOf,
  searchesOf,
  splitQuestions,
} from "../../../src/commands/measure/tune/halving.ts";
import { atFifteen, equal, rateOf, tuned, tunedAll } from "../../lib/tuning-rates.ts";

test("rounds ask twice as many questions of half the arms", () => {
  expect(roundsOf(5, 100)).toEqual([
    { arms: 5, questions: 25 },
    { arms: 3, questions: 50 },
    { arms: 2, questions: 100 },
  ]);
  expect(roundsOf(1, 30)).toEqual([{ arms: 1, questions: 30 }]);
  // With fewer than 20 questions, chance would decide.
  expect(roundsOf(4, 24)).toEqual([
    { arms: 4, questions: 20 },
    { arms: 2, questions: 24 },
  ]);
  // 5·25 + 3·25 + 2·50 for the arms, 100 for today's settings, 2·40 for the proof.
  expect(searchesOf(6, roundsOf(5, 100), 40)).toBe(480);
});

test("a question stays in its part when others are added, unless its field says otherwise", () => {
  const keys = Array.from({ length: 400 }, (_, at) => ({ key: `question ${at}` }));
  const few = splitQuestions(keys.slice(0, 100), 1);
  const many = splitQuestions(keys, 2);
  expect(few.tune.every((key) => many.tune.includes(key))).toBe(true);
  expect(few.proof.every((key) => many.proof.includes(key))).toBe(true);
  expect(many.tune.length).toBeGreaterThan(150);
  expect(many.proof.length).toBeGreaterThan(150);
  const [moved] = few.tune;
  const fixed = splitQuestions([{ key: moved ?? "", part: "proof" }], 1);
  expect(fixed).toEqual({ tune: [], proof: [moved] });
  expect(splitQuestions(keys, 2)).toEqual(many);
});

test("no budget of searches is passed, and a larger one takes more questions", async () => {
  const keys = Array.from({ length: 60 }, (_, at) => String(at));
  const parts = { tune: keys.slice(0, 30), proof: keys.slice(30) };
  let before = 0;
  for (let most = 1; most < 300; most += 7) {
    const within = partsWithin(parts, most, { arms: 5, lists: 6 });
    const tune = within?.tune.length ?? 0;
    const cost = searchesOf(6, roundsOf(5, tune), within?.proof.length ?? 0);
    if (within) expect(cost).toBeLessThanOrEqual(most);
    expect(tune).toBeGreaterThanOrEqual(before);
    before = tune;
  }
  expect(before).toBe(30);
  const { searches } = await tuned({ ...equal, questions: 60 }, 1);
  expect(searches).toBeLessThanOrEqual(searchesOf(6, roundsOf(5, 30), 30));
});

test("equal arms are rarely called better, and one that is 15 points better is", async () => {
  const claimed = rateOf(await tunedAll(equal, 20), ({ verdict }) => verdict === "better");
  expect(claimed).toBeLessThanOrEqual(0.1);
  const found = await tunedAll(atFifteen, 10);
  expect(
    rateOf(found, ({ winner, verdict }) => winner === 1 && verdict === "better"),
  ).toBeGreaterThanOrEqual(0.8);
});
