import { sum } from "../../../../lib/numbers.ts";
import { mean } from "../../../../lib/statistics/averages.ts";
import { boschlooFewer } from "../../../../lib/statistics/boschloo.ts";
import { fallOfSuite } from "../../../../lib/statistics/differences-of-times.ts";
import { binomialUpTo } from "../../../../lib/statistics/distributions.ts";
import { fewerInAll } from "../../../../lib/statistics/exact-tests.ts";
import { rateOf, totalPasses } from "../../../../lib/statistics/pass-rates.ts";
import type { Passes } from "../../../../lib/statistics/pass-rates.ts";
import { runCorrelation } from "../../../../lib/statistics/run-correlation.ts";
import { chanceOfSoFew, suitePrior } from "../../../../lib/statistics/suite-prior.ts";
import { controlsFor, countTests, isCacheShown, sortHistory } from "./count-runs.ts";
import type { CountedAlone, CountedPair, CountedTest, EarlierRun } from "./count-runs.ts";
import { matchTests } from "./match-tests.ts";
import type { TestBefore, TestNow } from "./match-tests.ts";

/** How the gate decides. */
export interface GateRules {
  /** The chance of a false alarm. */
  readonly level: number;
  /** How often a test is asked again that passes less often; 0 if the planned runs decide. */
  readonly confirm: number;
}

/** The runs of tests before now. */
export interface KnownRuns {
  readonly before: readonly TestBefore[];
  /** ISO date and time of the baseline. */
  readonly baselineAt: string;
  readonly history: readonly EarlierRun[];
}

/** What the gate judges. */
export interface GateInput extends KnownRuns {
  readonly now: readonly TestNow[];
  /** Names of tests that were not to be run. */
  readonly skipped: ReadonlySet<string>;
  /** The second look: all tests asked once more, by name; undefined if it was not taken. */
  readonly second?: ReadonlyMap<string, Passes> | undefined;
  readonly rules: GateRules;
}

/** The rules of a run that names no others. */
export const usualRules: GateRules = { level: 0.05, confirm: 6 };

/** Fresh runs of every test in a second look, by the number of its planned runs. */
export const secondLookRuns = (planned: number): number => Math.max(3, Math.min(planned, 5));

/** Fresh runs of a test that never passes and that matters, at most. */
export const mostFresh = ({ confirm }: GateRules): number => Math.max(20, confirm);

/**
 * Whether a test that passed in all of so many runs before, and misses in all of so many planned ones and in every fresh
 * one, can be called broken or failing with these rules.
 */
export function findsDeadTest(before: number, now: number, rules: GateRules): boolean {
  const runs = now + (rules.confirm > 0 ? mostFresh(rules) : 0);
  const p = boschlooFewer({ passes: before, runs: before }, { passes: 0, runs });
  return p <= limitOf(before, rules);
}

/** The limit of p for a test that was judged so often before. */
const limitOf = (before: number, { level }: GateRules): number =>
  level / Math.max(1, Math.min(before, 20) / 4);

/** The share of runs that a new or an edited test passes, unless the suite says another. */
const NEW_RATE = 0.8;

/** What is said about a suite and its tests. */
export type GateVerdict = ReturnType<typeof judge>;

/** What is said about a test. */
export type TestVerdict = GateVerdict["tests"][number];

/** Judges the tests of now against a baseline. */
export function judge(input: GateInput) {
  const { tests, judgeAll } = openGate(input);
  return judgeAll(tests, input.second);
}

/**
 * What the planned runs tell, by which tests are judged: those given, or the same ones with more fresh runs, as long as
 * no cache is shown.
 */
export function openGate(input: GateInput) {
  const matched = matchTests(input.before, input.now, input.skipped);
  const pairs = matched.tests.filter((test) => test.kind === "pair");
  const { used, refused } = sortHistory(pairs, input.history, input.baselineAt);
  const cached = isCacheShown(pairs);
  const tests = countTests(matched.tests, used, cached);
  const counted = tests.filter((test) => test.kind === "pair");
  const suite = figuresOf(counted, used.length, input.rules);
  const evidence = evidenceOf(counted, used.length, input.rules);
  const judgeSuite = (second: GateInput["second"]) => {
    if (suite.p > suite.limit) return { verdict: "no decline", ...suite } as const;
    return { verdict: isStillLow(counted, second) ? "worse" : "worse then", ...suite } as const;
  };
  return {
    tests,
    /** Runs of the history that are used. */
    history: used.length,
    judgeSuite,
    /** Whether one more fresh run of a test is due. */
    isDue: (test: CountedTest, isWorse: boolean) => isDue(test, evidence, isWorse),
    judgeAll(all: readonly CountedTest[], second: GateInput["second"]) {
      const found = judgeSuite(second);
      const isWorse = found.verdict === "worse";
      return {
        suite: found,
        tests: all.map((test) =>
          test.kind === "pair" ? judgePair(test, evidence, isWorse) : judgeAlone(test, evidence),
        ),
        removed: matched.removed,
        cached,
        /** Tests to ask once more, to see whether a cache answers. */
        controls: controlsFor(pairs),
        /** Runs of the history that were used, and why others were not. */
        history: used.length,
        refused,
        /** How alike the repeats of a test are within a run. */
        correlation: evidence.correlation,
      };
    },
  };
}

