import { sum } from "../../../lib/numbers.ts";
import { counted } from "../../../lib/text.ts";
import { left, literal, noTable, right } from "../../../output/report-model.ts";
import type { Cell, Heading, Report, Section, Tone } from "../../../output/report-model.ts";
import { comparisonNotes, neededFor } from "./comparison.ts";
import type { SuiteComparison, TestComparison, Verdict } from "./comparison.ts";
import { problemsOf } from "./results.ts";
import type { SuiteOutcome, TestResult } from "./results.ts";
import { overBudget } from "./run-tests.ts";
import type { DatedResults } from "./saved-results.ts";
import { intervalText } from "../../../lib/statistics/pass-rates.ts";
import type { Passes } from "../../../lib/statistics/pass-rates.ts";

/** What is reported about a run of suites. */
export interface SuiteRun extends SuiteOutcome {
  readonly level: number;
  /** What is said about tests in quarantine. */
  readonly notes: readonly string[];
  readonly baseline: { readonly file: string; readonly compared: SuiteComparison } | undefined;
  /** What is known of the calibrations of judges. */
  readonly judges: readonly string[];
  /** Earlier results of --history, in the order of time. */
  readonly history: readonly DatedResults[];
  /** When the tests ended. */
  readonly at: Date;
}

/** The tests as a table, what failed below it, and all of it as JSON. */
export function suiteReport(run: SuiteRun): Report {
  const failures = failureSection(run.tests);
  return {
    data: suiteData(run),
    title: "Test report",
    sections: [testSection(run), ...(failures ? [failures] : [])],
    ending: [noTable, endingSection(run)],
    brief: briefSections(run),
  };
}

function suiteData(run: SuiteRun) {
  const { selection, skipped, stopped, level, baseline, old, judges } = run;
  const { tests: _, ...compared } = baseline?.compared ?? { tests: [] };
  return {
    wf_test: 1,
    ...selection,
    level,
    baseline: baseline?.file ?? null,
    skipped: skipped.length,
    skipped_tests: skipped,
    stopped: stopped ? { code: stopped.kind, message: stopped.message } : null,
    tests: rowsOf(run).map(({ test, compared: each }) => ({
      ...test,
      verdict: each?.verdict ?? null,
      p: each?.p ?? null,
      before: each?.before ?? null,
      renamed: each?.renamed ?? null,
    })),
    old: old ?? null,
    comparison: baseline
      ? { ...compared, needed: neededFor(baseline.compared, level) ?? null }
      : null,
    judges,
  };
}

const tones: Readonly<Record<string, Tone>> = {
  passed: "good",
  failed: "bad",
  error: "bad",
  "not run": "dim",
  broken: "bad",
  fixed: "good",
  changed: "warn",
  undecided: "warn",
  "passed again": "warn",
  failing: "dim",
  passes: "dim",
  new: "dim",
};

const toned = (word: string, text = word): Cell => ({ text, tone: tones[word] ?? "dim" });

/** A verdict in words. */
export const verdictText = (verdict: Verdict): string =>
  ({ undecided: "inconclusive", failing: "fails as before" })[String(verdict)] ?? verdict;

/** A column of the table of tests, and whether these tests have it. */
export type TestColumn = ReturnType<typeof column>;

const column = (heading: Heading, isShown: boolean, cell: (row: TestRow) => Cell) => ({
  heading,
  isShown,
  cell,
});

const minor = (heading: Heading): Heading => ({ ...heading, minor: true });

/** The columns that tell about tests, in order. */
export function testColumns({ tests, baseline }: SuiteRun): TestColumn[] {
  const hasRepeats = tests.some(({ results }) => results.length > 1);
  const hasScores = tests.some(({ score }) => score !== null);
  const compares = baseline !== undefined;
  const hasFresh = compares && tests.some(({ fresh }) => fresh);
  const verdictCell = (verdict: Verdict) => toned(verdict, verdictText(verdict));
  return [
    column(left("result"), true, ({ test }) => toned(test.status)),
    column(literal("test"), true, ({ test }) => test.name),
    column(right("passes"), hasRepeats, ({ test }) => `${test.passes}/${test.runs}`),
    column(minor(right("95 %")), hasRepeats, ({ test }) => test.rate && intervalText(test.rate)),
    column(right("score"), hasScores, ({ test }) => test.score?.toFixed(2) ?? null),
    column(minor(right("time")), true, ({ test: { seconds } }) =>
      seconds === null ? null : `${seconds.toFixed(1)} s`,
    ),
    column(minor(right("tokens")), true, ({ test }) => test.tokens),
    column(right("before"), compares, ({ compared }) => shareText(compared?.before)),
    column(right("again"), hasFresh, ({ test }) => shareText(test.fresh)),
    column(left("verdict"), compares, ({ compared }) =>
      compared ? verdictCell(compared.verdict) : null,
    ),
  ];
}

