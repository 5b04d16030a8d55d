import { formatSeconds, groupDigits, sum } from "../../../lib/numbers.ts";
import { percentile } from "../../../lib/statistics/averages.ts";
import { totalPasses } from "../../../lib/statistics/pass-rates.ts";
import { counted } from "../../../lib/text.ts";
import { openWordDiff } from "../../../lib/word-diff.ts";
import type { WordDiff } from "../../../lib/word-diff.ts";
import { left, literal, right } from "../../../output/report-model.ts";
import type {
  Cell,
  Plot,
  ReportPage,
  RowMarks,
  Section,
  Tile,
} from "../../../output/report-model.ts";
import type { TestRun } from "./answers/index.ts";
import { namesOf } from "./comparison.ts";
import type { Verdict } from "./comparison.ts";
import { observations, testHistories } from "./flaky.ts";
import type { TestHistory } from "./flaky.ts";
import type { TestResult } from "./runs/index.ts";
import { notable, notesOf, rowsOf, testColumns, testTable, headingOf } from "./suite-report.ts";
import type { TestRow } from "./suite-report.ts";
import type { SuiteRun } from "./suite-run.ts";
import { testDetails } from "./test-details.ts";

/** The page of a run of suites: its figures, the course of its history, and the tests, those that failed first. */
export async function suitePage(run: SuiteRun): Promise<ReportPage> {
  const runs = run.tests.flatMap(({ results }) => results);
  const histories = historiesOf(run);
  return {
    facts: factsOf(run, runs),
    tiles: [...testTiles(run), ...runTiles(runs)],
    plots: historyPlots(run),
    sections: [testsSection(run, histories, await openWordDiff())],
  };
}

const listOf = (names: readonly (string | null)[]): string | null =>
  [...new Set(names)].filter((name) => name !== null).join(", ") || null;

function factsOf({ selection, tests, baseline }: SuiteRun, runs: readonly TestRun[]) {
  const { server, repeat, suites } = selection;
  return {
    application: listOf(runs.map(({ app }) => app)),
    server: server === "" ? null : server,
    [suites.length === 1 ? "suite" : "suites"]: listOf(tests.map(({ suite }) => suite)),
    file: listOf(tests.map(({ path }) => path)),
    repeats: repeat > 1 ? String(repeat) : null,
    "compared with": baseline?.file ?? null,
  };
}

/** How the tests ended, and what a comparison says about them. */
function testTiles({ tests, skipped, compared }: SuiteRun): Tile[] {
  const count = (wanted: TestResult["status"]) =>
    tests.filter(({ status }) => status === wanted).length;
  const verdicts = (...wanted: readonly Verdict[]) =>
    compared ? namesOf(compared, ...wanted).length : 0;
  const tile = (label: string, number: number, tone: Tile["tone"]): Tile[] =>
    number > 0 ? [{ label, value: groupDigits(number), tone }] : [];
  const passed = count("passed");
  return [
    {
      label: "passed",
      value: groupDigits(passed),
      tone: passed === tests.length ? "good" : undefined,
      note: `of ${counted(tests.length, "test")}`,
    },
    ...tile("failed", count("failed"), "bad"),
    ...tile("could not be judged", count("error"), "bad"),
    ...tile("not run", count("not run"), "warn"),
    ...tile("skipped", skipped.length, "dim"),
    ...tile("broken since the baseline", verdicts("broken", "fails"), "bad"),
    ...tile("inconclusive", verdicts("inconclusive"), "warn"),
  ];
}

/** What all runs of the tests took together. */
function runTiles(runs: readonly TestRun[]): Tile[] {
  const asked = runs.filter(({ status }) => status !== "not run");
  const known = (figure: "seconds" | "tokens" | "judge_tokens") =>
    asked.flatMap((each) => each[figure] ?? []);
  const tile = (
    label: string,
    values: readonly number[],
    shown: typeof groupDigits,
    more: string[],
  ) => {
    const unknown = `of ${values.length} of ${counted(asked.length, "run")}`;
    const notes = [...(values.length === asked.length ? [] : [unknown]), ...more];
    return values.length === 0
      ? []
      : [{ label, value: shown(sum(values)), note: notes.join(", ") || undefined }];
  };
  const [seconds, judges] = [known("seconds"), sum(known("judge_tokens"))];
  const p95 = percentile(Float64Array.from(seconds).sort(), 95) ?? 0;
  const ofJudges = judges > 0 ? [`judges ${groupDigits(judges)}`] : [];
  return [
    { label: "runs", value: groupDigits(asked.length) },
    ...tile("time of all runs", seconds, formatSeconds, [`p95 ${formatSeconds(p95)}`]),
    ...tile("tokens of all runs", known("tokens"), groupDigits, ofJudges),
  ];
}

