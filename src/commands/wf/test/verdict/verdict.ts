import { sum } from "../../../../lib/numbers.ts";
import { correctedTails, fewerInAll, fisherFewer, studentBelow } from "./statistics.ts";
import type { Passes, Tail } from "./statistics.ts";

/** What two runs of one test gave. */
export interface TestPair {
  readonly before: Passes;
  /** All that the fresh runs are compared with: where both were asked in turn, with the other side's fresh ones. */
  readonly asked: Passes;
  /** The runs that were planned. */
  readonly now: Passes;
  /** Those that were asked again because one had failed. */
  readonly fresh: Passes;
  /** In that before and in each run of the history; only in that before if one of these lacks the test. */
  readonly earlier: readonly Passes[];
}

/** How a comparison decides. */
export interface VerdictOptions {
  /** The chance of a false alarm for all tests together. */
  readonly level: number;
  /** How often a test is asked again that misses what it passed; 0 if the planned runs decide. */
  readonly confirm: number;
}

/** What is said about a test. */
export interface PairVerdict {
  /** The corrected chance of so few passes where nothing has changed; null if it was not tested. */
  readonly pWorse: number | null;
  readonly pBetter: number | null;
  readonly isBroken: boolean;
  readonly isFixed: boolean;
}

/** What is said about a suite and its tests. */
export interface SuiteVerdict {
  /** The chance that all tests together have so few passes now where nothing has changed. */
  readonly p: number;
  readonly isWorse: boolean;
  readonly before: Passes;
  readonly now: Passes;
  /** Whether earlier runs tell what another time changes, or that is assumed to be nothing. */
  readonly times: "history" | "assumed";
  /** In the order given. */
  readonly tests: readonly PairVerdict[];
}

/** Runs of a history from which the difference between two times can be estimated. */
export const MIN_HISTORY = 5;

/**
 * Whether a test is asked again: it misses now what it passed before. Apart from tests that never passed, this
 * depends on the planned runs alone, so what the fresh ones say about a change stays unbiased.
 */
export const isDoubtful = ({ before, now }: Pick<TestPair, "before" | "now">): boolean =>
  now.passes < now.runs && before.passes > 0;

/**
 * Compares the passes of tests with those of an earlier run. Where nothing has changed, anything is called
 * worse or broken at most as often as the level says: half of it is for the suite as a whole, half for single
 * tests, of which only fresh runs count. What is called fixed has half the level for itself.
 */
export function judgeSuite(pairs: readonly TestPair[], options: VerdictOptions): SuiteVerdict {
  const half = options.level / 2;
  const times = timesOf(pairs);
  const p = Math.max(fewerInAll(pairs), times?.p ?? 0);
  const worse = correctedAmong(pairs.map((pair) => worseTail(pair, options, times)));
  const better = correctedAmong(pairs.map(betterTail));
  return {
    p,
    isWorse: p <= half,
    before: totalPasses(pairs.map(({ before }) => before)),
    now: totalPasses(pairs.map(({ now }) => now)),
    times: times ? "history" : "assumed",
    tests: pairs.map((_, index) => {
      const [pWorse, pBetter] = [worse[index] ?? null, better[index] ?? null];
      return {
        pWorse,
        pBetter,
        isBroken: pWorse !== null && pWorse <= half,
        isFixed: pBetter !== null && pBetter <= half,
      };
    }),
  };
}

/** The exact test of a doubtful test; undefined if it was not asked again. */
function worseTail(pair: TestPair, { confirm }: VerdictOptions, times: Times | undefined) {
  const decisive = confirm > 0 ? pair.fresh : pair.now;
  if (!isDoubtful(pair) || decisive.runs === 0) return undefined;
  return fisherFewer(times ? totalPasses(pair.earlier) : pair.asked, decisive, times?.odds);
}

const betterTail = ({ before, now }: TestPair) =>
  now.runs > 0 && before.runs > 0 ? fisherFewer(now, before) : undefined;

/** The corrected p-values of those that were tested; null for the others. */
function correctedAmong(tails: readonly (Tail | undefined)[]): (number | null)[] {
  const tested = tails.flatMap((tail, index) => (tail ? [{ tail, index }] : []));
  const corrected = correctedTails(tested.map(({ tail }) => tail));
  const all: (number | null)[] = tails.map(() => null);
  for (const [rank, { index }] of tested.entries()) all[index] = corrected[rank] ?? null;
  return all;
}

/** What earlier runs tell about the difference that another time makes without a change. */
interface Times {
  /** The chance of so few passes by what earlier times gave. */
  readonly p: number;
  /** By which ratio the odds of a pass may be lower at a bad time. */
  readonly odds: number;
}

/** Undefined if there are too few earlier runs. */
function timesOf(pairs: readonly TestPair[]): Times | undefined {
  const count = Math.max(0, ...pairs.map(({ earlier }) => earlier.length));
  if (count <= MIN_HISTORY) return undefined;
  const known = pairs.filter((pair) => pair.earlier.length === count);
  const earlier = Array.from({ length: count }, (_, run) =>
    logOdds(totalPasses(known.flatMap((pair) => pair.earlier[run] ?? []))),
  );
  const mean = sum(earlier) / count;
  const variance = sum(earlier.map((each) => (each - mean) ** 2)) / (count - 1);
  // The interval for one more observation, on the scale of log odds.
  const error = Math.sqrt(variance * (1 + 1 / count));
  const now = logOdds(totalPasses(known.map((pair) => pair.now)));
  const sure = now < mean ? 0 : 1;
  const p = error === 0 ? sure : studentBelow((now - mean) / error, count - 1);
  return { p, odds: Math.exp(-2 * error) };
}

/** Half a run more on each side keeps those finite that all passed. */
const logOdds = ({ passes, runs }: Passes): number =>
  Math.log((passes + 0.5) / (runs - passes + 0.5));

/** The passes and runs of several together. */
export const totalPasses = (all: readonly Passes[]): Passes => ({
  passes: sum(all.map(({ passes }) => passes)),
  runs: sum(all.map(({ runs }) => runs)),
});
