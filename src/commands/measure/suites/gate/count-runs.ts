import { groupBy } from "../../../../lib/collect.ts";
import { totalPasses } from "../../../../lib/statistics/pass-rates.ts";
import type { Passes } from "../../../../lib/statistics/pass-rates.ts";
import { judgedRuns } from "./match-tests.ts";
import type { GateRun, Pair } from "./match-tests.ts";

/** A run of the same tests before the baseline, in which nothing was wrong. */
export interface EarlierRun {
  /** ISO date and time. */
  readonly at: string;
  /** Did it end with an alarm that was not accepted since? */
  readonly alarmed: boolean;
  /** Passes by the name of the test. */
  readonly tests: ReadonlyMap<string, Passes & { readonly content: string }>;
}

/** The passes of a test of the same content on both sides. */
export interface CountedPair {
  readonly pair: Pair;
  readonly before: Passes;
  /** In each run of the history. */
  readonly earlier: readonly Passes[];
  /** Before and in the history together. */
  readonly known: Passes;
  readonly now: Passes;
  readonly fresh: Passes;
  /** Are all its answers one of a cache, so that asking again tells nothing? */
  readonly countsOnce: boolean;
}

/** Characters of an answer from which on a model that is asked twice hardly gives the same one. */
const MIN_LENGTH = 40;

/** Runs of a history from which the difference between two times can be estimated. */
export const MIN_HISTORY = 5;

/** Passes among the runs that were judged. */
export function passesOf(runs: readonly GateRun[]): Passes {
  const judged = judgedRuns(runs);
  return { passes: judged.filter(({ status }) => status === "passed").length, runs: judged.length };
}

/** The share of passes. */
export const rateOf = ({ passes, runs }: Passes): number => passes / runs;

/** Why a run of the history tells nothing about the tests that are compared. */
export type Refusal = "not before the baseline" | "ended with an alarm" | "other tests";

/** Sorts a history into the runs that can be used, and the reasons of the others. None are used if they are fewer than five. */
export function sortHistory(
  pairs: readonly Pair[],
  history: readonly EarlierRun[],
  baselineAt: string,
): { readonly used: readonly EarlierRun[]; readonly refused: readonly Refusal[] } {
  const refusals = history.map((run) => refusalOf(run, pairs, baselineAt));
  const fit = history.filter((_, index) => refusals[index] === undefined);
  const refused = refusals.filter((reason) => reason !== undefined);
  return { used: fit.length >= MIN_HISTORY ? fit : [], refused };
}

/** Undefined for a run before the baseline that has each compared test with its content, and no alarm. */
function refusalOf(
  { at, alarmed, tests }: EarlierRun,
  pairs: readonly Pair[],
  baselineAt: string,
): Refusal | undefined {
  if (at >= baselineAt) return "not before the baseline";
  if (alarmed) return "ended with an alarm";
  const hasAll = pairs.every(({ before }) => {
    const test = tests.get(before.name);
    return test !== undefined && test.content === before.content && test.runs > 0;
  });
  return hasAll ? undefined : "other tests";
}

/** Counts the runs of tests; of the equal answers of a cache, each once. */
export function countPairs(
  pairs: readonly Pair[],
  history: readonly EarlierRun[],
): { readonly tests: readonly CountedPair[]; readonly cached: boolean } {
  const cached = isCacheShown(pairs);
  const count = (runs: readonly GateRun[]) => passesOf(cached ? withoutRepeats(runs) : runs);
  const tests = pairs.map((pair): CountedPair => {
    const { before, now } = pair;
    const earlier = history.flatMap(({ tests: known }) => known.get(before.name) ?? []);
    const passesBefore = count(before.runs);
    const fresh = cached ? now.fresh.filter((run) => !isLong(run)) : now.fresh;
    return {
      pair,
      before: passesBefore,
      earlier,
      known: totalPasses([passesBefore, ...earlier]),
      now: count(now.planned),
      fresh: passesOf(fresh),
      countsOnce: cached && hasOneLongAnswer([...now.planned, ...now.fresh]),
    };
  });
  return { tests, cached };
}

/** May the answer be one of a cache? */
const isLong = ({ answer, byModel }: GateRun): boolean => byModel && answer.length >= MIN_LENGTH;

const hasOneLongAnswer = (runs: readonly GateRun[]): boolean =>
  new Set(
    judgedRuns(runs)
      .filter(isLong)
      .map(({ answer }) => answer),
  ).size === 1;

/**
 * Whether a cache answers within a run. Controls are tests that passed in every run of both sides and were asked at
 * least twice now: most of them must have one answer now, which is another one than before.
 */
function isCacheShown(pairs: readonly Pair[]): boolean {
  const controls = pairs.filter(isControl);
  return controls.filter(isFreshDraw).length > controls.length / 2;
}

/** Did a test pass in all of at least two runs now, and in all before? */
const isControl = (pair: Pair): boolean => {
  const { planned, fresh } = pair.now;
  return passesOf([...planned, ...fresh]).runs >= 2 && hasAlwaysPassed(pair);
};

function hasAlwaysPassed({ before, now }: Pair): boolean {
  const [asked, known] = [passesOf([...now.planned, ...now.fresh]), passesOf(before.runs)];
  return rateOf(asked) === 1 && rateOf(known) === 1;
}

/** Tests that are asked once more where all fresh answers of a test are the same long one. */
const MAX_CONTROLS = 5;

/** The names of tests that have always passed, if others gave an answer that may be one of a cache. */
export function controlsFor(pairs: readonly Pair[]): readonly string[] {
  const isSuspect = ({ now: { fresh } }: Pair) => {
    const judged = judgedRuns(fresh);
    return judged.length > 1 && judged.every(isLong) && hasOneLongAnswer(judged);
  };
  if (!pairs.some(isSuspect)) return [];
  return pairs
    .filter(hasAlwaysPassed)
    .slice(0, MAX_CONTROLS)
    .map(({ now }) => now.name);
}

/** One answer now that is not that of before. */
function isFreshDraw({ before, now }: Pair): boolean {
  const answers = (runs: readonly GateRun[]) =>
    new Set(judgedRuns(runs).map(({ answer }) => answer));
  const [mine, known] = [answers([...now.planned, ...now.fresh]), answers(before.runs)];
  const [answer = ""] = mine;
  return mine.size === 1 && (known.size > 1 || !known.has(answer));
}

/** Of equal long answers one, a failed one first. */
function withoutRepeats(runs: readonly GateRun[]): GateRun[] {
  const judged = judgedRuns(runs);
  const alike = groupBy(judged.filter(isLong), ({ answer }) => answer);
  const kept = [...alike.values()].flatMap(
    (same) => same.find(({ status }) => status === "failed") ?? same.slice(0, 1),
  );
  return [...judged.filter((run) => !isLong(run)), ...kept];
}
