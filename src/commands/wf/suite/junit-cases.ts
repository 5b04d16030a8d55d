import { groupBy } from "../../../lib/collect.ts";
import type { JUnitCase, JUnitSuite } from "../../../lib/formats/junit.ts";
import { sum } from "../../../lib/numbers.ts";
import { problemsOf } from "./problems.ts";
import type { TestResult } from "./results.ts";

/** The suites with one case for each test; its time is that of all repeats. */
export function junitSuitesOf(tests: readonly TestResult[]): JUnitSuite[] {
  const suites = groupBy(tests, ({ suite }) => suite);
  return [...suites].map(([name, ofSuite]) => ({ name, cases: ofSuite.map(junitCase) }));
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
