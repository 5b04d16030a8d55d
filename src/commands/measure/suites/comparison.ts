import { groupBy } from "../../../lib/collect.ts";
import { sum } from "../../../lib/numbers.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import { compareWords } from "./answers/index.ts";
import { usualSimilarity } from "../suite-file/index.ts";
import type { TestResult } from "./results.ts";
import { questionsOf } from "./run-tests.ts";
import { countRepeats, isDoubtful, judgeSuite, mayBeCached } from "./verdict.ts";
import { median } from "../../../lib/statistics/averages.ts";
import { medianInterval } from "../../../lib/statistics/intervals.ts";
import { totalPasses } from "../../../lib/statistics/pass-rates.ts";
import { neededDesign, suitePower, testPower } from "../../../lib/statistics/power.ts";
import type { SuiteVerdict, TestPair, VerdictOptions } from "./verdict.ts";

/**
 * How a test compares with an earlier run: `broken` and `fixed` passed less or more often than chance explains;
 * `passed again`: it missed what it passed, but not when it was asked again; `undecided`: there, too, and that may
 * be chance; `failing`: it never passed before, either; `changed`: it passes with answers that are not similar;
 * `passes`; `new`: it has no earlier run.
 */
export type Verdict =
  | "broken"
  | "undecided"
  | "passed again"
  | "failing"
  | "fixed"
  | "changed"
  | "passes"
  | "new";

/** A run of suites compared with an earlier one. */
export type SuiteComparison = ReturnType<typeof compareSuites>;

/** A test and what became of it. */
export type TestComparison = SuiteComparison["tests"][number];

/** What a run is compared with. */
export interface ComparedWith {
  readonly tests: readonly TestResult[];
  /** Whether both were asked in turn. */
  readonly isInterleaved: boolean;
  /** Earlier runs of the same tests. */
  readonly history: readonly (readonly TestResult[])[];
  /** Tests of the suites that are not run, which are not gone. */
  readonly skipped: ReadonlySet<string>;
}

/** Compares tests with those of an earlier run, by name or, if that is new, by what they ask. */
export function compareSuites(
  now: readonly TestResult[],
  earlier: ComparedWith,
  options: VerdictOptions,
) {
  const matched = matchTests(now, earlier);
  const tested = countedPairs(now, matched, earlier).filter(
    ({ pair }) => pair.before.runs > 0 && pair.now.runs > 0,
  );
  const verdict = judgeSuite(
    tested.map(({ pair }) => pair),
    options,
  );
  const compared = new Map(
    tested.map((each, index) => [each.after.name, comparisonOf(each, verdict.tests[index])]),
  );
  const used = new Set([...matched.values()].map(({ name }) => name));
  const isGone = ({ name }: TestResult) => !used.has(name) && !earlier.skipped.has(name);
  return {
    ...verdict,
    /** In the order of the tests that were run. */
    tests: now.map(({ name }) => compared.get(name) ?? { name, ...unpaired }),
    /** Names of tests that only the earlier run has. */
    removed: earlier.tests.filter(isGone).map(({ name }) => name),
    /** Tests whose repeats gave the same answer, which counts once. */
    reduced: tested.filter(({ isReduced }) => isReduced).length,
    /** What keeps two runs at different times apart from two applications. */
    times: earlier.isInterleaved ? ("interleaved" as const) : verdict.times,
    seconds: shiftOf(tested, "seconds", earlier.isInterleaved),
    tokens: shiftOf(tested, "tokens", earlier.isInterleaved),
  };
}

/** A test that only this run has. */
const unpaired = { verdict: "new" as Verdict, p: null, before: null, renamed: null };

/** The verdict with the corrected chance of the fresh runs, null if it was not asked again, and the former name. */
function comparisonOf(each: CountedPair, judged: SuiteVerdict["tests"][number] | undefined) {
  const { after, before, pair } = each;
  return {
    name: after.name,
    verdict: verdictOf(each, judged),
    p: judged?.pWorse ?? null,
    before: pair.asked,
    renamed: before.name === after.name ? null : before.name,
  };
}

/** A test before and after, with what counts of its runs. */
type CountedPair = ReturnType<typeof countedPairs>[number];

