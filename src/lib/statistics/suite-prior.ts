import { sum } from "../numbers.ts";
import { logChoose } from "./distributions.ts";
import type { Passes } from "./pass-rates.ts";

/** How the rates of the tests of a suite vary: Beta distributions of one mean, mixed over their strength. */
export interface SuitePrior {
  readonly mean: number;
  /** Strengths (runs that the mean counts as), each with its share. */
  readonly strengths: readonly { readonly strength: number; readonly share: number }[];
}

/** Passes of a test, and how much it counts. */
export interface WeightedPasses extends Passes {
  readonly weight: number;
}

/** Strengths from 2^-8 to 2^8. */
const strengths = Array.from({ length: 17 }, (_, index) => 2 ** (index - 8));

/**
 * What the passes of all tests tell about their rates: an empirical Bayes prior (B. Efron and C. Morris, "Data
 * analysis using Stein's estimator and its generalizations", 1975) of beta-binomial counts, whose strength is
 * weighted by its likelihood.
 */
export function suitePrior(tests: readonly WeightedPasses[]): SuitePrior {
  const passes = sum(tests.map((test) => test.weight * test.passes));
  const runs = sum(tests.map((test) => test.weight * test.runs));
  const mean = (0.5 + passes) / (1 + runs);
  const logs = strengths.map((strength) =>
    sum(
      tests.map(
        (test) => test.weight * logBetaBinomial(test, strength * mean, strength * (1 - mean)),
      ),
    ),
  );
  const largest = Math.max(...logs);
  const weights = logs.map((log) => Math.exp(log - largest));
  const all = sum(weights);
  return {
    mean,
    strengths: strengths.map((strength, index) => ({
      strength,
      share: (weights[index] ?? 0) / all,
    })),
  };
}

/** The chance that a test with these passes `before` has at most those of `now` without a change. */
export function chanceOfSoFew(
  before: Passes,
  now: Passes,
  { mean, strengths }: SuitePrior,
): number {
  const [passed, missed] = [before.passes, before.runs - before.passes];
  const terms = strengths.map(({ strength, share }) => {
    const [a, b] = [strength * mean + passed, strength * (1 - mean) + missed];
    const counts = Array.from({ length: now.passes + 1 }, (_, passes) =>
      Math.exp(logBetaBinomial({ passes, runs: now.runs }, a, b)),
    );
    return share * sum(counts);
  });
  return sum(terms);
}

/** Logarithm of the chance of these passes if the rate has the distribution Beta(a, b). */
const logBetaBinomial = ({ passes, runs }: Passes, a: number, b: number): number =>
  logChoose(runs, passes) +
  logRising(a, passes) +
  logRising(b, runs - passes) -
  logRising(a + b, runs);

/** Logarithm of `from` (`from` + 1) … of so many factors. */
function logRising(from: number, factors: number): number {
  let log = 0;
  for (let index = 0; index < factors; index++) log += Math.log(from + index);
  return log;
}
