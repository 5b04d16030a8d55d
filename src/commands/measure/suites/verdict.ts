import { groupBy } from "../../../lib/collect.ts";
import { fallAmong } from "../../../lib/statistics/differences-of-times.ts";
import { fewerInAll, fisherFewer } from "../../../lib/statistics/exact-tests.ts";
import type { Tail } from "../../../lib/statistics/exact-tests.ts";
import { correctedTails } from "../../../lib/statistics/multiple-tests.ts";
import { totalPasses } from "../../../lib/statistics/pass-rates.ts";
import type { Passes } from "../../../lib/statistics/pass-rates.ts";
import type { TestRun } from "./answers/index.ts";

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

/** Runs of a history from which the difference between two times can be estimated. */
export const MIN_HISTORY = 5;

/**
 * Whether a test is asked again: it misses now what it passed before. Apart from tests that never passed, this
 * depends on the planned runs alone, so what the fresh ones say about a change stays unbiased.
 */
export const isDoubtful = ({ before, now }: Pick<TestPair, "before" | "now">): boolean =>
  now.passes < now.runs && before.passes > 0;

/** What is said about a suite and its tests. */
export type SuiteVerdict = ReturnType<typeof judgeSuite>;

/**
 * Compares the passes of tests with those of an earlier run. Where nothing has changed, anything is called
 * worse or broken at most as often as the level says: half of it is for the suite as a whole, half for single
 * tests, of which only fresh runs count. What is called fixed has half the level for itself.
 */
export function judgeSuite(pairs: readonly TestPair[], options: VerdictOptions) {
  const half = options.level / 2;
  const times = timesOf(pairs);
  const p = Math.max(fewerInAll(pairs), times?.p ?? 0);
  const worse = correctedAmong(pairs.map((pair) => worseTail(pair, options, times)));
  const better = correctedAmong(pairs.map(betterTail));
  return {
    /** The chance that all tests together have so few passes now where nothing has changed. */
    p,
    isWorse: p <= half,
    before: totalPasses(pairs.map(({ before }) => before)),
    now: totalPasses(pairs.map(({ now }) => now)),
    /** Whether earlier runs tell what another time changes, or that is assumed to be nothing. */
    times: times ? ("history" as const) : ("assumed" as const),
    /** In the order given: the corrected chances of so few or so many passes, null if it was not tested. */
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
function worseTail(pair: TestPair, { confirm }: VerdictOptions, times: Times) {
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
type Times = ReturnType<typeof timesOf>;

/** Undefined if there are too few earlier runs. */
function timesOf(pairs: readonly TestPair[]) {
  const count = Math.max(0, ...pairs.map(({ earlier }) => earlier.length));
  if (count <= MIN_HISTORY) return undefined;
  const known = pairs.filter((pair) => pair.earlier.length === count);
  const earlier = Array.from({ length: count }, (_, run) =>
    totalPasses(known.flatMap((pair) => pair.earlier[run] ?? [])),
  );
  return fallAmong(earlier, totalPasses(known.map((pair) => pair.now)));
}

/** A run of a test, as far as it counts for a comparison. */
type CountedRun = Pick<TestRun, "status" | "answer" | "tokens" | "confirms" | "annotated">;

/** Characters of an answer from which on a model that is asked twice hardly gives the same one. */
const MIN_LENGTH = 40;

/**
 * Whether a cache may have answered the repeats of these tests: models were used, long answers came again byte for
 * byte, and no question that was asked twice got two different answers. One that did rules a cache out.
 */
export function mayBeCached(tests: readonly (readonly CountedRun[])[]): boolean {
  const repeated = tests
    .map((runs) => runs.filter(isModelAnswer).map(({ answer }) => answer ?? ""))
    .filter((answers) => answers.length > 1);
  const isLong = (answers: readonly string[]) =>
    answers.some((answer) => answer.length >= MIN_LENGTH);
  return repeated.some(isLong) && repeated.every((answers) => new Set(answers).size === 1);
}

const isJudged = ({ status }: CountedRun): boolean => status === "passed" || status === "failed";

const isModelAnswer = (run: CountedRun): boolean =>
  isJudged(run) && run.answer !== null && (run.tokens ?? 0) > 0;

/**
 * Counts the runs of a test. Runs with the same answer, byte for byte, count as one where an annotation reply or
 * a cache can be the cause, and as no fresh one if a planned run had that answer already.
 */
export function countRepeats(runs: readonly CountedRun[], isCached: boolean) {
  const judged = runs.filter(isJudged);
  const planned = judged.filter(({ confirms }) => !confirms);
  const fresh = judged.filter(({ confirms }) => confirms);
  const isAlike = (run: CountedRun) =>
    run.annotated || (isCached && isModelAnswer(run) && (run.answer ?? "").length >= MIN_LENGTH);
  const known = new Set(planned.filter(isAlike).map(({ answer }) => answer));
  const once = (all: readonly CountedRun[]) => [
    ...all.filter((run) => !isAlike(run)),
    ...[...groupBy(all.filter(isAlike), ({ answer }) => answer).values()].flatMap(
      (same) => same.find(({ status }) => status === "failed") ?? same.slice(0, 1),
    ),
  ];
  const counted = once(planned);
  const countedFresh = once(fresh).filter((run) => !isAlike(run) || !known.has(run.answer));
  return {
    planned: passesOf(counted),
    fresh: passesOf(countedFresh),
    isReduced: counted.length + countedFresh.length < judged.length,
  };
}

const passesOf = (runs: readonly CountedRun[]): Passes => ({
  passes: runs.filter(({ status }) => status === "passed").length,
  runs: runs.length,
});