/** All planned runs beside those before, and the chance of so few passes. */
function figuresOf(tests: readonly CountedPair[], history: number, { level }: GateRules) {
  const times = Array.from({ length: history + 1 }, (_, time) =>
    totalPasses(tests.flatMap((test) => test.times[time] ?? [])),
  );
  const pTime = history > 0 ? fallOfSuite(times, tests) : undefined;
  return {
    p: Math.max(fewerInAll(tests), pTime ?? 0),
    pTime,
    limit: history > 0 ? level / 2 : level,
    /** All runs of the tests that are compared. */
    before: totalPasses(tests.map(({ before }) => before)),
    now: totalPasses(tests.map(({ now }) => now)),
  };
}

/** Is at least half of the fall there in the second look, too? Yes if it was not taken. */
function isStillLow(tests: readonly CountedPair[], second: GateInput["second"]): boolean {
  const meanRate = (all: readonly Passes[]) => mean(all.map(rateOf)) ?? 0;
  const again = tests.flatMap(({ name }) => second?.get(name) ?? []);
  const rates = [tests.map(({ before }) => before), tests.map(({ now }) => now)].map(meanRate);
  return again.length === 0 || meanRate(again) <= sum(rates) / 2;
}

/** What the tests of a suite tell about each other. */
function evidenceOf(tests: readonly CountedPair[], history: number, rules: GateRules) {
  const correlation = history > 0 ? runCorrelation(tests.map(({ times }) => times)) : 0;
  /** Runs of which so many share a time, as many as tell the same if they were independent. */
  const independent = (runs: number, repeats: number) =>
    Math.max(1, Math.floor(runs / (1 + (repeats - 1) * correlation)));
  const effective = ({ passes, runs }: Passes): Passes => {
    const count = independent(runs, runs);
    return { passes: Math.ceil((passes * count) / runs), runs: count };
  };
  const effectiveBefore = ({ before: { passes, runs } }: CountedPair): Passes => {
    const count = independent(runs, runs / (history + 1));
    return { passes: Math.round((passes * count) / runs), runs: count };
  };
  const prior = suitePrior(
    tests.map((test) =>
      history > 0
        ? { ...effectiveBefore(test), weight: 1 }
        : { ...totalPasses([test.before, test.now]), weight: weightOf(test) },
    ),
  );
  const passing = tests.filter(({ before }) => before.passes > 0).length;
  return {
    correlation,
    rules,
    effective,
    effectiveBefore,
    risers: tests.filter(({ before, now }) => rateOf(now) > rateOf(before)).length,
    /** How many tests of this suite show so few passes without a change. */
    expected: (before: Passes, now: Passes) => passing * chanceOfSoFew(before, now, prior),
  };
}

/** Chance lets a test rise as often as fall, and a fall may be the regression: it is mirrored by the rises. */
function weightOf({ before, now }: CountedPair): number {
  if (rateOf(now) === rateOf(before)) return 1;
  return rateOf(now) > rateOf(before) ? 2 : 0;
}

type Evidence = ReturnType<typeof evidenceOf>;

/** Does a test pass less often than before? */
const isCandidate = ({ before, now }: CountedPair): boolean => rateOf(now) < rateOf(before);

/** Whether one more fresh run is due: of a test that passes less often, or of a new one that missed. */
function isDue(test: CountedTest, evidence: Evidence, isWorse: boolean): boolean {
  const { now, fresh } = test;
  const { rules, effective, expected } = evidence;
  const { level, confirm } = rules;
  if (test.kind !== "pair")
    return test.kind !== "not judged" && now.passes < now.runs && fresh.runs < confirm;
  if (!isCandidate(test) || confirm === 0 || test.countsOnce) return false;
  const { known, limit, all, isDead } = fallOf(test, evidence);
  const most = mostFresh(rules);
  const pWith = (runs: number) => boschlooFewer(known, effective({ passes: all.passes, runs }));
  /** Can p still reach its limit if the rest up to so many fresh runs misses? */
  const canReach = (freshRuns: number) => pWith(now.runs + freshRuns) <= limit;
  if (fresh.runs < confirm) return canReach(confirm) || isDead;
  if (fresh.runs >= most || all.passes > 0 || isWorse || !canReach(most)) return false;
  const expectedDead = expected(known, effective({ passes: 0, runs: now.runs + confirm }));
  return pWith(all.runs) > limit || expectedDead > level / 10;
}

