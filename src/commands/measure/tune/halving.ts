import { groupBy } from "../../../lib/collect.ts";
import { seededRandom, sum } from "../../../lib/numbers.ts";
import { mean } from "../../../lib/statistics/averages.ts";
import { comparePairs, hashedPart } from "../eval/index.ts";
import type { SettingsComparison } from "../eval/index.ts";

/** With fewer questions in a round, chance decides which half of the arms stays. */
const MIN_ROUND = 20;

/** Keys of the questions on which arms are chosen, and of those on which the choice is judged. */
export interface Parts {
  readonly tune: readonly string[];
  readonly proof: readonly string[];
}

/** A question, as far as it decides its part. */
export interface PartedQuestion {
  readonly key: string;
  readonly document: string;
  readonly part?: keyof Parts | undefined;
}

/**
 * Splits questions by document, so that the proof is about documents that had no part in the choice: by their field
 * `part`, or else, and where questions about one document name both, by a hash of the document. So a question stays in
 * its part whatever others are added. The seed orders the questions to tune with. `mixed` are documents with both.
 */
export function splitQuestions(
  questions: readonly PartedQuestion[],
  seed: number,
): Parts & { readonly mixed: readonly string[] } {
  const keys: Record<keyof Parts, string[]> = { tune: [], proof: [] };
  const mixed: string[] = [];
  for (const [document, same] of groupBy(questions, (each) => each.document)) {
    const named = new Set(same.flatMap(({ part }) => part ?? []));
    const [first] = named;
    if (named.size > 1) mixed.push(document);
    const part = named.size === 1 && first !== undefined ? first : hashedPart(document);
    keys[part].push(...same.map(({ key }) => key));
  }
  return { tune: shuffled(keys.tune, seed), proof: shuffled(keys.proof, seed), mixed };
}

function shuffled(keys: readonly string[], seed: number): string[] {
  const random = seededRandom(seed);
  const ranked = keys.map((key) => ({ key, rank: random() }));
  return ranked.sort((one, other) => one.rank - other.rank).map(({ key }) => key);
}

/**
 * The rounds of successive halving (Z. Karnin, T. Koren and O. Somekh, "Almost optimal exploration in multi-armed
 * bandits", 2013): each asks twice the questions and keeps the better half, until one arm is left.
 *
 *     5 arms, 100 questions  →  5 on 25, 3 on 50, 2 on 100
 */
export function roundsOf(arms: number, questions: number) {
  const count = Math.max(1, Math.ceil(Math.log2(arms)));
  return Array.from({ length: count }, (_, round) => ({
    arms: Math.ceil(arms / 2 ** round),
    questions: Math.min(
      questions,
      Math.max(MIN_ROUND, Math.ceil(questions / 2 ** (count - 1 - round))),
    ),
  }));
}

/** The most searches that a plan takes, where `lists` searches serve all arms and one more today's settings. */
export function searchesOf(
  lists: number,
  rounds: ReturnType<typeof roundsOf>,
  proof: number,
): number {
  const asked = rounds.map(({ arms, questions }, index) => {
    const before = rounds[index - 1]?.questions ?? 0;
    return Math.min(lists, arms) * (questions - before);
  });
  const last = rounds.at(-1)?.questions ?? 0;
  return sum(asked) + last + 2 * proof;
}

/** The parts, with as many of their questions as `most` searches allow; undefined if these are too few. */
export function partsWithin(
  { tune, proof }: Parts,
  most: number,
  { arms, lists }: { readonly arms: number; readonly lists: number },
): Parts | undefined {
  for (let left = tune.length; left > 0; left--) {
    const judged = Math.ceil((proof.length * left) / tune.length);
    if (searchesOf(lists, roundsOf(arms, left), judged) <= most)
      return { tune: tune.slice(0, left), proof: proof.slice(0, judged) };
  }
  return undefined;
}