/** All tests, or those that are picked. */
export function testSection(run: SuiteRun, pick: (row: TestRow) => boolean = () => true): Section {
  const rows = rowsOf(run).filter(pick);
  return {
    title: passedText(run.tests),
    ...testTable(testColumns(run), rows),
    notes: notesOf(run),
  };
}

/** The table of the columns that are shown. */
export function testTable(columns: readonly TestColumn[], rows: readonly TestRow[]) {
  const shown = columns.filter(({ isShown }) => isShown);
  return {
    columns: shown.map(({ heading }) => heading),
    rows: rows.map((row) => shown.map(({ cell }) => cell(row))),
  };
}

/** `3/5` */
const shareText = (passes: Passes | null | undefined): string | null =>
  passes ? `${passes.passes}/${passes.runs}` : null;

/** A test and how it compares with its baseline. */
export interface TestRow {
  readonly test: TestResult;
  readonly compared: TestComparison | undefined;
}

/** The tests of a run in order. */
export function rowsOf({ tests, baseline }: SuiteRun): TestRow[] {
  const byName = new Map(baseline?.compared.tests.map((each) => [each.name, each]));
  return tests.map((test) => ({ test, compared: byName.get(test.name) }));
}

/** `37 of 40 tests passed` */
export const passedText = (tests: readonly TestResult[]): string => {
  const passed = tests.filter(({ status }) => status === "passed").length;
  return `${passed} of ${counted(tests.length, "test")} passed`;
};

/** What is said about a run as a whole. */
export function notesOf(run: SuiteRun): string[] {
  const { tests, selection, skipped, stopped, baseline, level, judges, notes } = run;
  const notRun = tests.filter(({ status }) => status === "not run").length;
  return [
    ...(stopped ? [`ended early: ${stopped.message}`] : []),
    ...(notRun > 0 ? [`${counted(notRun, "test")} not run`] : []),
    ...(skipped.length > 0 ? [`${counted(skipped.length, "test")} skipped`] : []),
    ...notes,
    ...judgeNote(tests),
    ...judges,
    ...overBudget(tests, selection).map((text) => `over budget: ${text}`),
    ...(baseline ? comparisonNotes(baseline.compared, level) : []),
  ];
}

/** The cost of judges, if they use models. */
function judgeNote(tests: readonly TestResult[]): string[] {
  const results = tests.flatMap((test) => test.results);
  const tokens = sum(results.map(({ judge_tokens }) => judge_tokens ?? 0));
  return tokens > 0 ? [`judges used ${counted(tokens, "token")}`] : [];
}

export const notable: ReadonlySet<string> = new Set([
  "broken",
  "undecided",
  "passed again",
  "fixed",
  "changed",
]);

/** The end of the view in which a terminal has shown the tests: what only the baseline tells. */
function endingSection(run: SuiteRun): Section {
  const isNotable = ({ compared }: TestRow) => notable.has(compared?.verdict ?? "");
  return withRows(testSection(run, isNotable));
}

/** A section without a table if that would have no rows. */
const withRows = ({ title = "", notes = [], ...table }: Section): Section => ({
  ...(table.rows.length > 0 ? table : noTable),
  title,
  notes,
});

/** Passed tests above which a comment folds them. */
const MAX_PASSED = 30;

/** What is wrong, then what is not: short enough for a comment on a pull request. */
function briefSections(run: SuiteRun): Section[] {
  const isWrong = ({ test, compared }: TestRow) =>
    test.status !== "passed" || notable.has(compared?.verdict ?? "");
  const wrong = testSection(run, isWrong);
  const others = testSection(run, (row) => !isWrong(row));
  const failures = failureSection(run.tests);
  const count = others.rows.length;
  const hasPassed = failures === undefined && wrong.rows.length === 0;
  const passed = { ...others, folded: count > MAX_PASSED };
  // One heading is enough for tests that have all passed.
  if (hasPassed && count > 0) return [passed];
  return [
    withRows(wrong),
    ...(failures ? [failures] : []),
    ...(count > 0 ? [{ ...passed, title: `${counted(count, "test")} passed`, notes: [] }] : []),
  ];
}

/** Unmet expectations, each once a test, with the number of times and the first recording. */
export function failureSection(tests: readonly TestResult[]): Section | undefined {
  const hasRepeats = tests.some(({ results }) => results.length > 1);
  const hasFiles = tests.some(({ results }) => results.some((run) => run.recordings.length > 0));
  const rows = tests.flatMap(({ name, results }) =>
    problemsOf(results).map(({ check, actual, times, recordings }): Cell[] => [
      name,
      check ?? "an answer that can be judged",
      actual,
      hasRepeats ? times : null,
      ...(hasFiles ? [recordings[0] ?? null] : []),
    ]),
  );
  if (rows.length === 0) return undefined;
  return {
    title: "Failed expectations",
    columns: [
      literal("test"),
      literal("expected"),
      literal("actual"),
      { ...right("times"), minor: true },
      ...(hasFiles ? [literal("recording")] : []),
    ],
    rows,
  };
}
