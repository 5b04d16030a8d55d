import { CliError, usage } from "../../../errors.ts";
import { collect } from "../../../lib/collect.ts";
import { junitText } from "../../../lib/formats/junit.ts";
import { counted, firstNames } from "../../../lib/plural.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Report } from "../../../output/report-model.ts";
import type { Context } from "../../command-spec.ts";
import { prepareOutputs, writeOutput } from "../../output-path.ts";
import { gateError } from "../expect/index.ts";
import type { testRunParams } from "../specs.ts";
import { compareSuites } from "./comparison.ts";
import type { SuiteComparison } from "./comparison.ts";
import { readSuite } from "./read-suite.ts";
import { readBaselineTests, testResults } from "./results.ts";
import type { TestResult } from "./results.ts";
import { runTests, selectedTests } from "./run-tests.ts";
import { suiteCases, suiteReport } from "./suite-report.ts";

type TestRunInput = Input<typeof testRunParams>;

const DEFAULT_LEVEL = 0.05;

/**
 * Runs suites of tests and compares them with a baseline. Throws `partial` if a test could not be
 * judged, and otherwise `gate` if one failed; with a baseline, if one is broken, or failed that never
 * failed before.
 */
export async function* run(input: TestRunInput, context: Context): AsyncGenerator<Report> {
  const { files } = context.host;
  const baseline = await baselineOf(input, context);
  const { save, junit } = input;
  await prepareOutputs({ save, junit }, context.host);
  const tags = input.only ?? [];
  const suites = [];
  let skipped = 0;
  for (const path of input.suites) {
    const suite = await readSuite(path, files);
    const tests = selectedTests(suite, tags);
    skipped += suite.tests.length - tests.length;
    suites.push({ ...suite, tests });
  }
  if (suites.every(({ tests }) => tests.length === 0)) throw usage("no test is selected");
  const { repeat = 1, concurrency } = input;
  const options = { repeat, concurrency, failFast: input.fail_fast === true };
  const identity = {
    values: [input.suites, tags, repeat],
    content: Buffer.from(suites.map(({ text }) => text).join("")),
  };
  const tests = testResults(await collect(runTests(suites, options, identity, context)));
  const level = input.level ?? DEFAULT_LEVEL;
  const compared = baseline && {
    file: baseline.file,
    compared: compareSuites(tests, baseline.tests, level),
  };
  const report = suiteReport({ tests, skipped, level, baseline: compared });
  yield report;
  if (save !== undefined)
    await writeOutput("--save", save, `${JSON.stringify(report.data)}\n`, context.host);
  if (junit !== undefined)
    await writeOutput("--junit", junit, junitText("wf test", suiteCases(tests)), context.host);
  const error = verdictError(tests, compared?.compared, failedBefore(baseline?.tests ?? []));
  if (error) throw error;
}

async function baselineOf({ baseline }: TestRunInput, { host }: Context) {
  if (baseline === undefined) return undefined;
  const stat = await host.files.stat(baseline);
  if (stat === null) throw usage(`--baseline ${baseline}: file not found`);
  const text = new TextDecoder().decode(await host.files.read(baseline));
  return { file: baseline, tests: readBaselineTests(baseline, text) };
}

/** Names of the tests that failed at least once. */
const failedBefore = (
  tests: readonly { readonly name: string; readonly passes: number; readonly runs: number }[],
): ReadonlySet<string> =>
  new Set(tests.filter(({ passes, runs }) => passes < runs).map(({ name }) => name));

/** The error of a run of tests; undefined if nothing is wrong. */
function verdictError(
  tests: readonly TestResult[],
  compared: SuiteComparison | undefined,
  known: ReadonlySet<string>,
): CliError | undefined {
  const errors = tests.filter(({ status }) => status === "error");
  if (errors.length > 0)
    return new CliError("partial", `${counted(errors.length, "test")} could not be judged`, {
      outputFirst: true,
      hint: `the reasons are in the table: ${firstNames(errors.map(({ name }) => name))}`,
    });
  const isBroken = new Set(
    compared?.tests.flatMap(({ name, verdict }) => (verdict === "broken" ? [name] : [])),
  );
  const failed = tests.filter(
    ({ name, passes, runs }) => isBroken.has(name) || (passes < runs && !known.has(name)),
  );
  if (failed.length === 0) return undefined;
  const names = firstNames(failed.map(({ name }) => name));
  const broken = failed.filter(({ name }) => isBroken.has(name)).length;
  const what = broken > 0 ? `, ${broken} of them broken` : "";
  return gateError(`${counted(failed.length, "test")} failed${what}: ${names}`, {
    tests: failed.map(({ name }) => name),
  });
}
