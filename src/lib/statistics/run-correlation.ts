import { sum } from "../numbers.ts";
import { mean } from "./averages.ts";
import { totalPasses } from "./pass-rates.ts";
import type { Passes } from "./pass-rates.ts";

/** The correlation that is assumed where it cannot be seen: a run asks each test once. */
const UNSEEN = 0.1;

/**
 * How alike the repeats of a test are within a run: the intraclass correlation of a one-way analysis of variance,
 * pooled over all tests that are neither always right nor always wrong (R. A. Fisher, "Statistical Methods for Research
 * Workers", 1925). Each test has its passes run by run.
 */
export function runCorrelation(tests: readonly (readonly Passes[])[]): number {
  const open = tests.filter((runs) => {
    const { passes, runs: count } = totalPasses(runs);
    return passes > 0 && passes < count;
  });
  const repeats = mean(tests.map(meanRepeats)) ?? 0;
  if (repeats <= 1) return UNSEEN;
  const between = sum(open.map((runs) => meanSquares(runs).between));
  const within = sum(open.map((runs) => meanSquares(runs).within));
  const all = between + (repeats - 1) * within;
  return all === 0 ? 0 : Math.max(0, (between - within) / all);
}

/** The repeats of a run, for runs of unequal size those that count as much. */
function meanRepeats(runs: readonly Passes[]): number {
  const all = sum(runs.map((run) => run.runs));
  return (all - sum(runs.map((run) => run.runs ** 2)) / all) / (runs.length - 1);
}

function meanSquares(runs: readonly Passes[]) {
  const { passes, runs: all } = totalPasses(runs);
  const rates = runs.map((run) => run.passes / run.runs);
  const between = sum(
    runs.map((run, index) => run.runs * ((rates[index] ?? 0) - passes / all) ** 2),
  );
  const within = sum(runs.map((run, index) => run.passes * (1 - (rates[index] ?? 0))));
  return { between: between / (runs.length - 1), within: within / Math.max(1, all - runs.length) };
}
