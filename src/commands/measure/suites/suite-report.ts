import { sum } from "../../../lib/numbers.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import { left, literal, noTable, right } from "../../../output/report-model.ts";
import type { Cell, Heading, Report, Section, Tone } from "../../../output/report-model.ts";
import type { SuiteComparison, TestComparison } from "./comparison.ts";
import { overBudget, problemsOf } from "./runs/index.ts";
import type { TestResult } from "./runs/index.ts";
import type { SuiteRun } from "./suite-run.ts";
import { intervalText, totalRate } from "../../../lib/statistics/pass-rates.ts";
import type { Passes } from "../../../lib/statistics/pass-rates.ts";
import { version } from "../../../lib/version.ts";
import { comparisonNotes, headlineOf, totalText, verdictLines } from "./verdict-text.ts";

/** The tests as a table, what failed below it, and all of it as JSON. */
export function suiteReport(run: SuiteRun): Report {
  const failures = failureSection(run.tests);
  const below = failures ? [failures] : [];
  const short = screenOf(run);
  return {
    data: suiteData(run),
    title: "Test report",
    sections: [testSection(run), ...below],
    ...(run.compared ? { screen: [short, ...below] } : {}),
    ending: [noTable, short],
    brief: briefSections(run),
  };
}

function suiteData(run: SuiteRun) {
  const { selection, skipped, stopped, level, baseline, old, judges, compared } = run;
  return {
    wf_test: 1,
    at: run.at.toISOString(),
    program: version,
    server_version: run.serverVersion ?? null,
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
      limit: each?.limit ?? null,
      e: each?.e ?? null,
      before: each?.before ?? null,
      renamed: each?.renamed ?? null,
    })),
    old: old ?? null,
    rate: totalRate(run.tests),
    comparison: compared ? comparisonData(run, compared) : null,
    judges,
  };
}

function comparisonData({ baseline, isAlarm }: SuiteRun, compared: SuiteComparison) {
  const { tests: _, gate, suite, ...others } = compared;
  return {
    ...suite,
    ...others,
    alarm: isAlarm,
    /** Tests that were asked again, with the fresh runs of each. */
    asked_again: compared.tests.flatMap(({ name, fresh }) =>
      fresh && fresh.runs > 0 ? [{ name, runs: fresh.runs }] : [],
    ),
    cached: gate?.cached ?? null,
    history: gate ? { used: gate.history, refused: gate.refused } : null,
    baseline: baseline
      ? {
          sha256: baseline.sha256,
          at: baseline.at?.toISOString() ?? null,
          looks: baseline.looks ?? null,
        }
      : null,
  };
}

const tones: Readonly<Record<string, Tone>> = {
  passed: "good",
  failed: "bad",
  error: "bad",
  "not run": "dim",
  broken: "bad",
  fails: "bad",
  fixed: "good",
  inconclusive: "warn",
  "passed again": "warn",
  varies: "warn",
  "not judged": "bad",
};

const toned = (text: string): Cell => ({ text, tone: tones[text] ?? "dim" });

/** A column of the table of tests, and whether these tests have it. */
export type TestColumn = ReturnType<typeof column>;

const column = (heading: Heading, isShown: boolean, cell: (row: TestRow) => Cell) => ({
  heading,
  isShown,
  cell,
});

const minor = (heading: Heading): Heading => ({ ...heading, minor: true });

/** The columns that tell about tests, in order. */
export function testColumns({ tests, compared: comparison }: SuiteRun): TestColumn[] {
  const hasRepeats = tests.some(({ results }) => results.length > 1);
  const hasScores = tests.some(({ score }) => score !== null);
  const compares = comparison !== undefined;
  const hasFresh = compares && tests.some(({ fresh }) => fresh);
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
      compared ? toned(compared.verdict) : null,
    ),
  ];
}

/** All tests, or those that are picked. */
export function testSection(run: SuiteRun, pick: (row: TestRow) => boolean = () => true): Section {
  const rows = rowsOf(run).filter(pick);
  return {
    title: headingOf(run),
    ...testTable(testColumns(run), rows),
    notes: notesOf(run),
  };
}

/** `1 broken, 1 not judged; 37 of 40 tests passed` */
export function headingOf({ tests, compared }: SuiteRun): string {
  const headline = compared ? headlineOf(compared) : "";
  return [...(headline === "" ? [] : [headline]), passedText(tests)].join("; ");
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
export function rowsOf({ tests, compared }: SuiteRun): TestRow[] {
  const byName = new Map(compared?.tests.map((each) => [each.name, each]));
  return tests.map((test) => ({ test, compared: byName.get(test.name) }));
}

/** `37 of 40 tests passed` */
export const passedText = (tests: readonly TestResult[]): string => {
  const passed = tests.filter(({ status }) => status === "passed").length;
  return `${passed} of ${counted(tests.length, "test")} passed`;
};

/** What is said about a run as a whole: first what must be read, then what it rests on. */
export function notesOf(run: SuiteRun): string[] {
  const { tests, judges, compared } = run;
  return [
    ...urgentNotes(run),
    ...totalText(tests),
    ...wordingNote(tests),
    ...judgeNote(tests),
    ...judges,
    ...(compared ? comparisonNotes(run, compared) : []),
  ];
}

function urgentNotes({ tests, selection, skipped, stopped, compared, notes }: SuiteRun): string[] {
  const notRun = tests.filter(({ status }) => status === "not run").length;
  return [
    ...(compared ? verdictLines(compared) : []),
    ...(stopped ? [`ended early: ${stopped.message}`] : []),
    ...(notRun > 0 ? [`${counted(notRun, "test")} not run`] : []),
    ...(skipped.length > 0 ? [`${counted(skipped.length, "test")} skipped`] : []),
    ...notes,
    ...overBudget(tests, selection).map((text) => `over budget: ${text}`),
  ];
}

/** Tests whose verdict is about words. */
function wordingNote(tests: readonly TestResult[]): string[] {
  const names = tests.filter(({ wording }) => wording).map(({ name }) => name);
  if (names.length === 0) return [];
  return [
    `${counted(names.length, "test")} of ${tests.length} compare${names.length === 1 ? "s" : ""} the wording of answers (similar): a judge or conditions would compare what they mean: ${firstNames(names)}`,
  ];
}

/** The cost of judges, if they use models. */
function judgeNote(tests: readonly TestResult[]): string[] {
  const results = tests.flatMap((test) => test.results);
  const tokens = sum(results.map(({ judge_tokens }) => judge_tokens ?? 0));
  return tokens > 0 ? [`judges used ${counted(tokens, "token")}`] : [];
}

/** Verdicts that a reader looks at first. */
export const notable: ReadonlySet<string> = new Set([
  "broken",
  "fails",
  "inconclusive",
  "passed again",
  "fixed",
  "not judged",
]);

/** What a terminal shows of a comparison: what must be read, and where the rest is. */
function screenOf(run: SuiteRun): Section {
  const rest = run.compared
    ? ["all tests and what this rests on: -o wide, -o html, -o json"]
    : notesOf(run);
  return {
    ...noTable,
    title: headingOf(run),
    notes: [...(run.compared ? urgentNotes(run) : []), ...rest],
  };
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