function countedPairs(
  now: readonly TestResult[],
  matched: ReadonlyMap<string, TestResult>,
  { history, isInterleaved }: ComparedWith,
) {
  const paired = now.filter(({ name }) => matched.has(name));
  const ofNow = counter(paired);
  const ofBefore = counter(paired.flatMap(({ name }) => matched.get(name) ?? []));
  const earlier = history.filter(isLike(paired)).map((tests) => ({
    count: counter(tests),
    byName: new Map(tests.map((test) => [test.name, test])),
  }));
  return paired.flatMap((after) => {
    const before = matched.get(after.name);
    if (!before) return [];
    const [mine, theirs] = [ofNow(after), ofBefore(before)];
    const others = earlier.flatMap(({ count, byName }) => {
      const same = byName.get(after.name);
      return same ? [count(same).planned] : [];
    });
    const pair: TestPair = {
      before: theirs.planned,
      asked: isInterleaved ? totalPasses([theirs.planned, theirs.fresh]) : theirs.planned,
      now: mine.planned,
      fresh: mine.fresh,
      earlier: [theirs.planned, ...(others.length === earlier.length ? others : [])],
    };
    return [{ after, before, pair, isReduced: mine.isReduced || theirs.isReduced }];
  });
}

/** Counts the runs of each of these tests. */
function counter(tests: readonly TestResult[]) {
  const isCached = mayBeCached(tests.map(({ results }) => results));
  return ({ results }: TestResult) => countRepeats(results, isCached);
}

/** Whether an earlier run has most of these tests of the same application, and no more repeats, which vary less. */
const isLike =
  (now: readonly TestResult[]) =>
  (earlier: readonly TestResult[]): boolean => {
    const byName = new Map(earlier.map((test) => [test.name, test]));
    const common = now.filter(({ name, results: [first] }) =>
      byName.get(name)?.results.some((run) => run.app === first?.app && !run.reused),
    );
    const repeats = sum(common.map(({ name }) => byName.get(name)?.runs ?? 0));
    return 2 * common.length > now.length && repeats <= sum(common.map((test) => test.runs));
  };

/** Names of the tests to ask again: they miss now what they passed. */
export function doubtfulTests(
  now: readonly TestResult[],
  earlier: Pick<ComparedWith, "tests" | "skipped">,
): ReadonlySet<string> {
  const matched = matchTests(now, earlier);
  const doubtful = now.filter((after) => {
    const before = matched.get(after.name);
    return before !== undefined && isDoubtful({ before, now: after });
  });
  return new Set(doubtful.map(({ name }) => name));
}

/** The earlier test of each: that of the same name, or the only unmatched one that asks the same. */
function matchTests(
  now: readonly TestResult[],
  { tests: earlier, skipped }: Pick<ComparedWith, "tests" | "skipped">,
) {
  const byName = new Map(earlier.map((test) => [test.name, test]));
  const names = new Set(now.map(({ name }) => name));
  const gone = groupBy(
    earlier.filter(({ name }) => !names.has(name) && !skipped.has(name)),
    questionOf,
  );
  const added = groupBy(
    now.filter(({ name }) => !byName.has(name)),
    questionOf,
  );
  return new Map(
    now.flatMap((test): [string, TestResult][] => {
      const question = questionOf(test);
      const [before, ...more] = gone.get(question) ?? [];
      const isOnly = question !== "" && more.length === 0 && added.get(question)?.length === 1;
      const found = byName.get(test.name) ?? (isOnly ? before : undefined);
      return found ? [[test.name, found]] : [];
    }),
  );
}

/** What a test asks; empty if that is not stored. */
function questionOf({ results }: TestResult): string {
  const turns = results.find((run) => run.turns.length > 0)?.turns ?? [];
  return turns.length === 0 ? "" : questionsOf(turns);
}

function verdictOf(
  { after, before, pair }: CountedPair,
  judged: SuiteVerdict["tests"][number] | undefined,
): Verdict {
  if (judged?.isBroken === true) return "broken";
  if (judged?.isFixed === true) return "fixed";
  const { fresh } = pair;
  if (isDoubtful(pair))
    return fresh.runs > 0 && fresh.passes === fresh.runs ? "passed again" : "undecided";
  if (pair.now.passes < pair.now.runs) return "failing";
  return after.answers.length > 0 && !isAlike(before, after) ? "changed" : "passes";
}

/** Answers of each side that are compared: two long ones take a tenth of a second. */
const MAX_COMPARED = 5;

/** Whether an answer is one of those before, or similar to one. */
function isAlike(before: TestResult, now: TestResult): boolean {
  if (now.answers.some((answer) => before.answers.includes(answer))) return true;
  const textsOf = ({ results }: TestResult) =>
    results.flatMap(({ answer }) => answer ?? []).slice(0, MAX_COMPARED);
  const others = textsOf(before);
  return textsOf(now).some((text) =>
    others.some((other) => (compareWords(text, other).similarity ?? 0) >= usualSimilarity),
  );
}

/** The chance with which the interval of a ratio misses the true one. */
const RATIO_LEVEL = 0.05;

