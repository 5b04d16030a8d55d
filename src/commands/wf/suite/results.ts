import { usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";
import { percentile } from "../../../lib/numbers.ts";
import { sha256 } from "../../../lib/sha256.ts";
import type { TestFigures } from "./comparison.ts";
import type { TestRun } from "./run-tests.ts";
import { passRate } from "./statistics.ts";
import type { PassRate } from "./statistics.ts";

/** One test over all its repeats, as `-o json` prints it and a baseline stores it. */
export interface TestResult extends TestFigures {
  readonly suite: string;
  readonly test: string;
  readonly status: "passed" | "failed" | "error" | "not run";
  /** Runs whose answer could not be judged. */
  readonly errors: number;
  readonly rate: PassRate | null;
  readonly results: readonly TestRun[];
}

/** The results of tests in the order in which they began; `runs` counts those that were judged. */
export function testResults(runs: readonly TestRun[]): TestResult[] {
  const byName = new Map<string, TestRun[]>();
  for (const run of runs) {
    const name = `${run.suite}: ${run.test}`;
    byName.set(name, [...(byName.get(name) ?? []), run]);
  }
  return [...byName].map(([name, results]) => testResult(name, results));
}

function testResult(name: string, results: readonly TestRun[]): TestResult {
  const judged = results.filter(({ status }) => status === "passed" || status === "failed");
  const passes = judged.filter(({ status }) => status === "passed").length;
  const errors = results.filter(({ status }) => status === "error").length;
  const [first] = results;
  return {
    name,
    suite: first?.suite ?? "",
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

/** The worst status of the repeats. */
const statusOf = (results: readonly TestRun[]): TestResult["status"] =>
  (["error", "failed", "not run"] as const).find((status) =>
    results.some((result) => result.status === status),
  ) ?? "passed";

const medianOf = (values: readonly (number | null)[]): number | null =>
  percentile(Float64Array.from(values.filter((value) => value !== null)).sort(), 50);

const digest = (answer: string): string => sha256(answer).slice(0, 16);

/** The tests of an earlier run. Throws `usage` for a file that is not the result of one. */
export function readBaselineTests(file: string, text: string): TestFigures[] {
  const data = tryParseJson(text);
  const tests = isObject(data) && data["wf_test"] === 1 ? data["tests"] : undefined;
  if (!Array.isArray(tests))
    throw usage(
      `${file} is not the result of a run of tests`,
      `create one with ${commandLine("wf test run", ["SUITE"], { save: "FILE" })}`,
    );
  return tests.filter(isObject).flatMap(({ name, passes, runs, answers, seconds, tokens }) => {
    if (typeof name !== "string" || typeof passes !== "number" || typeof runs !== "number")
      return [];
    return [
      {
        name,
        passes,
        runs,
        answers: Array.isArray(answers) ? answers.map(String) : [],
        seconds: typeof seconds === "number" ? seconds : null,
        tokens: typeof tokens === "number" ? tokens : null,
      },
    ];
  });
}
