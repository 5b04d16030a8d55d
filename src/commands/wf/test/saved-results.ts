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
  /** The same tests of what --against named. */
  readonly old: readonly TestResult[] | undefined;
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
  if (!isObject(data) || data["wf_test"] !== 1) throw notResults(file);
  const { tests, old = null } = data;
  const savedOld = old === null ? undefined : savedTests(old, file);
  return { file, data, tests: savedTests(tests, file), old: savedOld };
}

function savedTests(tests: unknown, file: string): TestResult[] {
  if (!Array.isArray(tests)) throw notResults(file);
  return tests.map((test: unknown) => {
    const { name, path, test: own, results } = isObject(test) ? test : {};
    const isTest = typeof path === "string" && typeof own === "string";
    if (typeof name !== "string" || !isTest || !isRuns(results)) throw notResults(file);
    return { ...testResult(name, results.map(completed)), path, test: own };
  });
}

const statuses: readonly unknown[] = ["passed", "failed", "error", "not run"];

/** Whether these are runs; what else they have is as this program wrote it. */
const isRuns = (value: unknown): value is TestRun[] =>
  haveTexts(value, "status") &&
  value.every(
    ({ status, checks }: Readonly<Record<string, unknown>>) =>
      statuses.includes(status) && haveTexts(checks, "check"),
  );

/** A run with all that it has today; files of earlier versions lack some of it. */
const completed = (run: Partial<TestRun> & TestRun): TestRun => ({
  ...run,
  side: run.side ?? "new",
  app: run.app ?? null,
  reused: run.reused ?? false,
  confirms: run.confirms ?? false,
  annotated: run.annotated ?? false,
  turns: haveTexts(run.turns) ? run.turns : [],
});

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
