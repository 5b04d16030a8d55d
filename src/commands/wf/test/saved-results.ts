import { CliError, diskProblem, usage } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";
import { testResult } from "./results.ts";
import type { TestResult } from "./results.ts";
import type { TestRun } from "./run-tests.ts";

/** The content of a file that --save has written. */
export interface SavedResults {
  readonly file: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly tests: readonly TestResult[];
}

/** Reads a file of --save. Throws `usage` for one that cannot be read, or is not the result of a run of tests. */
export async function readSavedResults(
  label: string,
  file: string,
  { files }: Host,
): Promise<SavedResults> {
  const bytes = await files.read(file).catch((cause: unknown) => {
    const problem = diskProblem(cause);
    if (!problem) throw cause;
    throw usage(`${label}${file}: ${problem.reason}`);
  });
  const data = tryParseJson(new TextDecoder().decode(bytes));
  const tests = isObject(data) && data["wf_test"] === 1 ? data["tests"] : undefined;
  if (!isObject(data) || !Array.isArray(tests)) throw notResults(file);
  const saved = tests.map((test: unknown) => {
    const { name, path, test: own, results } = isObject(test) ? test : {};
    const isTest = typeof path === "string" && typeof own === "string";
    if (typeof name !== "string" || !isTest || !isRuns(results)) throw notResults(file);
    const runs = results.map((run) => ({ ...run, turns: turnsOf(run) }));
    return { ...testResult(name, runs), path, test: own };
  });
  return { file, data, tests: saved };
}

const statuses: readonly unknown[] = ["passed", "failed", "error", "not run"];

/** Whether these are runs; what else they have is as this program wrote it. */
const isRuns = (value: unknown): value is TestRun[] =>
  haveTexts(value, "status") &&
  value.every(
    ({ status, checks }: Readonly<Record<string, unknown>>) =>
      statuses.includes(status) && haveTexts(checks, "check"),
  );

/** The questions of a run; files of earlier versions have none. */
const turnsOf = ({ turns }: Partial<TestRun>): TestRun["turns"] => (haveTexts(turns) ? turns : []);

/** Whether this is a list of objects that have texts in these fields. */
export const haveTexts = <Field extends string>(
  value: unknown,
  ...fields: readonly Field[]
): value is Readonly<Record<Field, string>>[] =>
  Array.isArray(value) &&
  value.every((each) => isObject(each) && fields.every((field) => typeof each[field] === "string"));

/** The error for a file that is not the result of a run of tests. */
export const notResults = (file: string): CliError =>
  usage(
    `${file} is not the result of a run of tests`,
    `create one with ${commandLine("wf test run", ["SUITE"], { save: "FILE" })}`,
  );

/** The names of the tests of an earlier run that did not pass. */
export async function readFailedTests(file: string, host: Host): Promise<ReadonlySet<string>> {
  const { tests } = await readSavedResults("--failed-from ", file, host);
  return new Set(tests.flatMap(({ name, status }) => (status === "passed" ? [] : [name])));
}

/** An earlier run to compare with. */
export interface SuiteBaseline extends SavedResults {
  /** Whether all expectations that a test does not meet were not met in the baseline, either. */
  hasFailedAs(test: TestResult): boolean;
}

export async function readSuiteBaseline(file: string, host: Host): Promise<SuiteBaseline> {
  const saved = await readSavedResults("--baseline ", file, host);
  const failed = new Set(saved.tests.flatMap(failedChecks));
  return { ...saved, hasFailedAs: (test) => failedChecks(test).every((each) => failed.has(each)) };
}

/** Name of the test, turn and condition of each expectation that a run did not meet, as JSON. */
const failedChecks = ({ name, results }: TestResult): string[] =>
  results.flatMap(({ checks }) =>
    checks.flatMap(({ turn, check, passed }) =>
      passed ? [] : [JSON.stringify([name, turn, check])],
    ),
  );
