import { sum } from "../numbers.ts";

/**
 * What a search found, the best first, beside what people have judged. A document has the rank of its first
 * chunk and counts once, as does a passage.
 */
export interface Ranking {
  /** The grade of each rank; null where nothing was judged, which counts as 0. */
  readonly grades: readonly (number | null)[];
  /** The grades of all that was judged, found or not; a chunk with several passages has one. */
  readonly judged: readonly number[];
  /** The ranks from 1 of all that is relevant, Infinity if not found; passages of one chunk have the same. */
  readonly places: readonly number[];
  /** The least grade that is relevant, where relevance is yes or no. */
  readonly threshold: number;
}

/**
 * Metrics at a cutoff k. Precision, recall and nDCG follow Manning, Raghavan and Schütze, "Introduction
 * to Information Retrieval" (2008), sections 8.3 and 8.4; precision is divided by k even if fewer were found,
 * and the gain of a rank is its grade, as in trec_eval. With one of two relevant documents found, at rank 2:
 *
 *     recall@3 = 1/2    precision@3 = 1/3    hit_rate@3 = 1    ndcg@3 = (1/log2 3) / (1 + 1/log2 3)
 */
const cutoffMetrics = {
  /** Share of what is relevant that is among the first k. */
  recall: ({ places }, k) => share(places.filter((rank) => rank <= k).length, places.length),
  /** Share of the first k that are relevant. */
  precision: (ranking, k) => hits(ranking, k) / k,
  /** 1 if any of the first k is relevant. */
  hit_rate: (ranking, k) => (hits(ranking, k) > 0 ? 1 : 0),
  /** Gain of the first k, grade/log2(1 + rank) for each, divided by that of the best order. */
  ndcg: ({ grades, judged }, k) =>
    share(
      gain(grades, k),
      gain(
        judged.toSorted((a, b) => b - a),
        k,
      ),
    ),
} as const satisfies Record<string, (ranking: Ranking, k: number) => number>;

/** 0 where there is no whole, as trec_eval counts a question with nothing relevant. */
const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);

const isRelevant = (grade: number | null, { threshold }: Ranking): boolean =>
  grade !== null && grade >= threshold;

const hits = (ranking: Ranking, k: number): number =>
  ranking.grades.slice(0, k).filter((grade) => isRelevant(grade, ranking)).length;

const gain = (grades: readonly (number | null)[], k: number): number =>
  grades
    .slice(0, k)
    .reduce<number>((sum, grade, index) => sum + (grade ?? 0) / Math.log2(index + 2), 0);

/** Rank of the first relevant document, from 1; null if none was found. */
export function firstRank(ranking: Ranking): number | null {
  const index = ranking.grades.findIndex((grade) => isRelevant(grade, ranking));
  return index === -1 ? null : index + 1;
}

/** The mean precision at the ranks of all that is relevant; 0 for those that were not found (trec_eval's map). */
function averagePrecision(ranking: Ranking): number {
  const precisions = ranking.grades.flatMap((grade, index) =>
    isRelevant(grade, ranking) ? [hits(ranking, index + 1) / (index + 1)] : [],
  );
  return share(
    sum(precisions),
    ranking.judged.filter((grade) => isRelevant(grade, ranking)).length,
  );
}

/** Names of the metrics of a question, in display order. */
export const metricNames = (ks: readonly number[]): string[] => [
  ...Object.keys(cutoffMetrics).flatMap((name) => ks.map((k) => `${name}@${k}`)),
  "map",
  "mrr",
  ...ks.map((k) => `judged@${k}`),
  "rejected",
];

/**
 * The metrics of one ranking. `mrr` is the reciprocal rank of the first that is relevant, 0 if none was
 * found (Voorhees, "The TREC-8 Question Answering Track Report", 1999). `judged@k` is the share of the first k
 * found that people have judged; it is there only where some are judged not relevant: elsewhere that is not known.
 */
export function metricsOf(ranking: Ranking, ks: readonly number[]): Record<string, number> {
  const rank = firstRank(ranking);
  const figures: Record<string, number> = {};
  for (const [name, figure] of Object.entries(cutoffMetrics)) {
    for (const k of ks) figures[`${name}@${k}`] = figure(ranking, k);
  }
  figures["map"] = averagePrecision(ranking);
  figures["mrr"] = rank === null ? 0 : 1 / rank;
  if (ranking.judged.some((grade) => grade === 0)) {
    for (const k of ks) {
      const first = ranking.grades.slice(0, k);
      figures[`judged@${k}`] = share(first.filter((grade) => grade !== null).length, first.length);
    }
  }
  return figures;
}
