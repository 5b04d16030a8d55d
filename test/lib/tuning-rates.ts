import { findAndProve, neededInAll } from "../../src/commands/measure/tune/halving.ts";
import type { TuneFinding } from "../../src/commands/measure/tune/halving.ts";
import { seeded } from "./seeded.ts";

/** A collection of questions, each found or not by each of the arms; the first arm is today's settings. */
interface Synthetic {
  readonly arms: number;
  readonly questions: number;
  /** The share of questions that the second arm and today's settings find differently. */
  readonly discordant: number;
  /** How many points the second arm is better; all others are as good as today's settings. */
  readonly better: number;
}

/** Tunes on a synthetic collection, half of whose questions are held out. Gives the index of the winner, too. */
export async function tuned(
  { arms, questions, discordant, better }: Synthetic,
  seed: number,
): Promise<TuneFinding<number> & { readonly searches: number }> {
  const random = seeded(seed);
  const found = Array.from({ length: questions }, () => {
    const today = random() < 0.6 ? 1 : 0;
    // Of those found differently, the share that the arm finds and today's settings do not.
    const row = [today];
    for (let arm = 1; arm < arms; arm++) {
      const gain = arm === 1 ? better : 0;
      const rate = today === 0 ? (discordant + gain) / 2 / 0.4 : (discordant - gain) / 2 / 0.6;
      row.push(random() < rate ? 1 - today : today);
    }
    return row;
  });
  const keys = found.map((_, index) => String(index));
  const half = Math.ceil(questions / 2);
  const measured = new Set<string>();
  const finding = await findAndProve(
    {
      arms: Array.from({ length: arms - 1 }, (_, index) => index + 1),
      today: 0,
      parts: { tune: keys.slice(0, half), proof: keys.slice(half) },
    },
    {
      measure: (which, asked) => {
        for (const arm of which) for (const key of asked) measured.add(`${arm} ${key}`);
        return Promise.resolve();
      },
      valueOf: (arm, key) =>
        measured.has(`${arm} ${key}`) ? found[Number(key)]?.[arm] : undefined,
      documentOf: (key) => key,
    },
    0.05,
  );
  return { ...finding, searches: measured.size };
}

/** The shapes whose rates are promised: six arms, today's settings among them. */
export const equal = { arms: 6, questions: 200, discordant: 0.2, better: 0 };
export const atFifteen = { ...equal, better: 0.15 };
export const atFive = { ...equal, better: 0.05 };

type Tuned = Awaited<ReturnType<typeof tuned>>;

export async function tunedAll(shape: Synthetic, count: number): Promise<Tuned[]> {
  const all: Tuned[] = [];
  for (let seed = 0; seed < count; seed++) all.push(await tuned(shape, seed + shape.better * 1e6));
  return all;
}

/** Tunes once for each finding that inconclusive, with as many questions as it takes for 5 points. */
export async function tunedWithNeeded(findings: readonly Tuned[]): Promise<Tuned[]> {
  const all: Tuned[] = [];
  for (const [seed, { comparison, verdict }] of findings.entries()) {
    if (verdict !== "inconclusive") continue;
    const needed = neededInAll({ tune: 100, proof: 100 }, comparison);
    const questions = needed.find(({ difference }) => difference === 0.05)?.questions ?? 0;
    all.push(await tuned({ ...atFive, questions }, seed + 3e6));
  }
  return all;
}

export const rateOf = (all: readonly Tuned[], is: (finding: Tuned) => boolean): number =>
  all.filter(is).length / all.length;
