/**
 * What became of a question. A rank counts documents: the first chunk of a document gives its
 * place, further chunks of it none.
 */
export interface Ranking {
  /** Is the document at this rank a relevant one? The best rank comes first. */
  readonly relevant: readonly boolean[];
  /** Relevant documents that there are, found or not; at least one. */
  readonly expected: number;
}

/** Figures by name; null where nothing was measured. */
export type Metrics = Readonly<Record<string, number | null>>;

/**
 * Figures of rankings at a cut-off k. Precision, recall and nDCG are those of Manning, Raghavan and
 * Schütze, "Introduction to Information Retrieval" (2008), sections 8.3 and 8.4, with relevance that is
 * binary; precision is divided by k also where fewer than k were found, as trec_eval does.
 */
const atCutOff = {
  /** Share of the relevant documents that are among the first k. */
  recall: ({ relevant, expected }, k) => hits(relevant, k) / expected,
  /** Share of the first k that are relevant. */
  precision: ({ relevant }, k) => hits(relevant, k) / k,
  /** 1 where any of the first k is relevant. */
  hit_rate: ({ relevant }, k) => (hits(relevant, k) > 0 ? 1 : 0),
  /** Gain of the first k, 1/log2(1 + rank) for each relevant one, by that of the best order. */
  ndcg: ({ relevant, expected }, k) => gain(relevant, k) / bestGain(expected, k),
} as const satisfies Record<string, (ranking: Ranking, k: number) => number>;

const hits = (relevant: readonly boolean[], k: number): number =>
  relevant.slice(0, k).filter(Boolean).length;

const gain = (relevant: readonly boolean[], k: number): number =>
  relevant
    .slice(0, k)
    .reduce((sum, found, index) => sum + (found ? 1 / Math.log2(index + 2) : 0), 0);

const bestGain = (expected: number, k: number): number =>
  gain(
    Array.from({ length: Math.min(expected, k) }, () => true),
    k,
  );

/** Rank of the first relevant document, from 1; null where none was found. */
export function firstRank({ relevant }: Ranking): number | null {
  const index = relevant.indexOf(true);
  return index === -1 ? null : index + 1;
}

/** Names of the figures of a question, in the order in which they are shown. */
export const metricNames = (ks: readonly number[]): string[] => [
  ...Object.keys(atCutOff).flatMap((name) => ks.map((k) => `${name}@${k}`)),
  "mrr",
];

/**
 * The figures of one ranking. `mrr` is the reciprocal rank of the first relevant document, 0 where
 * none was found (Voorhees, "The TREC-8 Question Answering Track Report", 1999).
 */
export function metricsOf(ranking: Ranking, ks: readonly number[]): Record<string, number> {
  const rank = firstRank(ranking);
  const figures: Record<string, number> = {};
  for (const [name, figure] of Object.entries(atCutOff)) {
    for (const k of ks) figures[`${name}@${k}`] = figure(ranking, k);
  }
  figures["mrr"] = rank === null ? 0 : 1 / rank;
  return figures;
}

/** Names of the figures about time, in seconds. */
export const latencies = ["latency_p50", "latency_p95"] as const;

/** Means of the figures of all questions, and percentiles of the seconds they took. */
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
  figures["latency_p50"] = nearestRank(times, 50);
  figures["latency_p95"] = nearestRank(times, 95);
  return figures;
}

/** The smallest value that at least so many percent do not exceed; null of none. */
const nearestRank = (sorted: Float64Array, percent: number): number | null =>
  sorted[Math.ceil((percent * sorted.length) / 100) - 1] ?? null;

/** To six places: figures compare as they are printed, and a sum of tenths as a person would add it. */
export const rounded = (value: number): number => Number(value.toFixed(6));
