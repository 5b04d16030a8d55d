import { percentile } from "../../../lib/numbers.ts";

/**
 * The ranked documents of a search. A document has the rank of its first chunk; further chunks of it do
 * not count.
 */
export interface Ranking {
  /** Is the document at this rank relevant? The best rank comes first. */
  readonly relevant: readonly boolean[];
  /** Number of relevant documents, found or not; at least one. */
  readonly expected: number;
}

/** Metrics by name; null if nothing was measured. */
export type Metrics = Readonly<Record<string, number | null>>;

/**
 * Metrics at a cutoff k. Precision, recall and nDCG follow Manning, Raghavan and Schütze, "Introduction
 * to Information Retrieval" (2008), sections 8.3 and 8.4, with binary relevance; precision is divided by
 * k even if fewer were found, as in trec_eval. With one of two relevant documents found, at rank 2:
 *
 *     recall@3 = 1/2    precision@3 = 1/3    hit_rate@3 = 1    ndcg@3 = (1/log2 3) / (1 + 1/log2 3)
 */
const cutoffMetrics = {
  /** Share of the relevant documents that are among the first k. */
  recall: ({ relevant, expected }, k) => hits(relevant, k) / expected,
  /** Share of the first k that are relevant. */
  precision: ({ relevant }, k) => hits(relevant, k) / k,
  /** 1 if any of the first k is relevant. */
  hit_rate: ({ relevant }, k) => (hits(relevant, k) > 0 ? 1 : 0),
  /** Gain of the first k, 1/log2(1 + rank) for each relevant one, divided by that of the best order. */
  ndcg: ({ relevant, expected }, k) => gain(relevant, k) / bestGain(expected, k),
} as const satisfies Record<string, (ranking: Ranking, k: number) => number>;

const hits = (relevant: readonly boolean[], k: number): number =>
  relevant.slice(0, k).filter(Boolean).length;

const gain = (relevant: readonly boolean[], k: number): number =>
  relevant
    .slice(0, k)
    .reduce((sum, isRelevant, index) => sum + (isRelevant ? 1 / Math.log2(index + 2) : 0), 0);

const bestGain = (expected: number, k: number): number =>
  gain(
    Array.from({ length: Math.min(expected, k) }, () => true),
    k,
  );

/** Rank of the first relevant document, from 1; null if none was found. */
export function firstRank({ relevant }: Ranking): number | null {
  const index = relevant.indexOf(true);
  return index === -1 ? null : index + 1;
}

/** Names of the metrics of a question, in display order. */
export const metricNames = (ks: readonly number[]): string[] => [
  ...Object.keys(cutoffMetrics).flatMap((name) => ks.map((k) => `${name}@${k}`)),
  "mrr",
];

/**
 * The metrics of one ranking. `mrr` is the reciprocal rank of the first relevant document, 0 if none was
 * found (Voorhees, "The TREC-8 Question Answering Track Report", 1999).
 */
export function metricsOf(ranking: Ranking, ks: readonly number[]): Record<string, number> {
  const rank = firstRank(ranking);
  const figures: Record<string, number> = {};
  for (const [name, figure] of Object.entries(cutoffMetrics)) {
    for (const k of ks) figures[`${name}@${k}`] = figure(ranking, k);
  }
  figures["mrr"] = rank === null ? 0 : 1 / rank;
  return figures;
}

/** Names of the latency metrics, in seconds. */
export const latencies = ["latency_p50", "latency_p95"] as const;

export const isLatency = (name: string): boolean => latencies.some((each) => each === name);

/** Means of the metrics of all questions, and percentiles of their latencies. */
export function averageMetrics(
  questions: readonly { readonly figures: Metrics; readonly seconds: number | null }[],
  ks: readonly number[],
): Record<string, number | null> {
  const figures: Record<string, number | null> = {};
  for (const name of metricNames(ks)) {
    const sum = questions.reduce((total, each) => total + (each.figures[name] ?? 0), 0);
    figures[name] = questions.length === 0 ? null : rounded(sum / questions.length);
  }
  const times = Float64Array.from(questions, ({ seconds }) => seconds ?? 0).sort();
  figures["latency_p50"] = percentile(times, 50);
  figures["latency_p95"] = percentile(times, 95);
  return figures;
}

/** Rounds to six digits, so that metrics compare as printed and 0.1 + 0.2 is 0.3. */
export const rounded = (value: number): number => Number(value.toFixed(6));