/** The effective runs before of a test that passes less often, the limit of its p, and all its runs now. */
function fallOf(test: CountedPair, { effectiveBefore, rules }: Evidence) {
  const known = effectiveBefore(test);
  const all = totalPasses([test.now, test.fresh]);
  const hadAll = known.passes === known.runs;
  const isDead = hadAll && all.passes === 0;
  return { known, limit: limitOf(known.runs, rules), all, hadAll, isDead };
}

/** The verdict on a test that was judged before with the same content. */
function judgePair(test: CountedPair, evidence: Evidence, isWorse: boolean) {
  const { name, renamed, before, now, fresh } = test;
  const found = isCandidate(test)
    ? judgeCandidate(test, evidence, isWorse)
    : judgeRiser(test, evidence);
  return { name, renamed, counts: { before, now, fresh }, ...found };
}

/** The verdict on a test that passes as often as before, or more often. */
function judgeRiser(test: CountedPair, { effective, effectiveBefore, risers, rules }: Evidence) {
  const { before, now } = test;
  const isMore = rateOf(now) > rateOf(before);
  const tail = () => boschlooFewer(effective(now), effectiveBefore(test));
  const pFixed = isMore ? Math.min(1, tail() * risers) : undefined;
  if (now.passes === 0) return { verdict: "fails as before", pFixed } as const;
  if (pFixed !== undefined && pFixed <= rules.level) return { verdict: "fixed", pFixed } as const;
  return { verdict: now.passes === now.runs ? "passes" : "varies", pFixed } as const;
}

/** The verdict on a test that passes less often, and whether one more fresh run of it is due. */
function judgeCandidate(test: CountedPair, evidence: Evidence, isWorse: boolean) {
  const { before, now, fresh } = test;
  const { effective, expected, rules } = evidence;
  const { level, confirm } = rules;
  const { known, limit, all, hadAll, isDead } = fallOf(test, evidence);
  const p = boschlooFewer(known, effective(all));
  const e = expected(known, effective(all));
  const isStill = fresh.runs === 0 || rateOf(fresh) <= (rateOf(before) + rateOf(now)) / 2;
  const missedAll = hadAll && fresh.passes === 0 && fresh.runs >= mostFresh(rules);
  const isAsked = isDue(test, evidence, isWorse);
  const isRare = isWorse || e <= level / 2 || (missedAll && e <= 1.5 * level);
  const isDoubt = (e <= level && p <= 2 * level) || (isDead && e <= 10 * level) || isAsked;
  const verdict = () => {
    if (fresh.runs >= confirm && isStill && p <= limit && isRare) return "broken";
    if (fresh.runs > 0 && fresh.passes === fresh.runs) return "passed again";
    if (isStill && isDead && missedAll && e <= 10 * level) return "fails";
    return isStill && isDoubt ? "inconclusive" : "varies";
  };
  return { verdict: verdict(), p, e, limit, isAsked } as const;
}

/** The verdict on a test without one of its content before: by its own rate. It is asked again after a miss. */
function judgeAlone(test: CountedAlone, evidence: Evidence) {
  const { name, kind, now, fresh, rate = NEW_RATE } = test;
  if (kind === "not judged") return { name, verdict: kind } as const;
  const { passes, runs } = totalPasses([now, fresh]);
  const p = binomialUpTo(runs, passes, rate);
  const isAsked = isDue(test, evidence, false);
  return { name, verdict: kind, p, fails: p <= evidence.rules.level, isAsked } as const;
}

/** What is said about a suite or a test. */
interface Judged {
  readonly verdict: string;
  readonly fails?: boolean;
}

/** Whether a test makes a comparison red. */
export const isRedTest = ({ verdict, fails = false }: Judged, strict: boolean): boolean =>
  fails || ["broken", "fails"].includes(verdict) || (strict && verdict === "inconclusive");

/** Whether a suite makes a comparison red. */
export const isRedSuite = ({ verdict }: Judged, strict: boolean): boolean =>
  verdict === "worse" || (strict && verdict === "inconclusive");

/** What decides about the exit of a comparison. */
interface JudgedSuite {
  readonly suite: Judged;
  readonly tests: readonly Judged[];
  readonly removed: readonly string[];
}

/** Whether removed tests are no failure, and inconclusive ones are one. */
export interface ExitFlags {
  readonly allowRemoved: boolean;
  readonly strict: boolean;
}

/** The exit of a comparison: red, or not whole; undefined if nothing is wrong. */
export function exitOf(
  { suite, tests, removed }: JudgedSuite,
  { allowRemoved, strict }: ExitFlags,
): "gate" | "partial" | undefined {
  const lacks = removed.length > 0 && !allowRemoved;
  if (isRedSuite(suite, strict) || lacks || tests.some((test) => isRedTest(test, strict)))
    return "gate";
  return tests.some(({ verdict }) => verdict === "not judged") ? "partial" : undefined;
}
