import { median } from "../../../lib/statistics/averages.ts";
import { fallInterval } from "../../../lib/statistics/fall.ts";
import { medianInterval } from "../../../lib/statistics/intervals.ts";
import { totalPasses } from "../../../lib/statistics/pass-rates.ts";
import type { Passes } from "../../../lib/statistics/pass-rates.ts";
import { isDoubtful, judge, judgePairs } from "./gate/index.ts";
import type { AskedPair, GateRules, GateVerdict, TestVerdict } from "./gate/index.ts";
import { gateInput } from "./gate-input.ts";
import type { Compared } from "./gate-input.ts";
import type { TestResult } from "./runs/index.ts";

/** What is said about a test; `edited`: its question or expectations are not those of before. */
export type Verdict = TestVerdict["verdict"];

/** A run of suites compared with an earlier one, or with another application. */
export interface SuiteComparison {
  readonly suite: {
    readonly verdict: "worse" | "worse then" | "no decline" | "inconclusive";
    /** Chance of so few passes of all tests where nothing has changed, and from where on that is worse. */
    readonly p: number;
    readonly limit: number;
    readonly before: Passes;
    readonly now: Passes;
    /** All tests asked once more; null if there was no second look. */
    readonly again: Passes | null;
    /** How much lower the share of passes is now, with its 95 % interval; null if nothing was compared. */
    readonly fall: ReturnType<typeof fallInterval>;
  };
  /** In the order of the tests that were run. */
  readonly tests: readonly TestComparison[];
  /** Names of tests that only the baseline has. */
  readonly removed: readonly string[];
  /** Where a baseline was judged: what the gate knew. */
  readonly gate: Pick<GateVerdict, "cached" | "history" | "refused" | "correlation"> | undefined;
  readonly seconds: Shift | null;
  readonly tokens: Shift | null;
}

/** A test and what became of it; figures are null where they do not apply. */
export interface TestComparison {
  readonly name: string;
  readonly verdict: Verdict;
  readonly before: Passes | null;
  /** As they count: of equal answers of a cache, one. */
  readonly now: Passes | null;
  readonly fresh: Passes | null;
  readonly p: number | null;
  readonly limit: number | null;
  /** How many such tests a suite like this shows where nothing has changed. */
  readonly e: number | null;
  readonly renamed: string | null;
  /** Whether a new or edited test passes surely too seldom. */
  readonly fails: boolean;
  /** What would decide about a test that is inconclusive. */
  readonly next: string | null;
}

const blank = {
  before: null,
  now: null,
  fresh: null,
  p: null,
  limit: null,
  e: null,
  renamed: null,
  fails: false,
  next: null,
};

/** Compares tests with a baseline. Of a merge, nothing can be asked again: a second look that is due is inconclusive. */
export function comparedWithBaseline(compared: Compared, isMerge = false): SuiteComparison {
  const input = gateInput(compared);
  const found = judge(input);
  const { verdict, p, limit, before, now } = found.suite;
  const isOpen = isMerge && verdict === "worse" && !input.second && compared.rules.confirm > 0;
  const [mine, theirs] = [byName(compared.tests), byName(compared.baseline.tests)];
  const pairs = found.tests.flatMap((test) => {
    if (!("counts" in test)) return [];
    const [now, before] = [mine.get(test.name), theirs.get(test.renamed ?? test.name)];
    return now && before ? [{ now, before }] : [];
  });
  return {
    suite: {
      verdict: isOpen ? "inconclusive" : verdict,
      p,
      limit,
      before,
      now,
      again: input.second ? totalPasses([...input.second.values()]) : null,
      fall: fallInterval(before, now),
    },
    tests: found.tests.map((test) => comparisonOf(test, isMerge)),
    removed: found.removed,
    gate: found,
    ...shiftsOf(pairs, false),
  };
}

const byName = (tests: readonly TestResult[]) => new Map(tests.map((test) => [test.name, test]));

