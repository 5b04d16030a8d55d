import { counted } from "../../../lib/plural.ts";
import { left, right } from "../../../output/report-model.ts";
import type { Cell, Report, Section, Tone } from "../../../output/report-model.ts";
import type { JUnitCase } from "../../../lib/formats/junit.ts";
import type { Shift, SuiteComparison, TestComparison } from "./comparison.ts";
import type { TestResult } from "./results.ts";

/** What is reported about a run of suites. */
export interface SuiteRun {
  readonly tests: readonly TestResult[];
  /** Names of tests that were skipped. */
  readonly skipped: number;
  readonly level: number;
  readonly baseline: { readonly file: string; readonly compared: SuiteComparison } | undefined;
}

/** The tests as a table, what failed below it, and all of it as JSON. */
export function suiteReport(run: SuiteRun): Report {
  const failures = failureSection(run);
  return {
    data: suiteData(run),
    sections: [testSection(run), ...(failures ? [failures] : [])],
  };
}

function suiteData({ tests, skipped, level, baseline }: SuiteRun) {
  return {
    wf_test: 1,
    level,
    baseline: baseline?.file ?? null,
    skipped,
    tests: tests.map((test, index) => {
      const compared = baseline?.compared.tests[index];
      return {
        ...test,
        verdict: compared?.verdict ?? null,
        p: compared?.p ?? null,
        significant: compared?.significant ?? null,
      };
    }),
    shifts: baseline
      ? { seconds: baseline.compared.seconds, tokens: baseline.compared.tokens }
      : null,
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
  noise: "dim",
  same: "dim",
  new: "dim",
};

const toned = (word: string, text = word): Cell => ({ text, tone: tones[word] ?? "dim" });

/** `broken`, or `broken (not significant)` where there are too few repeats. */
export const verdictText = ({ verdict, significant }: TestComparison): string =>
  ["broken", "fixed"].includes(verdict) && !significant ? `${verdict} (not significant)` : verdict;

function testSection({ tests, skipped, level, baseline }: SuiteRun): Section {
  const hasRepeats = tests.some(({ results }) => results.length > 1);
  const passed = tests.filter(({ status }) => status === "passed").length;
  const rows = tests.map((test, index): Cell[] => {
    const compared = baseline?.compared.tests[index];
    return [
      toned(test.status),
      test.name,
      ...(hasRepeats ? [`${test.passes}/${test.runs}`, intervalText(test)] : []),
      test.seconds === null ? null : `${test.seconds.toFixed(1)} s`,
      test.tokens,
      ...(baseline ? [compared ? toned(compared.verdict, verdictText(compared)) : null] : []),
    ];
  });
  return {
    title: `${passed} of ${counted(tests.length, "test")} passed`,
    columns: [
      left("result"),
      left("test"),
      ...(hasRepeats ? [right("passes"), { ...right("95 %"), minor: true }] : []),
      { ...right("time"), minor: true },
      { ...right("tokens"), minor: true },
      ...(baseline ? [left("verdict")] : []),
    ],
    rows,
    notes: [
      ...(skipped > 0 ? [`${counted(skipped, "test")} skipped`] : []),
      ...(baseline ? comparisonNotes(baseline.compared, level) : []),
    ],
  };
}

/** `77–97 %`: the interval that holds the true share of passes. */
function intervalText({ rate }: TestResult): string | null {
  if (!rate) return null;
  const percent = (share: number) => Math.round(share * 100);
  return `${percent(rate.low)}–${percent(rate.high)} %`;
}

function comparisonNotes({ needed, seconds, tokens }: SuiteComparison, level: number): string[] {
  return [
    ...(needed === undefined
      ? []
      : [
          `too few repeats to tell chance apart at the level of ${level}: use --repeat ${needed}, for the baseline, too`,
        ]),
    ...shiftNote("slower", "faster", seconds, level),
    ...shiftNote("more tokens", "fewer tokens", tokens, level),
  ];
}

/** `38 of 40 tests were slower (p = 0.0001)`, if that is significant. */
function shiftNote(up: string, down: string, { more, fewer, p }: Shift, level: number): string[] {
  if (p > level) return [];
  const [count, word] = more > fewer ? [more, up] : [fewer, down];
  const verb = word.endsWith("tokens") ? "used" : "were";
  return [`${count} of ${counted(more + fewer, "test")} ${verb} ${word} (p = ${p.toPrecision(2)})`];
}

/** Unmet expectations, each once a test, with the number of times. */
function failureSection({ tests }: SuiteRun): Section | undefined {
  const rows = tests.flatMap((test): Cell[][] => {
    const found = new Map<string, { readonly cells: Cell[]; count: number }>();
    for (const problem of problemsOf(test)) {
      const known = found.get(problem.check);
      if (known) known.count++;
      else found.set(problem.check, { cells: [problem.check, problem.actual], count: 1 });
    }
    return [...found.values()].map(({ cells, count }) => [
      test.name,
      ...cells,
      test.results.length > 1 ? count : null,
    ]);
  });
  if (rows.length === 0) return undefined;
  return {
    title: "Not met",
    columns: [left("test"), left("expected"), left("actual"), { ...right("times"), minor: true }],
    rows,
  };
}

const problemsOf = ({ results }: TestResult) =>
  results.flatMap(({ checks, error }) => [
    ...checks.flatMap(({ check, passed, actual }) => (passed ? [] : [{ check, actual }])),
    ...(error === null ? [] : [{ check: "an answer that can be judged", actual: error }]),
  ]);

/** One case for each test. */
export const suiteCases = (tests: readonly TestResult[]): JUnitCase[] =>
  tests.map((test) => {
    const lines = problemsOf(test).map(({ check, actual }) => `${check}: ${actual}`);
    return {
      name: test.name,
      seconds: test.seconds ?? undefined,
      failure: test.status === "passed" ? undefined : [...new Set(lines)].join("\n") || test.status,
    };
  });
