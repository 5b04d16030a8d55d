import { CliError } from "../../../errors.ts";
import type { Input } from "../../../operations/operation.ts";
import { junitSuites } from "../../../lib/formats/junit.ts";
import type { JUnitCase, JUnitSuite } from "../../../lib/formats/junit.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import type { Report } from "../../../output/report-model.ts";
import type { Context } from "../../task/command-spec.ts";
import { prepareOutputs, writeOutput } from "../../task/files.ts";
import { gateError } from "../expect/index.ts";
import type { resultParams } from "./command.ts";
import { compareSuites } from "./comparison.ts";
import type { SuiteComparison } from "./comparison.ts";
import { overBudget } from "./limits.ts";
import { problemsOf } from "./results.ts";
import type { SuiteOutcome, TestResult } from "./results.ts";
import { readSuiteBaseline } from "./saved-results.ts";
import type { SuiteBaseline } from "./saved-results.ts";
import { suiteReport } from "./suite-report.ts";
import { groupBy } from "../../../lib/collect.ts";
import { sum } from "../../../lib/numbers.ts";

type ResultInput = Input<typeof resultParams>;

const DEFAULT_LEVEL = 0.05;

/**
 * Reads the baseline and prepares the files to write, before anything is asked. The returned function
 * yields the report, writes the files, calls `onWritten`, and throws what ended the run, otherwise `partial` if a test
 * could not be judged, and otherwise `gate` if one failed; with a baseline, if one is broken, or did
 * not meet an expectation that it met before.
 */
export async function prepareConclusion(
  { baseline: path, level = DEFAULT_LEVEL, save, junit }: ResultInput,
  context: Context,
) {
  const { host } = context;
  const baseline = path === undefined ? undefined : await readSuiteBaseline(path, host);
  if (!context.options.dryRun) await prepareOutputs({ save, junit }, host);
  return async function* conclude(
    outcome: SuiteOutcome,
    onWritten?: () => Promise<void>,
  ): AsyncGenerator<Report> {
    const { tests, stopped } = outcome;
    const compared = baseline && compareSuites(tests, baseline.tests, level);
    const against = baseline && compared && { file: baseline.file, compared };
    const report = suiteReport({ ...outcome, level, baseline: against });
    yield report;
    if (save !== undefined)
      await writeOutput("--save", save, `${JSON.stringify(report.data)}\n`, host);
    if (junit !== undefined)
      await writeOutput("--junit", junit, junitSuites("wf test", junitSuitesOf(outcome)), host);
    await onWritten?.();
    const error =
      stopped?.with({ outputFirst: true }) ??
      verdictError(tests, compared, baseline) ??
      budgetError(outcome);
    if (error) throw error;
    if (context.options.format === "jsonl")
      context.summary(`${counted(tests.length, "test")} passed`);
  };
}

/** The error of suites that used too much; undefined if none did. */
function budgetError({ tests, selection }: SuiteOutcome): CliError | undefined {
  const over = overBudget(tests, selection.suites);
  return over.length > 0
    ? gateError(`over budget: ${over.join(", ")}`, { budget: over })
    : undefined;
}

/** The error of a run of tests; undefined if nothing is wrong. */
function verdictError(
  tests: readonly TestResult[],
  compared: SuiteComparison | undefined,
  baseline: SuiteBaseline | undefined,
): CliError | undefined {
  const errors = tests.filter(({ status }) => status === "error");
  if (errors.length > 0)
    return new CliError("partial", `${counted(errors.length, "test")} could not be judged`, {
      outputFirst: true,
      hint: `the reasons are in the report: ${firstNames(errors.map(({ name }) => name))}`,
    });
  const isBroken = new Set(
    compared?.tests.flatMap(({ name, verdict }) => (verdict === "broken" ? [name] : [])),
  );
  const failed = tests.filter(
    (test) => isBroken.has(test.name) || (test.passes < test.runs && !baseline?.hasFailedAs(test)),
  );
  if (failed.length === 0) return undefined;
  const names = firstNames(failed.map(({ name }) => name));
  const broken = failed.filter(({ name }) => isBroken.has(name)).length;
  const what = broken > 0 ? `, ${broken} of them broken` : "";
  return gateError(`${counted(failed.length, "test")} failed${what}: ${names}`, {
    tests: failed.map(({ name }) => name),
  });
}

/**
 * The suites with one case for each test; its time is that of all repeats. Of shards, the first one has
 * the tests that were skipped.
 */
function junitSuitesOf({ tests, skipped, selection }: SuiteOutcome): JUnitSuite[] {
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
