import { CliError, diskProblem, usage } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";
import type { TestFigures } from "./comparison.ts";
import type { TestResult } from "./results.ts";

type Json = Readonly<Record<string, unknown>>;

/** The content of a file that --save has written. */
export interface SavedResults {
  readonly file: string;
  readonly data: Json;
  /** Its tests; their fields may be of any type. */
  readonly tests: readonly Json[];
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
  return { file, data, tests: tests.filter(isObject) };
}

/** The error for a file that is not the result of a run of tests. */
export const notResults = (file: string): CliError =>
  usage(
    `${file} is not the result of a run of tests`,
    `create one with ${commandLine("wf test run", ["SUITE"], { save: "FILE" })}`,
  );

/** The names of the tests of an earlier run that did not pass. */
export async function readFailedTests(file: string, host: Host): Promise<ReadonlySet<string>> {
  const { tests } = await readSavedResults("--failed-from ", file, host);
  return new Set(tests.flatMap(({ name, status }) => (status === "passed" ? [] : [String(name)])));
}

/** An earlier run to compare with. */
export interface SuiteBaseline {
  readonly file: string;
  readonly tests: readonly TestFigures[];
  /** Whether all expectations that a test does not meet were not met in the baseline, either. */
  hasFailedAs(test: TestResult): boolean;
}

export async function readSuiteBaseline(file: string, host: Host): Promise<SuiteBaseline> {
  const { tests } = await readSavedResults("--baseline ", file, host);
  const failed = new Set(tests.flatMap(failedChecks));
  return {
    file,
    tests: tests.flatMap(figuresOf),
    hasFailedAs: ({ name, results }) =>
      failedChecks({ name, results }).every((check) => failed.has(check)),
  };
}

/** Name of the test, turn and condition of each expectation that a run did not meet, as JSON. */
const failedChecks = ({ name, results }: Json): string[] =>
  objectsIn(results).flatMap(({ checks }) =>
    objectsIn(checks).flatMap(({ turn, check, passed }) =>
      passed === false ? [JSON.stringify([name, turn, check])] : [],
    ),
  );

/** The objects in a list; none in anything else. */
export const objectsIn = (value: unknown): Json[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

function figuresOf({ name, passes, runs, answers, results, seconds, tokens }: Json): TestFigures[] {
  if (typeof name !== "string" || typeof passes !== "number" || typeof runs !== "number") return [];
  return [
    {
      name,
      passes,
      runs,
      answers: Array.isArray(answers) ? answers.map(String) : [],
      results: objectsIn(results).map(({ answer }) => ({
        answer: typeof answer === "string" ? answer : null,
      })),
      seconds: typeof seconds === "number" ? seconds : null,
      tokens: typeof tokens === "number" ? tokens : null,
    },
  ];
}
