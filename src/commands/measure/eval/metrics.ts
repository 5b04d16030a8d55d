import { mean, percentile } from "../../../lib/statistics/averages.ts";
import { metricNames } from "../../../lib/statistics/ranking-metrics.ts";

/** Metrics by name; null if nothing was measured. */
export type Metrics = Readonly<Record<string, number | null>>;

/** Names of the figures that are no quality: characters that a search returns, and seconds that it takes. */
export const costs = ["context_chars", "latency_p50", "latency_p95"] as const;

export const isLatency = (name: string): boolean => name.startsWith("latency_");

/** Does the figure say how good a search is? */
export const isMetric = (name: string): boolean => !costs.some((each) => each === name);

/** What one question contributes to the averages. */
export interface MeasuredQuestion {
  readonly figures: Metrics;
  readonly characters: number;
  /** Null where it was not searched for with these settings. */
  readonly seconds: number | null;
}

/** Means of the metrics over the questions that have them and of the characters; percentiles of the latencies. */
export function averageMetrics(
  questions: readonly MeasuredQuestion[],
  ks: readonly number[],
): Record<string, number | null> {
  const figures: Record<string, number | null> = {};
  for (const name of metricNames(ks)) {
    const values = questions.flatMap((each) => each.figures[name] ?? []);
    if (values.length > 0) figures[name] = roundedMean(values);
    else if (questions.length === 0 && !/^(judged@|rejected)/.test(name)) figures[name] = null;
  }
  figures["context_chars"] = roundedMean(questions.map(({ characters }) => characters));
  const times = Float64Array.from(questions.flatMap(({ seconds }) => seconds ?? [])).sort();
  figures["latency_p50"] = percentile(times, 50);
  figures["latency_p95"] = percentile(times, 95);
  return figures;
}

function roundedMean(values: readonly number[]): number | null {
  const exact = mean(values);
  return exact === null ? null : rounded(exact);
}

/** Rounds to six digits, so that metrics compare as printed and 0.1 + 0.2 is 0.3. */
export const rounded = (value: number): number => Number(value.toFixed(6));

/** A figure of three digits. */
export const amount = (value: number | null | undefined): string | null =>
  value?.toFixed(3) ?? null;

/** `+0.050` */
export const signed = (value: number): string => `${value < 0 ? "" : "+"}${value.toFixed(3)}`;

/** The name of a figure with its unit. */
export const figureLabel = (name: string): string => (isLatency(name) ? `${name} (s)` : name);