/** How arms are measured; `valueOf` is undefined for a question whose search failed. */
export interface Trial<A> {
  measure(arms: readonly A[], keys: readonly string[]): Promise<void>;
  valueOf(arm: A, key: string): number | undefined;
  /** The document that a question is about. */
  documentOf(key: string): string;
}

/** What a tuning found. */
export interface TuneFinding<A> {
  /** The arms that entered each round, the best first after it. */
  readonly rounds: readonly { readonly questions: number; readonly arms: readonly A[] }[];
  /** Today's settings if no other arm looked better. */
  readonly winner: A;
  readonly verdict: "better" | "keep what you have" | "inconclusive";
  /** The winner against today's settings on the held-out questions; undefined for today's settings. */
  readonly comparison: SettingsComparison | undefined;
}

/**
 * Chooses the best of the arms by successive halving, and judges it on questions that had no part in the choice:
 * of arms that are all as good as today's settings, one is called better with a chance of at most `level`.
 */
export async function findAndProve<A>(
  { arms, today, parts }: { readonly arms: readonly A[]; readonly today: A; readonly parts: Parts },
  trial: Trial<A>,
  level: number,
): Promise<TuneFinding<A>> {
  const rounds: { questions: number; arms: readonly A[] }[] = [];
  let alive = arms;
  let best = 0;
  for (const { questions } of roundsOf(arms.length, parts.tune.length)) {
    const keys = parts.tune.slice(0, questions);
    await trial.measure([today, ...alive], keys);
    const gains = new Map(alive.map((arm) => [arm, gainOf(arm, today, keys, trial)]));
    const ranked = alive.toSorted((a, b) => (gains.get(b) ?? 0) - (gains.get(a) ?? 0));
    rounds.push({ questions, arms: ranked });
    alive = ranked.slice(0, Math.ceil(ranked.length / 2));
    best = (alive[0] && gains.get(alive[0])) ?? 0;
  }
  const [winner] = alive;
  if (winner === undefined || best <= 0)
    return { rounds, winner: today, verdict: "keep what you have", comparison: undefined };
  await trial.measure([today, winner], parts.proof);
  const valuesOf = (arm: A, label: string) => ({
    label,
    topK: undefined,
    figures: new Map(parts.proof.map((key) => [key, { value: trial.valueOf(arm, key) ?? null }])),
  });
  const pair = [valuesOf(today, "today"), valuesOf(winner, "winner")] as const;
  const { documentOf } = trial;
  const options = { measure: "value", level, documentOf, sides: "one" } as const;
  const [comparison] = comparePairs([pair], options);
  return { rounds, winner, verdict: verdictOf(comparison), comparison };
}

/** The mean gain over today's settings on the questions that both answered; the least of all if there are none. */
function gainOf<A>(arm: A, today: A, keys: readonly string[], { valueOf }: Trial<A>): number {
  const gains = keys.flatMap((key) => {
    const [now, before] = [valueOf(arm, key), valueOf(today, key)];
    return now === undefined || before === undefined ? [] : [now - before];
  });
  return mean(gains) ?? -1;
}

function verdictOf(comparison: SettingsComparison | undefined): TuneFinding<unknown>["verdict"] {
  if (comparison?.verdict === "better") return "better";
  const isKept = comparison?.verdict === "worse" || comparison?.verdict === "same";
  return isKept ? "keep what you have" : "inconclusive";
}

/**
 * The choice can be wrong, too: with so many times the questions that the proof alone needs, a real difference is
 * chosen and proven in 4 of 5 cases (`npm run prove -- tuning`).
 */
const FOR_CHOICE = 1.6;

/** Questions of both parts with which differences would be found; null where that cannot be calculated. */
export const neededInAll = (
  { tune, proof }: Readonly<Record<keyof Parts, number>>,
  comparison: SettingsComparison | undefined,
) =>
  (comparison?.needed ?? []).map(({ difference, questions }) => ({
    difference,
    questions: questions && Math.ceil((questions * FOR_CHOICE * (tune + proof)) / proof),
  }));