/** The medians of a figure; of their ratio an interval if both were asked in turn. */
function shiftOf(
  tested: readonly CountedPair[],
  figure: "seconds" | "tokens",
  isInterleaved: boolean,
) {
  const known = tested.flatMap(({ before, after }) => {
    const [earlier, now] = [before[figure], after[figure]];
    return earlier === null || now === null ? [] : [{ before: earlier, now }];
  });
  const before = median(known.map((pair) => pair.before));
  const now = median(known.map((pair) => pair.now));
  if (before === null || now === null) return null;
  const ratios = known.flatMap((pair) => (pair.before > 0 ? [pair.now / pair.before] : []));
  return { before, now, ratio: isInterleaved ? medianInterval(ratios, RATIO_LEVEL) : null };
}

/** `226 of 300 runs passed, 283 of 300 before (p = 2.1e-9)` */
export const suiteText = ({ p, before, now }: SuiteComparison): string =>
  `${now.passes} of ${counted(now.runs, "run")} passed, ${before.passes} of ${before.runs} before (p = ${p.toPrecision(2)})`;

/** What a comparison says of the suite as a whole, and what it rests on. */
export function comparisonNotes(compared: SuiteComparison, level: number): string[] {
  const { tests, removed, reduced, isWorse, times, seconds, tokens } = compared;
  const renamed = tests.flatMap(({ name, renamed: before }) =>
    before === null ? [] : [`${before} is now ${name}`],
  );
  const added = tests.filter(({ verdict }) => verdict === "new").map(({ name }) => name);
  return [
    `${isWorse ? "the suite is worse" : "no decline of the suite was found"}: ${suiteText(compared)}`,
    `the chance of a false alarm is at most ${Number((level * 100).toPrecision(3))} %, ${timesTexts[times]}`,
    ...(reduced > 0
      ? [`the runs of ${counted(reduced, "test")} gave the same answer and count once`]
      : []),
    ...(removed.length > 0 ? [`removed since then: ${firstNames(removed)}`] : []),
    ...(added.length > 0 ? [`new: ${firstNames(added)}`] : []),
    ...(renamed.length > 0 ? [`renamed: ${firstNames(renamed)}`] : []),
    ...neededNote(compared, level),
    ...shiftNote("time", seconds, (value) => `${value.toFixed(1)} s`),
    ...shiftNote("tokens", tokens, String),
  ];
}

/** The chance with which a plan finds a change. */
const POWER = 0.8;

/** The repeats that tell a fall of one test to half of its passes, if there is one of which it cannot be told. */
export const neededFor = ({ tests }: SuiteComparison, level: number) =>
  tests.some(({ verdict }) => verdict === "undecided")
    ? neededDesign((design) => testPower(0.5, design), POWER, level)
    : undefined;

function neededNote(compared: SuiteComparison, level: number): string[] {
  const needed = neededFor(compared, level);
  if (!needed) return [];
  const open = compared.tests.filter(({ verdict }) => verdict === "undecided").length;
  const rates = compared.tests.flatMap(({ before }) =>
    before && before.runs > 0 ? [before.passes / before.runs] : [],
  );
  const falls = [0.1, 0.2].map((drop) => {
    const repeat = neededDesign((design) => suitePower(rates, drop, design), POWER, level)?.repeat;
    return `by ${drop * 100} points ${repeat === undefined ? "more than 1000 repeats" : `--repeat ${repeat}`}`;
  });
  return [
    `to decide ${counted(open, "test")}: --repeat ${needed.repeat} --confirm ${needed.confirm} finds a fall of one test to 50 % in ${POWER * 100} % of cases, if the baseline has as many repeats`,
    `to find a fall of all tests as often: ${falls.join(", ")}`,
  ];
}

const timesTexts: Readonly<Record<SuiteComparison["times"], string>> = {
  interleaved: "as both were asked in turn",
  history: "with the differences between earlier runs",
  assumed: "if only the application has changed since (--history or --against can tell)",
};

/** Which figure has moved; a claim only where both were asked in turn. */
function shiftNote(
  name: string,
  shift: ReturnType<typeof shiftOf>,
  text: (value: number) => string,
): string[] {
  if (!shift) return [];
  const { before, now, ratio } = shift;
  const medians = `median ${name}: ${text(now)}, ${text(before)} before`;
  if (!ratio) return [`${medians} (asked at different times, so nothing is claimed)`];
  const [low, high] = [ratio.low.toFixed(2), ratio.high.toFixed(2)];
  const isMoved = ratio.low > 1 || ratio.high < 1;
  return [
    `${medians}; ${isMoved ? "" : "no difference was found, "}${low} to ${high} times (95 %)`,
  ];
}
