import { groupBy } from "../../../../lib/collect.ts";
import { totalPasses } from "../../../../lib/statistics/pass-rates.ts";
import type { Passes } from "../../../../lib/statistics/pass-rates.ts";
import { judgedRuns } from "./match-tests.ts";
import type { GateRun, MatchedTest, Pair, TestNow } from "./match-tests.ts";

/** A run of the same tests before the baseline, in which nothing was wrong. */
export interface EarlierRun {
  /** ISO date and time. */
  readonly at: string;
  /** Did it end with an alarm that was not accepted since? */
  readonly alarmed: boolean;
  /** Passes by the name of the test. */
  readonly tests: ReadonlyMap<string, Passes & { readonly content: string }>;
}

/** The passes of a test now: in its planned runs, and in those that it was asked again. */
interface CountedNow {
  readonly name: string;
  readonly now: Passes;
  readonly fresh: Passes;
}

/** The passes of a test of the same content on both sides. */
export interface CountedPair extends CountedNow {
  readonly kind: "pair";
  /** Its name in the baseline if that was another. */
  readonly renamed: string | undefined;
  /** In the baseline, and in each run of the history. */
  readonly times: readonly Passes[];
  /** At all these times together. */
  readonly before: Passes;
  /** Are all its answers one of a cache, so that asking again tells nothing? */
  readonly countsOnce: boolean;
}

/** The passes of a test without one of its content before, and the share that it has to pass, if the suite says one. */
export interface CountedAlone extends CountedNow {
  readonly kind: Exclude<MatchedTest["kind"], "pair">;
  readonly rate: number | undefined;
}

/** The passes of a test. */
export type CountedTest = CountedPair | CountedAlone;

/** Characters of an answer from which on a model that is asked twice hardly gives the same one. */
const MIN_LENGTH = 40;

/** Runs of a history from which the difference between two times can be estimated. */
export const MIN_HISTORY = 5;

/** Passes among the runs that were judged. */
export function passesOf(runs: readonly GateRun[]): Passes {
  const judged = judgedRuns(runs);
  return { passes: judged.filter(({ status }) => status === "passed").length, runs: judged.length };
}

/** Why a run of the history tells nothing about the tests that are compared. */
export type Refusal =
  | "not before the baseline"
  | "ended with an alarm"
  | "of an earlier version"
  | "other tests";

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
  const known = pairs.map(({ before }) => ({ before, test: tests.get(before.name) }));
  // Version 0.2.0 did not store what its tests ask and expect.
  if (known.some(({ test }) => test?.content === "")) return "of an earlier version";
  const hasAll = known.every(
    ({ before, test }) => test !== undefined && test.content === before.content && test.runs > 0,
  );
  return hasAll ? undefined : "other tests";
}

/** Counts the runs of tests; with a cache, the equal answers of a pair once. */
export function countTests(
  tests: readonly MatchedTest[],
  history: readonly EarlierRun[],
  cached: boolean,
): CountedTest[] {
  const count = (runs: readonly GateRun[]) => passesOf(cached ? withoutRepeats(runs) : runs);
  return tests.map((test): CountedTest => {
    const { name, planned, fresh, rate } = test.now;
    if (test.kind !== "pair")
      return { kind: test.kind, name, rate, now: passesOf(planned), fresh: passesOf(fresh) };
    const { kind, before: own, renamed } = test;
    const earlier = history.flatMap(({ tests: known }) => known.get(own.name) ?? []);
    const times = [count(own.runs), ...earlier];
    return {
      kind,
      name,
      renamed,
      times,
      before: totalPasses(times),
      now: count(planned),
      fresh: passesOf(cached ? fresh.filter((run) => !isLong(run)) : fresh),
      countsOnce: cached && hasOneLongAnswer(allRuns(test.now)),
    };
  });
}

/** The runs of a test now. */
const allRuns = ({ planned, fresh }: TestNow): readonly GateRun[] => [...planned, ...fresh];

/** May the answer be one of a cache? */
const isLong = ({ answer, byModel }: GateRun): boolean => byModel && answer.length >= MIN_LENGTH;

const answersIn = (runs: readonly GateRun[]): ReadonlySet<string> =>
  new Set(judgedRuns(runs).map(({ answer }) => answer));

const hasOneLongAnswer = (runs: readonly GateRun[]): boolean =>
  answersIn(runs.filter(isLong)).size === 1;

/**
 * Whether a cache answers within a run. Controls are tests that passed in every run of both sides and were asked at
 * least twice now: most of them must have one answer now, which is another one than before.
 */
export function isCacheShown(pairs: readonly Pair[]): boolean {
  const controls = pairs.filter(
    (pair) => judgedRuns(allRuns(pair.now)).length >= 2 && hasAlwaysPassed(pair),
  );
  return controls.filter(isFreshDraw).length > controls.length / 2;
}

const hasAlwaysPassed = ({ before, now }: Pair): boolean =>
  [before.runs, now.planned, now.fresh].flat().every(({ status }) => status !== "failed");

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
  const [mine, known] = [answersIn(allRuns(now)), answersIn(before.runs)];
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
