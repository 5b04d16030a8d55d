/** How often tuning is right and wrong, on synthetic collections of which the truth is known. */
import { expect, test } from "vitest";
import { tuned } from "../lib/tuning-rates.ts";

const collections = Number(process.env["TUNING_COLLECTIONS"] ?? 200);

async function findings(shape: Parameters<typeof tuned>[0], count: number, from = 0) {
  const all = [];
  for (let seed = 0; seed < count; seed++) all.push(await tuned(shape, from + seed));
  return all;
}
const proven = (all: Awaited<ReturnType<typeof findings>>) =>
  all.filter(({ winner, verdict }) => winner === 1 && verdict === "better").length / all.length;

test("arms that are equally good are called better in at most 6.5 %", async () => {
  const shape = { arms: 6, questions: 200, discordant: 0.2, better: 0 };
  const all = await findings(shape, collections);
  const rate = all.filter(({ verdict }) => verdict === "better").length / all.length;
  console.log(`better claimed of equal arms: ${rate}`);
  expect(rate).toBeLessThanOrEqual(0.065);
});
test("15 points are found and proven", async () => {
  const all = await findings(
    { arms: 6, questions: 200, discordant: 0.2, better: 0.15 },
    collections,
    5000,
  );
  console.log(`15 points proven: ${proven(all)}`);
  expect(proven(all)).toBeGreaterThanOrEqual(0.9);
});
test("5 points", async () => {
  const shape = { arms: 6, questions: 200, discordant: 0.2, better: 0.05 };
  const few = await findings(shape, collections, 9000);
  const count = (verdict: string) =>
    few.filter((each) => each.verdict === verdict).length / few.length;
  console.log(count("better"), count("keep what you have"), count("cannot be told"));
  const needed = few.flatMap(({ comparison, verdict }) =>
    verdict === "cannot be told"
      ? (comparison?.needed.find(({ difference }) => difference === 0.05)?.questions ?? [])
      : [],
  );
  needed.sort((a, b) => a - b);
  console.log(needed.at(0), needed.at(needed.length >> 1), needed.at(-1));
  const rates = [];
  for (const n of [0.1, 0.5, 0.9]) {
    const questions = 2 * (needed[Math.floor(n * needed.length)] ?? 0);
    const many = await findings({ ...shape, questions }, collections, 20_000);
    rates.push([questions, proven(many), many.filter((x) => x.winner === 1).length / many.length]);
  }
  console.log(rates);
}, 600_000);
