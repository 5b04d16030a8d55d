import { sum } from "../numbers.ts";
import { binomial, normalBelow, quantile } from "./distributions.ts";
import { fisherFewer } from "./exact-tests.ts";

/** How a change is looked for. */
export interface Design {
  /** Runs of each test, in both runs of the suite. */
  readonly repeat: number;
  /** How often a test is asked again that misses what it passed. */
  readonly confirm: number;
  /** The chance of a false alarm for all tests together. */
  readonly level: number;
}

/**
 * The chance of finding that all tests have fallen by `drop`, from these shares of passes: normal, with
 * continuity correction.
 */
export function suitePower(
  rates: readonly number[],
  drop: number,
  { repeat, level }: Design,
): number {
  const all = 2 * repeat;
  const tests = rates.map((before) => {
    const now = Math.max(0, before - drop);
    const spread = repeat * (before * (1 - before) + now * (1 - now));
    const passes = repeat * (before + now);
    const tables = all * passes - (spread + passes ** 2);
    return {
      mean: (repeat * (now - before)) / 2,
      variance: spread / 4,
      unchanged: tables / (4 * (all - 1)),
    };
  });
  const [shift, variance, unchanged] = (["mean", "variance", "unchanged"] as const).map((key) =>
    sum(tests.map((test) => test[key])),
  );
  const limit = quantile(level / 2) * Math.sqrt(unchanged ?? 0) - 0.5;
  const error = Math.sqrt(variance ?? 0);
  if (error > 0) return normalBelow((limit - (shift ?? 0)) / error);
  return (shift ?? 0) <= limit ? 1 : 0;
}

/**
 * The chance of finding that a test that always passed now passes with this rate, if it is the only one that is
 * asked again.
 */
export function testPower(rate: number, { repeat, confirm, level }: Design): number {
  const before = { passes: repeat, runs: repeat };
  const found = Array.from({ length: confirm + 1 }, (_, passes) => {
    const isFound = fisherFewer(before, { passes, runs: confirm }).p <= level / 2;
    return isFound ? binomial(confirm, passes, rate) : 0;
  });
  return (1 - rate ** repeat) * sum(found);
}

/** Repeats beyond which no plan is made. */
const MAX_REPEAT = 1000;

/** The fewest repeats with which `power` reaches its aim, each doubtful test asked as often again, or 5 times. */
export function neededDesign(
  power: (design: Design) => number,
  aim: number,
  level: number,
): Design | undefined {
  for (let repeat = 1; repeat <= MAX_REPEAT; repeat++) {
    const design = { repeat, confirm: Math.max(5, repeat), level };
    if (power(design) >= aim) return design;
  }
  return undefined;
}
