import { sum } from "../../../../lib/numbers.ts";
import { mean } from "../../../../lib/statistics/averages.ts";
import { boschlooFewer } from "../../../../lib/statistics/boschloo.ts";
import { fallOfSuite } from "../../../../lib/statistics/differences-of-times.ts";
import { binomial } from "../../../../lib/statistics/distributions.ts";
import { fewerInAll } from "../../../../lib/statistics/exact-tests.ts";
import { totalPasses } from "../../../../lib/statistics/pass-rates.ts";
import type { Passes } from "../../../../lib/statistics/pass-rates.ts";
import { runCorrelation } from "../../../../lib/statistics/run-correlation.ts";
import { chanceOfSoFew, suitePrior } from "../../../../lib/statistics/suite-prior.ts";
import { controlsFor, countPairs, passesOf, rateOf, sortHistory } from "./count-runs.ts";
import type { CountedPair, EarlierRun } from "./count-runs.ts";
import { matchTests } from "./match-tests.ts";
import type { MatchedTest, Pair, TestBefore, TestNow } from "./match-tests.ts";

/** How the gate decides. */
export interface GateRules {
  /** The chance of a false alarm. */
  readonly level: number;
  /** How often a test is asked again that passes less often; 0 if the planned runs decide. */
  readonly confirm: number;
}

