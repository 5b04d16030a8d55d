import { resolve } from "node:path";
import { usage } from "../../../../errors.ts";
import { groupBy } from "../../../../lib/collect.ts";
import { counted } from "../../../../lib/text.ts";
import type { Input } from "../../../../operations/operation.ts";
import type { Context } from "../../../task/command-spec.ts";
import { readSuite } from "../../suite-file/index.ts";
import type { Suite, SuiteTest, SuiteTurn } from "../../suite-file/index.ts";
import { isJudged, questionsIn, questionsOf, readSavedResults } from "../index.ts";
import type { TestResult } from "../index.ts";
import type { testReviewParams } from "./command.ts";

/** An answer of a test that differs from the expected ones. */
export type ChangedAnswer = Exclude<ReturnType<typeof reviewedTest>, string>;

/** The answers in a file of results, compared with the suites or with earlier results. */
export type ReviewedAnswers = Awaited<ReturnType<typeof changedAnswers>>;

/** Finds the answers that have changed. Throws `usage` for a test that is not in its suite any more. */
export async function changedAnswers(
  { results, baseline, test: names = [] }: Input<typeof testReviewParams>,
  { host }: Context,
) {
  const saved = await readSavedResults("", results, host);
  const before = baseline === undefined ? undefined : await answersIn(baseline, host);
  const suites = new Map<string, Suite>();
  const tests = selected(saved.tests, names, results);
  const changed: ChangedAnswer[] = [];
  /** Numbers of tests: with the expected answer, without anything to compare with, without an answer. */
  const counts = { same: 0, unknown: 0, unanswered: 0 };
  for (const each of tests) {
    const { path } = each;
    const suite = suites.get(resolve(path)) ?? (await readSuite(path, host.files));
    suites.set(resolve(path), suite);
    const test = suite.tests.find(({ name }) => name === each.test);
    if (!test)
      throw usage(
        `${path} has no test ${JSON.stringify(each.test)}: it has changed since these results`,
        "run the tests again with --save",
      );
    const reviewed = reviewedTest(each, { suite, test }, before, names.length > 0);
    if (typeof reviewed === "string") counts[reviewed]++;
    else changed.push(reviewed);
  }
  return { changed, ...counts };
}

/** The tests with these names, which may leave out that of the suite. */
function selected(tests: readonly TestResult[], names: readonly string[], file: string) {
  const isNamed = (test: TestResult, name: string) => [test.name, test.test].includes(name);
  const unknown = names.find((name) => !tests.some((test) => isNamed(test, name)));
  if (unknown !== undefined) throw usage(`${file} has no test ${JSON.stringify(unknown)}`);
  return tests.filter((test) => names.length === 0 || names.some((name) => isNamed(test, name)));
}

/** Answers by the name of the test. */
async function answersIn(file: string, host: Context["host"]) {
  const { tests } = await readSavedResults("--baseline ", file, host);
  return new Map(tests.map((test) => [test.name, runsOf(test).map(({ answer }) => answer)]));
}

/** Compares the answers of a test with those of `before`, or else the expected ones; if it is named, even without any. */
function reviewedTest(
  saved: TestResult,
  { suite, test }: { readonly suite: Suite; readonly test: SuiteTest },
  before: ReadonlyMap<string, readonly string[]> | undefined,
  isNamed: boolean,
) {
  const { name } = saved;
  const turn = test.turns.at(-1);
  const runs = runsOf(saved);
  if (runs.length === 0 || !turn) return "unanswered" as const;
  const expected = before ? (before.get(name) ?? []) : turn.answer;
  if (expected.length === 0 && !isNamed) return "unknown" as const;
  const known = new Set(expected.map(plainEnds));
  // A part of a text or a pattern is met by many answers; without a baseline none of these is new.
  const isNew = ({ answer, isMet }: AnsweredRun) =>
    !known.has(plainEnds(answer)) && !(isMet && !before && isPartial(turn));
  const byAnswer = groupBy(runs.filter(isNew), ({ answer }) => answer);
  const [frequent] = [...byAnswer].toSorted(([, one], [, other]) => other.length - one.length);
  if (!frequent) return "same" as const;
  const [answer, same] = frequent;
  return {
    /** `suite: test`, as in reports. */
    name,
    suite,
    test,
    /** What it is compared with; empty for nothing. */
    expected,
    /** The most frequent answer that differs, how many are this one, and of how many. */
    answer,
    count: same.length,
    runs: runs.length,
    /** Conditions, beside the expected answer, that a run with this answer did not meet. */
    unmet: [...new Set(same.flatMap(({ unmet }) => unmet))],
    /** Why it cannot become the expected answer; undefined if it can. */
    obstacle: asksElse(saved, test)
      ? "its question has changed since these results"
      : obstacleOf(turn, answer),
    /** Why it should become that only if its test is named: it may be a rare one. */
    doubt: doubtOf(runs, same.length),
  };
}

/** Whether results answer another question than the suite has now; those of earlier versions do not tell. */
function asksElse({ results }: TestResult, test: SuiteTest): boolean {
  const asked = results.find((run) => isJudged(run) && run.turns.length > 0)?.turns;
  return asked !== undefined && questionsOf(asked) !== questionsIn(test);
}

/** What most runs met stays as it is, and what most runs did not say replaces nothing. */
function doubtOf(runs: readonly AnsweredRun[], count: number): string | undefined {
  const met = runs.filter(({ isMet }) => isMet).length;
  if (met * 2 > runs.length)
    return `${met} of ${counted(runs.length, "run")} met the expected answer`;
  return count * 2 > runs.length
    ? undefined
    : `only ${count} of ${counted(runs.length, "run")} gave this answer`;
}

/** White space around an answer and the kind of its line ends do not matter. */
const plainEnds = (text: string): string => text.replaceAll("\r\n", "\n").trim();

const isPartial = ({ answer, compare }: SuiteTurn): boolean =>
  answer.length > 0 && (compare === "regex" || compare === "contains");

function obstacleOf(turn: SuiteTurn, text: string): string | undefined {
  const { compare } = turn;
  if (isPartial(turn))
    return `its expected answer is ${compare === "regex" ? "a pattern" : "a part of a text"} (compare: ${compare})`;
  return text.trim() === "" ? "the answer is empty" : undefined;
}

/** A run that was judged and has an answer. */
type AnsweredRun = ReturnType<typeof runsOf>[number];

function runsOf({ results }: TestResult) {
  return results.filter(isJudged).flatMap(({ status, answer, checks }) => {
    if (answer === null) return [];
    // Whether the text is the expected one is what is reviewed.
    const isReviewed = ({ check }: { readonly check: string }) => check.startsWith("answer ");
    const failed = checks.filter(({ passed }) => !passed);
    const unmet = failed.filter((each) => !isReviewed(each)).map(({ check }) => check);
    const isCompared = checks.some(isReviewed);
    /** Whether it was the expected one, as the test compares them. */
    const isMet = isCompared ? unmet.length === failed.length : status === "passed";
    return [{ answer, unmet, isMet }];
  });
}

/** `12 answers are as expected, 3 tests have no expected answer`. */
export const restOf = ({ same, unknown, unanswered }: ReviewedAnswers): string =>
  [
    ...(same > 0 ? [`${counted(same, "test")} with the expected answer`] : []),
    ...(unknown > 0 ? [`${counted(unknown, "test")} without an expected answer`] : []),
    ...(unanswered > 0 ? [`${counted(unanswered, "test")} without an answer`] : []),
  ].join(", ");
