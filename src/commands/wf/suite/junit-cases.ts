import { groupBy } from "../../../lib/collect.ts";
import type { JUnitCase, JUnitSuite } from "../../../lib/formats/junit.ts";
import { sum } from "../../../lib/numbers.ts";
import { problemsOf } from "./problems.ts";
import type { SuiteOutcome, TestResult } from "./results.ts";

/**
 * The suites with one case for each test; its time is that of all repeats. Of shards, the first one has
 * the tests that were skipped.
 */
export function junitSuitesOf({ tests, skipped, selection }: SuiteOutcome): JUnitSuite[] {
  const left = (selection.shard?.index ?? 1) === 1 ? skipped : [];
  const cases = [
    ...tests.map((test) => ({ suite: test.suite, ...junitCase(test) })),
    ...left.map(({ suite, test }) => ({ suite, name: test, skipped: true })),
  ];
  return [...groupBy(cases, ({ suite }) => suite)].map(([name, all]) => ({ name, cases: all }));
}

function junitCase({ test, status, results }: TestResult): JUnitCase {
  const seconds = sum(results.map(({ seconds: each }) => each ?? 0));
  const problems = problemsOf(results).map(({ check, actual, recordings }) => {
    const problem = check === undefined ? actual : `${check}: ${actual}`;
    return [problem, ...recordings.map((file) => `recording: ${file}`)].join("\n");
  });
  const text = problems.join("\n") || status;
  return {
    name: test,
    seconds,
    ...(status === "failed" && { failure: text }),
    ...(status === "error" && { error: text }),
    ...(status === "not run" && { skipped: true }),
  };
}