function comparisonOf(test: TestVerdict, isMerge: boolean): TestComparison {
  const { name, verdict } = test;
  if (!("counts" in test))
    return { ...blank, name, verdict, p: test.p ?? null, fails: test.fails ?? false };
  const { counts, renamed = null } = test;
  const own = { ...blank, name, verdict, ...counts, renamed };
  return "e" in test
    ? { ...own, p: test.p, limit: test.limit, e: test.e, next: nextStep(test.isAsked, isMerge) }
    : { ...own, p: test.pFixed ?? null };
}

function nextStep(isAsked: boolean, isMerge: boolean): string {
  if (isMerge) return "give --baseline to the shards, which ask again";
  return isAsked
    ? "it was not asked often enough: run the same command again"
    : "a baseline with --repeat 5 or more decides such tests";
}

/** Compares the tests of two applications that were asked in turn. */
export function compareAsked(
  tests: readonly TestResult[],
  old: readonly TestResult[],
  rules: GateRules,
): SuiteComparison {
  const asked = pairsByName(tests, old).filter(
    ({ now, before }) => before.runs > 0 && now.runs > 0,
  );
  const found = judgePairs(asked.map(askedPair), rules);
  const judged = new Map(found.tests.map((test) => [test.name, test]));
  return {
    suite: {
      ...found.suite,
      again: null,
      fall: fallInterval(found.suite.before, found.suite.now),
    },
    tests: tests.map(({ name }): TestComparison => {
      const unjudged = { name, verdict: "not judged" } as const;
      return { ...blank, ...(judged.get(name) ?? unjudged) };
    }),
    removed: [],
    gate: undefined,
    ...shiftsOf(asked, true),
  };
}

const askedPair = ({ before, now }: ResultPair): AskedPair => ({
  name: now.name,
  before: totalPasses([before]),
  now: totalPasses([now]),
  freshBefore: totalPasses(before.fresh ? [before.fresh] : []),
  fresh: totalPasses(now.fresh ? [now.fresh] : []),
});

/** Names of the tests that are asked again where both sides are asked in turn. */
export function doubtfulTests(
  tests: readonly TestResult[],
  old: readonly TestResult[],
): readonly string[] {
  return pairsByName(tests, old)
    .filter(isDoubtful)
    .map(({ now }) => now.name);
}

/** The tests that both sides have. */
function pairsByName(tests: readonly TestResult[], old: readonly TestResult[]): ResultPair[] {
  const others = byName(old);
  return tests.flatMap((now) => {
    const before = others.get(now.name);
    return before ? [{ now, before }] : [];
  });
}

/** The names of tests with a verdict. */
export const namesOf = ({ tests }: SuiteComparison, ...verdicts: readonly Verdict[]): string[] =>
  tests.filter(({ verdict }) => verdicts.includes(verdict)).map(({ name }) => name);

/** The chance with which the interval of a ratio misses the true one. */
const RATIO_LEVEL = 0.05;

/** The medians of a figure over all tests; of their ratio an interval if both sides were asked in turn. */
export type Shift = NonNullable<ReturnType<typeof shiftOf>>;

/** Results of a test on both sides. */
interface ResultPair {
  readonly before: TestResult;
  readonly now: TestResult;
}

const shiftsOf = (pairs: readonly ResultPair[], isInterleaved: boolean) => ({
  seconds: shiftOf(pairs, "seconds", isInterleaved),
  tokens: shiftOf(pairs, "tokens", isInterleaved),
});

function shiftOf(
  pairs: readonly ResultPair[],
  figure: "seconds" | "tokens",
  isInterleaved: boolean,
) {
  const known = pairs.flatMap(({ before, now }) => {
    const [earlier, mine] = [before[figure], now[figure]];
    return earlier === null || mine === null ? [] : [{ before: earlier, now: mine }];
  });
  const before = median(known.map((pair) => pair.before));
  const now = median(known.map((pair) => pair.now));
  if (before === null || now === null) return null;
  const ratios = known.flatMap((pair) => (pair.before > 0 ? [pair.now / pair.before] : []));
  return { before, now, ratio: isInterleaved ? medianInterval(ratios, RATIO_LEVEL) : null };
}