/** What the gate judges. */
export interface GateInput {
  readonly before: readonly TestBefore[];
  /** ISO date and time of the baseline. */
  readonly baselineAt: string;
  readonly history: readonly EarlierRun[];
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
export type TestVerdict = ReturnType<typeof judgePair> | ReturnType<typeof judgeAlone>;

/** Judges the tests of now against a baseline. */
export function judge(input: GateInput) {
  const { rules, second } = input;
  const matched = matchTests(input.before, input.now, input.skipped);
  const pairs = matched.tests.filter((test): test is Pair => test.kind === "pair");
  const { used: history, refused } = sortHistory(pairs, input.history, input.baselineAt);
  const { tests, cached } = countPairs(pairs, history);
  const suite = judgeSuite(tests, history.length, { rules, second });
  const evidence = evidenceOf(tests, history.length, rules, suite.verdict === "worse");
  const counted = new Map(tests.map((test) => [test.pair.now.name, test]));
  const verdicts = matched.tests.map((test) => {
    const own = counted.get(test.now.name);
    return own ? judgePair(own, evidence) : judgeAlone(test, rules);
  });
  return {
    suite,
    tests: verdicts,
    removed: matched.removed,
    cached,
    /** Tests to ask once more, to see whether a cache answers. */
    controls: controlsFor(pairs),
    /** Runs of the history that were used, and why others were not. */
    history: history.length,
    refused,
    /** How alike the repeats of a test are within a run. */
    correlation: evidence.correlation,
  };
}

/** Compares all planned runs with those before: whether the suite is worse, and still was when asked once more. */
function judgeSuite(
  tests: readonly CountedPair[],
  history: number,
  { rules, second }: Pick<GateInput, "rules" | "second">,
) {
  const passes = tests.map(({ known, now }) => ({ before: known, now }));
  const exact = tests.length === 0 ? 1 : fewerInAll(passes);
  const pTime = history > 0 ? fallOfSuite(timesOf(tests, history), tests) : undefined;
  const p = Math.max(exact, pTime ?? 0);
  const limit = history > 0 ? rules.level / 2 : rules.level;
  const found = {
    p,
    pTime,
    limit,
    /** All runs of the tests that are compared. */
    before: totalPasses(tests.map(({ known }) => known)),
    now: totalPasses(tests.map((test) => test.now)),
  };
  if (tests.length === 0 || p > limit) return { verdict: "no decline", ...found } as const;
  return { verdict: isStillLow(tests, second) ? "worse" : "worse then", ...found } as const;
}

/** The passes of all tests together in each run of the history and in the baseline. */
const timesOf = (tests: readonly CountedPair[], history: number): readonly Passes[] => [
  ...Array.from({ length: history }, (_, run) =>
    totalPasses(tests.flatMap(({ earlier }) => earlier[run] ?? [])),
  ),
  totalPasses(tests.map(({ before }) => before)),
];

/** Is at least half of the fall there in the second look, too? Yes if it was not taken. */
function isStillLow(tests: readonly CountedPair[], second: GateInput["second"]): boolean {
  const again = tests.flatMap(({ pair }) => second?.get(pair.now.name) ?? []).map(rateOf);
  const [before, now] = [
    tests.map(({ known }) => rateOf(known)),
    tests.map((each) => rateOf(each.now)),
  ];
  return (
    again.length === 0 || sum(again) / again.length <= ((mean(before) ?? 0) + (mean(now) ?? 0)) / 2
  );
}

/** What the tests of a suite tell about each other. */
function evidenceOf(
  tests: readonly CountedPair[],
  history: number,
  rules: GateRules,
  isWorse: boolean,
) {
  const correlation =
    history > 0 ? runCorrelation(tests.map(({ before, earlier }) => [before, ...earlier])) : 0;
  /** Runs now that tell as much as if they were independent. */
  const effective = ({ passes, runs }: Passes): Passes => {
    const count = Math.max(1, Math.floor(runs / (1 + (runs - 1) * correlation)));
    return { passes: Math.ceil((passes * count) / runs), runs: count };
  };
  const effectiveBefore = ({ known }: CountedPair): Passes => {
    const repeats = known.runs / (history + 1);
    const runs = Math.max(1, Math.floor(known.runs / (1 + (repeats - 1) * correlation)));
    return { passes: Math.round((known.passes * runs) / known.runs), runs };
  };
  const prior = suitePrior(
    tests.map((test) =>
      history > 0
        ? { ...effectiveBefore(test), weight: 1 }
        : { ...totalPasses([test.before, test.now]), weight: weightOf(test) },
    ),
  );
  const passing = tests.filter(({ known }) => known.passes > 0).length;
  return {
    correlation,
    rules,
    isWorse,
    effective,
    effectiveBefore,
    risers: tests.filter(({ known, now }) => rateOf(now) > rateOf(known)).length,
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

/** The verdict on a test that was judged before with the same content. */
function judgePair(test: CountedPair, evidence: Evidence) {
  const { pair, known, now, fresh } = test;
  const of = { name: pair.now.name, renamed: pair.renamed, counts: { before: known, now, fresh } };
  return rateOf(now) < rateOf(known)
    ? { ...of, ...judgeCandidate(test, evidence) }
    : { ...of, ...judgeRiser(test, evidence) };
}

/** The verdict on a test that passes as often as before, or more often. */
function judgeRiser(test: CountedPair, { effective, effectiveBefore, risers, rules }: Evidence) {
  const { known, now } = test;
  const isMore = rateOf(now) > rateOf(known);
  const tail = () => boschlooFewer(effective(now), effectiveBefore(test));
  const pFixed = isMore ? Math.min(1, tail() * risers) : undefined;
  if (now.passes === 0) return { verdict: "fails as before", pFixed } as const;
  if (pFixed !== undefined && pFixed <= rules.level) return { verdict: "fixed", pFixed } as const;
  return { verdict: now.passes === now.runs ? "passes" : "varies", pFixed } as const;
}

/** The verdict on a test that passes less often, and whether one more fresh run of it is due. */
function judgeCandidate(test: CountedPair, evidence: Evidence) {
  const { known, now, fresh, countsOnce } = test;
  const { effective, effectiveBefore, expected, isWorse, rules } = evidence;
  const { level, confirm } = rules;
  const most = mostFresh(rules);
  const before = effectiveBefore(test);
  const all = totalPasses([now, fresh]);
  const limit = limitOf(before.runs, rules);
  const pWith = (passes: Passes) => boschlooFewer(before, effective(passes));
  const eWith = (passes: Passes) => expected(before, effective(passes));
  const [p, e] = [pWith(all), eWith(all)];
  const isStill = fresh.runs === 0 || rateOf(fresh) <= (rateOf(known) + rateOf(now)) / 2;
  const hadAll = before.passes === before.runs;
  const isDead = hadAll && all.passes === 0;
  const missedAll = hadAll && fresh.passes === 0 && fresh.runs >= most;

  /** Can p still reach its limit if the rest up to so many fresh runs misses? */
  const canReach = (freshRuns: number) =>
    pWith({ passes: all.passes, runs: now.runs + freshRuns }) <= limit;
  const isClear = () => p <= limit && eWith({ passes: 0, runs: now.runs + confirm }) <= level / 10;
  const matters = () => all.passes === 0 && !isWorse && canReach(most) && !isClear();
  const isAsked =
    confirm > 0 &&
    !countsOnce &&
    (fresh.runs < confirm ? canReach(confirm) || isDead : fresh.runs < most && matters());

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
function judgeAlone({ kind, now }: MatchedTest, { level, confirm }: GateRules) {
  const { name, planned, fresh, rate = NEW_RATE } = now;
  if (kind === "not judged") return { name, verdict: "not judged" } as const;
  const { passes, runs } = passesOf([...planned, ...fresh]);
  const tails = Array.from({ length: passes + 1 }, (_, count) => binomial(runs, count, rate));
  const p = Math.min(1, sum(tails));
  const [asked, again] = [passesOf(planned), passesOf(fresh)];
  const isAsked = asked.passes < asked.runs && again.runs < confirm;
  const verdict = kind === "edited" ? "edited" : "new";
  return { name, verdict, p, fails: p <= level, isAsked } as const;
}

/** Whether a test makes a comparison red. */
export const isRedTest = (
  test: { readonly verdict: string; readonly fails?: boolean },
  strict: boolean,
): boolean =>
  test.verdict === "broken" ||
  test.verdict === "fails" ||
  test.fails === true ||
  (strict && test.verdict === "inconclusive");

/** Whether a suite makes a comparison red. */
export const isRedSuite = ({ verdict }: { readonly verdict: string }, strict: boolean): boolean =>
  verdict === "worse" || (strict && verdict === "inconclusive");

/** What decides about the exit of a comparison. */
interface Judged {
  readonly suite: { readonly verdict: string };
  readonly tests: readonly { readonly verdict: string; readonly fails?: boolean }[];
  readonly removed: readonly string[];
}

/** The exit of a comparison: red, or not whole; undefined if nothing is wrong. */
export function exitOf(
  { suite, tests, removed }: Judged,
  { allowRemoved, strict }: { readonly allowRemoved: boolean; readonly strict: boolean },
): "gate" | "partial" | undefined {
  const lacks = removed.length > 0 && !allowRemoved;
  if (isRedSuite(suite, strict) || lacks || tests.some((test) => isRedTest(test, strict)))
    return "gate";
  return tests.some(({ verdict }) => verdict === "not judged") ? "partial" : undefined;
}
