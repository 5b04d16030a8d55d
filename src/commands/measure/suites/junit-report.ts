import { groupBy } from "../../../lib/collect.ts";
import type { JUnitCase, JUnitSuite } from "../../../lib/formats/junit.ts";
import { sum } from "../../../lib/numbers.ts";
import type { SuiteComparison, TestComparison } from "./comparison.ts";
import { isRedSuite, isRedTest } from "./gate/index.ts";
import type { ExitFlags } from "./gate/index.ts";
import { overBudget, problemsOf } from "./runs/index.ts";
import type { SuiteOutcome, TestResult } from "./runs/index.ts";
import { suiteText, testText } from "./verdict-text.ts";

/** What is reported, with the tests that do not decide. */
interface Reported extends SuiteOutcome {
  readonly excused: ReadonlySet<string>;
  readonly compared: SuiteComparison | undefined;
}

/** What is wrong with a test that only the baseline has. */
export const REMOVED = "removed since the baseline (--allow-removed)";

/**
 * The suites with one case for each test; its time is that of all repeats. Failures are those of the exit code: what a
 * comparison lets pass is skipped, as are tests in quarantine, and what is wrong beside the tests has cases of its own.
 * Of shards, the first one has the tests that were skipped.
 */
export function junitSuitesOf(
  { tests, skipped, selection, excused, compared }: Reported,
  { strict, allowRemoved }: ExitFlags,
): JUnitSuite[] {
  const left = (selection.shard?.index ?? 1) === 1 ? skipped : [];
  const verdicts = new Map(compared?.tests.map((test) => [test.name, test]));
  const cases = [
    ...tests.map((test) => {
      if (excused.has(test.name)) return { suite: test.suite, name: test.test, skipped: true };
      const own = verdicts.get(test.name);
      return { suite: test.suite, ...(own ? comparedCase(test, own, strict) : junitCase(test)) };
    }),
    ...left.map((each) => ({ suite: each.suite, name: each.test, skipped: true })),
    ...(compared ? [suiteCase(compared, strict)] : []),
    ...(allowRemoved ? [] : (compared?.removed ?? [])).map((name) => ({
      suite: "comparison",
      name,
      failure: REMOVED,
    })),
    ...overBudget(tests, selection).map((failure) => ({
      suite: "budget",
      name: "budget",
      failure,
    })),
  ];
  return [...groupBy(cases, (each) => each.suite)].map(([name, all]) => ({ name, cases: all }));
}

function suiteCase(compared: SuiteComparison, strict: boolean) {
  const own = { suite: "comparison", name: "the suite as a whole" };
  if (isRedSuite(compared.suite, strict)) return { ...own, failure: suiteText(compared) };
  return compared.suite.verdict === "no decline" ? own : { ...own, skipped: suiteText(compared) };
}

const caseOf = ({ test, results }: TestResult) => ({
  name: test,
  seconds: sum(results.map(({ seconds }) => seconds ?? 0)),
});

/** A test that is compared: a verdict that is not red lets it pass, or is named. */
function comparedCase(test: TestResult, verdict: TestComparison, strict: boolean): JUnitCase {
  const own = caseOf(test);
  const text = [testText(verdict), problemText(test)].join("\n").trim();
  if (verdict.verdict === "not judged")
    return test.status === "not run" ? { ...own, skipped: true } : { ...own, error: text };
  if (isRedTest(verdict, strict)) return { ...own, failure: text };
  return test.status === "passed" ? own : { ...own, skipped: text };
}

function junitCase(test: TestResult): JUnitCase {
  const { status } = test;
  const [own, problem] = [caseOf(test), problemText(test) || status];
  if (status === "error") return { ...own, error: problem };
  if (status === "failed") return { ...own, failure: problem };
  return status === "passed" ? own : { ...own, skipped: true };
}

/** The unmet expectations of a test, a line each with the actual state, and the recordings. */
const problemText = ({ results }: TestResult): string =>
  problemsOf(results)
    .map(({ check, actual, recordings }) => {
      const problem = check === undefined ? actual : `${check}: ${actual}`;
      return [problem, ...recordings.map((file) => `recording: ${file}`)].join("\n");
    })
    .join("\n");