/** What the history, with this run, says about each test; nothing without earlier results. */
function historiesOf(run: SuiteRun): ReadonlyMap<string, TestHistory> {
  if (run.history.length === 0) return new Map();
  const found = [...run.history, run].flatMap(observations);
  return new Map(testHistories(found).map((each) => [each.name, each]));
}

/** The share of passed runs over earlier results of the same server and applications, and this one. */
function historyPlots(run: SuiteRun): Plot[] {
  const names = new Set(run.tests.map(({ name }) => name));
  const appsOf = (tests: readonly TestResult[]) =>
    listOf(tests.flatMap(({ results }) => results.map(({ app }) => app)).toSorted());
  const apps = appsOf(run.tests);
  const points = [...run.history, run]
    .filter(({ selection }) => selection.server === run.selection.server)
    .map(({ at, tests }) => ({ at, tests: tests.filter(({ name }) => names.has(name)) }))
    .filter(({ tests }) => appsOf(tests) === apps)
    .map(({ at, tests }) => ({ at, ...totalPasses(tests) }))
    .filter(({ runs }) => runs > 0);
  if (points.length < 2) return [];
  const values = points.map(({ passes, runs }) => passes / runs);
  return [
    {
      title: "Passed runs over time",
      kind: "lines",
      points: points.map(({ at }) => at),
      series: [{ label: "of these tests", values }],
      format: percent,
      max: 1,
    },
  ];
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

function testsSection(
  run: SuiteRun,
  histories: ReadonlyMap<string, TestHistory>,
  diff: WordDiff,
): Section {
  const several = new Set(run.tests.map(({ suite }) => suite)).size > 1;
  const rows = rowsOf(run).toSorted((one, other) => concern(one) - concern(other));
  const hasRepeats = run.tests.some(({ results }) => results.length > 1);
  const columns = testColumns(run).flatMap((column) => {
    if (column.heading.label === "test")
      return [
        { ...column, cell: ({ test }: TestRow) => test.test },
        { heading: literal("suite"), isShown: several, cell: ({ test }: TestRow) => test.suite },
      ];
    if (column.heading.label === "95 %")
      return [
        { ...column, heading: right("95 % interval") },
        {
          heading: { label: "", ticks: ["0 %", "50 %", "100 %"] },
          isShown: hasRepeats,
          cell: ({ test }: TestRow): Cell =>
            test.rate && {
              chart: "span",
              from: test.rate.low,
              to: test.rate.high,
              tone: test.status === "passed" ? "good" : "bad",
            },
        },
      ];
    return [column];
  });
  const history = {
    heading: left("history"),
    isShown: histories.size > 0,
    cell: ({ test }: TestRow): Cell => historyCell(histories.get(test.name)),
  };
  const isFlaky = ({ name }: TestResult) => histories.get(name)?.verdict === "flaky";
  return {
    title: headingOf(run),
    ...testTable([...columns, history], rows),
    notes: [
      ...notesOf(run),
      ...(hasRepeats
        ? [
            "95 % interval: in 95 of 100 cases it contains the share of passes that unlimited repeats would have (score interval by Wilson)",
          ]
        : []),
      ...(histories.size > 0
        ? ["history: the last results, P passed, F failed; the newest one is the last"]
        : []),
    ],
    details: (index) => testDetails(rows[index]?.test, diff),
    marks: (index) => marksOf(rows[index], { several, isFlaky }),
  };
}

const historyCell = (history: TestHistory | undefined): Cell =>
  history === undefined
    ? null
    : {
        text: history.verdict === "flaky" ? `${history.last} flaky` : history.last,
        tone: history.verdict === "flaky" ? "warn" : "dim",
      };

/** What failed is first, then what a comparison or a doubt points at. */
function concern({ test, compared }: TestRow): number {
  if (test.status === "failed" || test.status === "error") return 0;
  if (notable.has(compared?.verdict ?? "")) return 1;
  return test.status === "not run" ? 2 : 3;
}

function marksOf(
  row: TestRow | undefined,
  { several, isFlaky }: { readonly several: boolean; isFlaky(test: TestResult): boolean },
): RowMarks {
  if (!row) return {};
  const { test, compared } = row;
  const isChanged = notable.has(compared?.verdict ?? "");
  return {
    state: [
      ...(test.status === "passed" ? [] : [test.status === "error" ? "not judged" : test.status]),
      ...(isChanged ? ["changed"] : []),
      ...(isFlaky(test) ? ["flaky"] : []),
    ],
    ...(several && { suite: [test.suite] }),
    tag: [...new Set(test.results.flatMap(({ tags }) => tags))],
  };
}
