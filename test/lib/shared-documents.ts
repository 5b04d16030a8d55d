/** Synthetic questions that share documents: how often comparisons and tunings of equal settings claim a difference. */
import { comparePairs } from "../../src/commands/measure/eval/comparison.ts";
import type { SettingsComparison } from "../../src/commands/measure/eval/comparison.ts";
import {
  findAndProve,
  neededInAll,
  splitQuestions,
} from "../../src/commands/measure/tune/halving.ts";
import type { TuneFinding } from "../../src/commands/measure/tune/halving.ts";
import { quantile } from "../../src/lib/statistics/distributions.ts";
import { seeded } from "./seeded.ts";

/** A collection of questions, 2 to 10 of each document unless `each` says otherwise. */
export interface Shared {
  readonly documents: number;
  readonly each?: number;
  /** Standard deviation of the effects of documents on what settings find, in logits. */
  readonly sd: number;
  /** Whether today's settings have effects of their own; the others always have. */
  readonly sides?: "both" | "one";
  /** The share of questions that are found on average, and by how much the second settings find more. */
  readonly rate?: number;
  readonly better?: number;
  /** The share of questions that expect a second document, whose effect counts as much. */
  readonly second?: number;
  /** The share of questions that settings could find differently, if their documents had no effects. */
  readonly varied?: number;
}

const logistic = (value: number): number => 1 / (1 + Math.exp(-value));
const normals = Array.from({ length: 199 }, (_, at) => quantile((at + 0.5) / 199));
const known = new Map<string, number>();

/** The logit at which a share is found on average, where effects have this standard deviation. */
function logitOf(share: number, sd: number): number {
  const key = `${share} ${sd}`;
  let [low, high] = [-30, 30];
  while (!known.has(key) && high - low > 1e-6) {
    const middle = (low + high) / 2;
    const found = normals.reduce((sum, each) => sum + logistic(middle + sd * each), 0) / 199;
    if (found < share) low = middle;
    else high = middle;
  }
  known.set(key, known.get(key) ?? low);
  return known.get(key) ?? low;
}

/** Questions, each found (1) or not (0) by each of the settings; the first are today's. */
export function sharedQuestions(shape: Shared, settings: number, seed: number) {
  const { documents, each, sd, sides = "both", rate = 0.6, better = 0, second = 0 } = shape;
  const random = seeded(seed);
  const normal = () => normals[Math.floor(random() * 199)] ?? 0;
  const deviations = Array.from({ length: settings }, (_, at) =>
    at === 0 && sides === "one" ? 0 : sd,
  );
  const effects = deviations.map((own) => Array.from({ length: documents }, () => own * normal()));
  const logits = deviations.map((own, at) =>
    logitOf(at === 1 ? rate + better : rate, Math.hypot(1, own)),
  );
  return Array.from({ length: documents }, (_, document) =>
    Array.from({ length: each ?? 2 + Math.floor(random() * 9) }, (__, at) => {
      const other = random() < second ? Math.floor(random() * documents) : document;
      const [difficulty, luck] = [normal(), random()];
      const found = logits.map((logit, arm) => {
        const own = ((effects[arm]?.[document] ?? 0) + (effects[arm]?.[other] ?? 0)) / 2;
        const drawn = random() < (shape.varied ?? 0.5) ? random() : luck;
        return drawn < logistic(logit + difficulty + own) ? 1 : 0;
      });
      const key = `${document} ${at}`;
      return { key, document: `${seed} ${random() < 0.5 ? document : other}`, found };
    }),
  ).flat();
}

type SharedQuestions = ReturnType<typeof sharedQuestions>;

/** Compares the second settings with today's, as with a baseline; by question if documents are not known. */
export function compared(
  questions: SharedQuestions,
  documentOf: "document" | "key" = "document",
): SettingsComparison | undefined {
  const documents = new Map(questions.map((each) => [each.key, each[documentOf]]));
  const settings = (at: number) => ({
    label: String(at),
    topK: undefined,
    figures: new Map(questions.map(({ key, found }) => [key, { value: found[at] ?? null }])),
  });
  const options = { measure: "value", level: 0.05, sides: "one" } as const;
  const pair = [settings(0), settings(1)] as const;
  return comparePairs([pair], { ...options, documentOf: (key) => documents.get(key) ?? key })[0];
}

/** Tunes on questions of six settings. Gives the numbers of questions in both parts, too. */
export async function tunedShared(questions: SharedQuestions) {
  const parts = splitQuestions(questions, 1);
  const byKey = new Map(questions.map((each) => [each.key, each]));
  const finding: TuneFinding<number> = await findAndProve(
    { arms: [1, 2, 3, 4, 5], today: 0, parts },
    {
      measure: () => Promise.resolve(),
      valueOf: (arm, key) => byKey.get(key)?.found[arm],
      documentOf: (key) => byKey.get(key)?.document ?? key,
    },
    0.05,
  );
  const sizes = { tune: parts.tune.length, proof: parts.proof.length };
  return { ...finding, needed: neededInAll(sizes, finding.comparison) };
}
