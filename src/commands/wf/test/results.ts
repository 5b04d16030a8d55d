import type { CliError } from "../../../errors.ts";
import { groupBy } from "../../../lib/collect.ts";
import { percentile } from "../../../lib/numbers.ts";
import { sha256 } from "../../../lib/sha256.ts";
import type { TestFigures } from "./comparison.ts";
import { testNameOf } from "./plan-runs.ts";
import type { SkippedTest, TestSelection } from "./plan-runs.ts";
import type { TestRun } from "./run-tests.ts";
import { passRate } from "./statistics.ts";
import type { PassRate } from "./statistics.ts";

/** One test over all its repeats, as `-o json` prints it and a baseline stores it. */
export interface TestResult extends TestFigures {
  readonly suite: string;
  /** File of the suite, as given. */
  readonly path: string;
  readonly test: string;
  readonly status: "passed" | "failed" | "error" | "not run";
  /** Runs whose answer could not be judged. */
  readonly errors: number;
  readonly rate: PassRate | null;
  readonly results: readonly TestRun[];
}

/** What a run of tests gave, or the runs of all shards. */
export interface SuiteOutcome {
  readonly tests: readonly TestResult[];
  readonly selection: TestSelection;
  readonly skipped: readonly SkippedTest[];
  /** What ended it before all tests were run. */
  readonly stopped: CliError | undefined;
}

/** The results of tests in the order in which they began; `runs` counts those that were judged. */
export function testResults(runs: readonly TestRun[]): TestResult[] {
  return [...groupBy(runs, testNameOf)].map(([name, results]) => testResult(name, results));
}

/** One test over its repeats. */
export function testResult(name: string, results: readonly TestRun[]): TestResult {
  const judged = results.filter(({ status }) => status === "passed" || status === "failed");
  const passes = judged.filter(({ status }) => status === "passed").length;
  const errors = results.filter(({ status }) => status === "error").length;
  const [first] = results;
  return {
    name,
    suite: first?.suite ?? "",
    path: first?.path ?? "",
    test: first?.test ?? "",
    status: statusOf(results),
    passes,
    runs: judged.length,
    errors,
    rate: passRate(passes, judged.length),
    seconds: medianOf(judged.map(({ seconds }) => seconds)),
    tokens: medianOf(judged.map(({ tokens }) => tokens)),
    answers: [
      ...new Set(judged.flatMap(({ answer }) => (answer === null ? [] : [digest(answer)]))),
    ],
    results,
  };
}

/** The worst status of the repeats that were run. */
const statusOf = (results: readonly TestRun[]): TestResult["status"] =>
  (["error", "failed", "passed"] as const).find((status) =>
    results.some((result) => result.status === status),
  ) ?? "not run";

const medianOf = (values: readonly (number | null)[]): number | null =>
  percentile(Float64Array.from(values.filter((value) => value !== null)).sort(), 50);

const digest = (answer: string): string => sha256(answer).slice(0, 16);

/** What kept a test from passing, over all its repeats. */
interface TestProblem {
  /** The expectation; undefined if an answer could not be judged. */
  readonly check: string | undefined;
  /** The actual state, or why the answer could not be judged. */
  readonly actual: string;
  /** In how many runs. */
  readonly times: number;
  /** Recordings of these turns, if they are kept. */
  readonly recordings: readonly string[];
}

/** Each unmet expectation once, with the actual state of the first run that did not meet it. */
export function problemsOf(runs: readonly TestRun[]): TestProblem[] {
  const problems = new Map<string | undefined, TestProblem>();
  const add = (check: string | undefined, actual: string, recording: string | undefined) => {
    const known = problems.get(check) ?? { check, actual, times: 0, recordings: [] };
    const all = recording === undefined ? [] : [recording];
    const recordings = [...new Set([...known.recordings, ...all])];
    problems.set(check, { ...known, times: known.times + 1, recordings });
  };
  for (const run of runs) {
    const { checks, error, recordings } = run;
    for (const { turn, check, passed, actual } of checks)
      if (!passed) add(check, actual, recordings[turn - 1] ?? recordings.at(-1));
    if (error !== null) add(undefined, error, recordings.at(-1));
  }
  return [...problems.values()];
}
