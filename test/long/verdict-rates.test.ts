/**
 * How often the comparison of two runs is wrong, and how often it finds a change. Sampled; whole with
 * `npm run prove -- verdicts`, which prints the tables of docs/test-suites.md.
 */
import { expect, test } from "vitest";
import { compared, dependences, kinds, randomNumbers, ratesOf } from "../lib/verdict-rates.ts";

/** Applications in each cell; a quarter of them with the seed of the day. */
const most = Number(process.env["VERDICT_APPS"] ?? 40);
const sizes = [20, 60, 200];
const repeats = [1, 3, 5, 10];
/** A fixed seed, and that of the day. */
const seeds = [
  { seed: 1, apps: most },
  { seed: Math.floor(Date.now() / 86_400_000), apps: Math.ceil(most / 4) },
];

/** The share that is exceeded once in a million cells whose true share is the limit. */
const bound = (limit: number, count: number) =>
  limit + 4.8 * Math.sqrt((limit * (1 - limit)) / count);

test.each(seeds)(
  "false alarms with $apps applications in each cell, seed $seed",
  ({ seed, apps }) => {
    const random = randomNumbers(seed);
    const share: number[] = [];
    const wrong: string[] = [];
    for (const dependence of dependences)
      for (const kind of Object.keys(kinds))
        for (const tests of sizes) {
          const cells = repeats.map((repeat) => {
            const rates = ratesOf(kind, tests);
            let alarms = 0;
            for (let app = 0; app < apps; app++) {
              const { isWorse, broken } = compared(rates, rates, { repeat, dependence }, random);
              if (isWorse || broken.length > 0) alarms++;
            }
            return alarms / apps;
          });
          const texts = cells.map((cell) => `${(100 * cell).toFixed(1)} %`.padStart(7));
          console.log([dependence.name.padEnd(24), kind.padEnd(6), tests, ...texts].join(" "));
          share.push(...cells);
          for (const [index, cell] of cells.entries())
            if (cell > Math.min(bound(0.05, apps), apps >= 2000 ? 0.065 : 1))
              wrong.push(
                `${dependence.name}, ${kind}, ${tests} tests, ${repeats[index]} repeats: ${cell}`,
              );
        }
    const all = share.reduce((sum, each) => sum + each, 0) / share.length;
    console.log(`false alarms over all cells: ${(100 * all).toFixed(2)} %`);
    expect(wrong).toEqual([]);
    expect(all).toBeLessThanOrEqual(0.055);
  },
);

test.each([
  ["one sure test of 60 breaks", 0.95],
  ["all 60 tests fall from 0.9 to 0.8", 0.9],
] as const)("%s: found with 5 repeats", (change, least) => {
  const random = randomNumbers(1);
  const isOne = change.startsWith("one");
  const rates = isOne ? ratesOf("mixed", 60) : Array.from({ length: 60 }, () => 0.9);
  const after = isOne ? rates.with(0, 0) : rates.map(() => 0.8);
  const [independent = { name: "" }] = dependences;
  const count = Math.max(200, most);
  let found = 0;
  for (let app = 0; app < count; app++) {
    const said = compared(rates, after, { repeat: 5, dependence: independent }, random);
    if (isOne ? said.broken.includes(0) : said.isWorse || said.broken.length > 0) found++;
  }
  console.log(`${change}: found in ${found} of ${count}`);
  // A sample may fall below by chance.
  expect(found / count).toBeGreaterThanOrEqual(count >= 2000 ? least : least - 0.06);
});
