import { sum } from "../numbers.ts";
import { logChoose } from "./distributions.ts";
import type { Passes } from "./pass-rates.ts";
import { betaValue } from "./random-values.ts";

/** How the rates of the tests of a suite vary: Beta distributions of one mean, mixed over their strength. */
type SuitePrior = ReturnType<typeof suitePrior>;

/** Strengths from 2^-8 to 2^8. */
const strengths = Array.from({ length: 17 }, (_, index) => 2 ** (index - 8));

/**
 * What the passes of all tests tell about their rates: an empirical Bayes prior (B. Efron and C. Morris, "Data
 * analysis using Stein's estimator and its generalizations", 1975) of beta-binomial counts, whose strength is
 * weighted by its likelihood.
 */
export function suitePrior(tests: readonly (Passes & { readonly weight: number })[]) {
  const passes = sum(tests.map((test) => test.weight * test.passes));
  const runs = sum(tests.map((test) => test.weight * test.runs));
  const mean = (0.5 + passes) / (1 + runs);
  const most = Math.max(0, ...tests.map((test) => test.runs));
  const logs = strengths.map((strength) => {
    const logOf = logBetaBinomial(strength * mean, strength * (1 - mean), most);
    return tests.reduce((total, test) => total + test.weight * logOf(test), 0);
  });
  const largest = Math.max(...logs);
  const weights = logs.map((log) => Math.exp(log - largest));
  const all = sum(weights);
  return {
    mean,
    /** Runs that the mean counts as, each number with its share. */
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
    return share * atMost(now, a, b);
  });
  return sum(terms);
}

/** Rates that tests with these passes may have, drawn from what the prior and their own passes tell. */
export function likelyRates(
  tests: readonly Passes[],
  { mean, strengths }: SuitePrior,
  random: () => number,
): number[] {
  let rest = random();
  const { strength } = strengths.find(({ share }) => (rest -= share) < 0) ?? { strength: 1 };
  return tests.map(({ passes, runs }) =>
    betaValue(strength * mean + passes, strength * (1 - mean) + runs - passes, random),
  );
}

/** The chance of at most these passes if the rate has the distribution Beta(a, b): each number's from the one before. */
function atMost({ passes, runs }: Passes, a: number, b: number): number {
  let log = 0;
  for (let run = 0; run < runs; run++) log += Math.log((b + run) / (a + b + run));
  let chance = Math.exp(log);
  for (let count = 0; count < passes; count++) {
    const odds = (a + count) / (b + runs - count - 1);
    log += Math.log((odds * (runs - count)) / (count + 1));
    chance += Math.exp(log);
  }
  return chance;
}

/** Logarithms of the chances of passes in at most so many runs, if the rate has the distribution Beta(a, b). */
function logBetaBinomial(a: number, b: number, most: number): (passes: Passes) => number {
  const [passed, missed, all] = [logRising(a, most), logRising(b, most), logRising(a + b, most)];
  return ({ passes, runs }) =>
    logChoose(runs, passes) +
    (passed[passes] ?? 0) +
    (missed[runs - passes] ?? 0) -
    (all[runs] ?? 0);
}

/** Logarithms of the products of no factor, of `from`, of `from` (`from` + 1) and so on, up to `most` factors. */
function logRising(from: number, most: number): Float64Array {
  const logs = new Float64Array(most + 1);
  for (let index = 0; index < most; index++)
    logs[index + 1] = (logs[index] ?? 0) + Math.log(from + index);
  return logs;
}
