import { sum } from "../numbers.ts";
import { NORMAL_95 } from "./distributions.ts";
import type { Interval } from "./intervals.ts";

/** Passes among the runs of a test. */
export interface Passes {
  readonly passes: number;
  readonly runs: number;
}

/** The passes and runs of several together. */
export const totalPasses = (all: readonly Passes[]): Passes => ({
  passes: sum(all.map(({ passes }) => passes)),
  runs: sum(all.map(({ runs }) => runs)),
});

/** The share of passes; NaN without runs. */
export const rateOf = ({ passes, runs }: Passes): number => passes / runs;

/** A share and the interval that holds the true one with 95 % confidence. */
export interface PassRate extends Interval {
  readonly rate: number;
}

/**
 * The share of passes with its score interval (E. B. Wilson, "Probable inference, the law of
 * succession, and statistical inference", 1927), without continuity correction. Null without runs.
 */
export function passRate(passes: number, runs: number): PassRate | null {
  if (runs === 0) return null;
  const rate = passes / runs;
  const square = (NORMAL_95 * NORMAL_95) / runs;
  const center = (rate + square / 2) / (1 + square);
  const half =
    (NORMAL_95 / (1 + square)) * Math.sqrt((rate * (1 - rate)) / runs + square / (4 * runs));
  return { rate, low: Math.max(0, center - half), high: Math.min(1, center + half) };
}

/**
 * The share of passes of all tests together. Runs of one test are alike, so its interval is that of as many independent
 * runs as have the variance between the tests, and of as many as there are tests where that is nothing (N. Dean and
 * M. Pagano, "Evaluating confidence interval methods for binomial proportions in clustered surveys", 2015). Null without
 * runs.
 */
export function totalRate(tests: readonly Passes[]): PassRate | null {
  const judged = tests.filter(({ runs }) => runs > 0);
  const { passes, runs } = totalPasses(judged);
  if (runs === 0) return null;
  const [rate, count] = [passes / runs, judged.length];
  const squares = sum(judged.map((test) => (test.passes - rate * test.runs) ** 2));
  const variance = (squares / runs ** 2) * (count / Math.max(1, count - 1));
  const effective = variance > 0 ? Math.min(runs, (rate * (1 - rate)) / variance) : count;
  return passRate(rate * effective, effective);
}

/** `77–97 %`: the interval that holds the true share. */
export function intervalText({ low, high }: Interval): string {
  const percent = (share: number) => Math.round(share * 100);
  return `${percent(low)}–${percent(high)} %`;
}
