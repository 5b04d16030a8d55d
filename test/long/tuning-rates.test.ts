/** How often tuning is right and wrong, on synthetic collections of which the truth is known. */
import { expect, test } from "vitest";
import { isProof } from "../lib/sampled.ts";
import {
  atFive,
  atFifteen,
  equal,
  rateOf,
  tunedAll,
  tunedWithNeeded,
} from "../lib/tuning-rates.ts";

const collections = isProof ? 1000 : 200;
const planted = isProof ? 400 : 100;

test("of arms that are as good as today's settings, one is called better in at most 6.5 %", async () => {
  const rate = rateOf(await tunedAll(equal, collections), ({ verdict }) => verdict === "better");
  console.log(`better claimed of equal arms: ${rate} of ${collections} collections`);
  expect(rate).toBeLessThanOrEqual(0.065);
});

test("an arm that is 15 points better is chosen and proven in at least 90 of 100", async () => {
  const all = await tunedAll(atFifteen, planted);
  const rate = rateOf(all, ({ winner, verdict }) => winner === 1 && verdict === "better");
  console.log(`15 points better, proven: ${rate} of ${planted} collections`);
  expect(rate).toBeGreaterThanOrEqual(0.9);
});

test("5 points are inconclusive, and can with the questions that the report names", async () => {
  const few = await tunedAll(atFive, planted);
  const told = rateOf(few, ({ verdict }) => verdict === "better");
  console.log(`5 points better, 200 questions: better ${told}`);
  expect(told).toBeLessThan(0.25);
  const many = await tunedWithNeeded(few);
  const rate = rateOf(many, ({ winner, verdict }) => winner === 1 && verdict === "better");
  console.log(`5 points better, questions as named: ${rate} of ${many.length} collections`);
  expect(rate).toBeGreaterThanOrEqual(0.8);
}, 1_800_000);
