/** The choice and the proof of `kb tune` without a server; `npm run prove -- tuning` has the rates. */
import { expect, test } from "vitest";
import {
  partsWithin,
  roundsOf,
  searchesOf,
  splitQuestions,
} from "../../../src/commands/measure/tune/halving.ts";
import { compared, sharedQuestions, tunedShared } from "../../lib/shared-documents.ts";
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

/** Four questions about each document. */
const asked = Array.from({ length: 400 }, (_, at) => ({
  key: `question ${at}`,
  document: `${at % 100}.md`,
}));

test("a document stays in its part when questions are added, with all of its questions", () => {
  const few = splitQuestions(asked.slice(0, 150), 1);
  const many = splitQuestions(asked, 2);
  expect(few.tune.every((key) => many.tune.includes(key))).toBe(true);
  expect(few.proof.every((key) => many.proof.includes(key))).toBe(true);
  expect(many.tune.length).toBeGreaterThan(150);
  expect(many.proof.length).toBeGreaterThan(150);
  const documents = (keys: readonly string[]) =>
    new Set(asked.filter(({ key }) => keys.includes(key)).map(({ document }) => document));
  const inBoth = [...documents(many.tune)].filter((each) => documents(many.proof).has(each));
  expect(inBoth).toEqual([]);
  expect(splitQuestions(asked, 2)).toEqual(many);
});

test("the field part decides for a document, unless its questions name both", () => {
  const of = (document: string, ...parts: readonly ("tune" | "proof" | undefined)[]) =>
    parts.map((part, at) => ({ key: `${document} ${at}`, document, part }));
  // SHA-256 of "0.md" begins with df, that of "1.md" with 2a.
  const all = [...of("0.md", undefined, "tune"), ...of("1.md", "proof", "tune", undefined)];
  const { tune, proof, mixed } = splitQuestions(all, 1);
  expect([...tune].sort()).toEqual(["0.md 0", "0.md 1", "1.md 0", "1.md 1", "1.md 2"]);
  expect([proof, mixed]).toEqual([[], ["1.md"]]);
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

test("documents with effects of their own rarely make equal settings differ", async () => {
  const claims = { byDocument: 0, byQuestion: 0, tuned: 0 };
  for (let seed = 0; seed < 40; seed++) {
    const questions = sharedQuestions({ documents: 20, sd: 2 }, 6, seed);
    const isTold = (comparison: ReturnType<typeof compared>) =>
      ["better", "worse"].includes(comparison?.verdict ?? "");
    if (isTold(compared(questions))) claims.byDocument++;
    if (isTold(compared(questions, "key"))) claims.byQuestion++;
    if ((await tunedShared(questions)).verdict === "better") claims.tuned++;
  }
  // Two verdicts of 5 % each, and one: at most 9 of 40 and 6 of 40 in 99 of 100 cases.
  expect(claims.byDocument).toBeLessThanOrEqual(9);
  expect(claims.tuned).toBeLessThanOrEqual(6);
  expect(claims.byQuestion).toBeGreaterThan(9);
});
