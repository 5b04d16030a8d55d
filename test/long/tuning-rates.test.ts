/** How often tuning is right and wrong, on synthetic collections of which the truth is known. */
import { expect, test } from "vitest";
import { passRate } from "../../src/lib/statistics/pass-rates.ts";
import { isProof } from "../lib/sampled.ts";
import { compared, sharedQuestions, tunedShared } from "../lib/shared-documents.ts";
import type { Shared } from "../lib/shared-documents.ts";
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

const samples = isProof ? 2000 : 200;
/** The share of false alarms that is allowed in a sample: its upper 95 % limit is 7 % in the proof. */
const allowed = isProof ? 0.059 : 0.09;

/** Equal settings, and 2 to 10 questions about each document. */
const sharing: readonly Shared[] = [
  { documents: 10, sd: 2 },
  { documents: 40, sd: 1 },
  { documents: 40, sd: 2 },
  { documents: 40, sd: 2, rate: 0.8 },
  { documents: 40, sd: 1, sides: "one" },
  { documents: 40, sd: 2, sides: "one" },
  { documents: 40, sd: 2, second: 0.2 },
];

test.each(sharing)(
  "equal settings with effects of documents are rarely told apart: %o",
  async (shape) => {
    const claims = { worse: 0, better: 0, tuned: 0, worseByQuestion: 0, betterByQuestion: 0 };
    for (let seed = 0; seed < samples; seed++) {
      const questions = sharedQuestions(shape, 6, seed);
      const now = compared(questions)?.verdict;
      if (now === "worse" || now === "better") claims[now]++;
      const before = compared(questions, "key")?.verdict;
      if (before === "worse" || before === "better") claims[`${before}ByQuestion`]++;
      if ((await tunedShared(questions)).verdict === "better") claims.tuned++;
    }
    console.log(`false alarms of ${samples}: ${JSON.stringify({ ...shape, ...claims })}`);
    const { worse, better, tuned } = claims;
    // Where both settings have effects, either may be today's: both claims are as frequent.
    const pairs =
      shape.sides === "one"
        ? [
            [worse, samples],
            [better, samples],
          ]
        : [[worse + better, 2 * samples]];
    for (const [alarms = 0, of = 1] of [...pairs, [tuned, samples]]) {
      expect(alarms / of).toBeLessThanOrEqual(allowed);
      if (isProof) expect(passRate(alarms, of)?.high).toBeLessThanOrEqual(0.07);
    }
  },
  3_600_000,
);

test.each([0.05, 0.1])(
  "questions that share documents without effects find a difference of %d as often",
  (better) => {
    const found = { document: 0, key: 0 };
    for (let seed = 0; seed < samples; seed++) {
      const questions = sharedQuestions({ documents: 40, sd: 0, better, varied: 0.2 }, 2, seed);
      for (const by of ["document", "key"] as const)
        if (compared(questions, by)?.verdict === "better") found[by]++;
    }
    console.log(`${better} found of ${samples}: ${JSON.stringify(found)}`);
    expect(found.document / found.key).toBeGreaterThan(0.93);
  },
  3_600_000,
);

test.each<Shared>([
  { documents: 100, each: 1, sd: 0, varied: 0.05 },
  { documents: 100, each: 1, sd: 0, varied: 0.2 },
  { documents: 24, each: 5, sd: 0, varied: 0.05 },
  { documents: 40, each: 5, sd: 1, varied: 0.2 },
])(
  "the questions that are needed find a difference in about 4 of 5 cases: %o",
  (shape) => {
    for (const difference of [0.05, 0.1]) {
      const found: boolean[] = [];
      for (let seed = 0; seed < samples; seed++) {
        const pilot = compared(sharedQuestions(shape, 2, seed));
        const needed = pilot?.needed.find((each) => each.difference === difference)?.questions;
        if (!needed || pilot?.verdict !== "inconclusive") continue;
        const documents = Math.ceil(needed / (shape.each ?? 1));
        const more = { ...shape, documents, better: difference };
        found.push(compared(sharedQuestions(more, 2, seed + 1e6))?.verdict === "better");
      }
      const rate = found.filter(Boolean).length / found.length;
      console.log(`${difference} found with the questions needed: ${rate} of ${found.length}`);
      expect(rate).toBeGreaterThan(0.75);
      expect(rate).toBeLessThan(0.97);
    }
  },
  3_600_000,
);
