import { usage } from "../../../errors.ts";
import type { CliError } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";
import { readInput } from "../../task/files.ts";
import { testResult } from "./results.ts";
import type { TestResult } from "./results.ts";
import { statuses, storedRun, storedSelection } from "./answers/index.ts";
import type { TestSelection } from "./answers/index.ts";

/** The content of a file that --save has written. */
export interface SavedResults {
  readonly file: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly selection: TestSelection;
  readonly tests: readonly TestResult[];
  /** The same tests of what --against named. */
  readonly old: readonly TestResult[] | undefined;
}

/** Reads a file of --save. Throws `usage` for one that cannot be read, or is not the result of a run of tests. */
export async function readSavedResults(
  label: string,
  file: string,
  host: Host,
): Promise<SavedResults> {
  const data = tryParseJson(new TextDecoder().decode(await readInput(file, host, label)));
  if (!isObject(data) || data["wf_test"] !== 1) throw notResults(file);
  const { tests, old = null } = data;
  return {
    file,
    data,
    selection: storedSelection(data),
    tests: savedTests(tests, file),
    old: old === null ? undefined : savedTests(old, file),
  };
}

function savedTests(tests: unknown, file: string): TestResult[] {
  if (!haveTexts(tests, "name", "path", "test")) throw notResults(file);
  return tests.map((saved) => {
    const { results }: Fields = saved;
    if (!haveTexts(results, "status") || !results.every(isRun)) throw notResults(file);
    return {
      ...testResult(saved.name, results.map(storedRun)),
      path: saved.path,
      test: saved.test,
    };
  });
}

type Fields = Readonly<Record<string, unknown>>;

const isRun = ({ status, checks }: Fields): boolean =>
  statuses.some((each) => each === status) && haveTexts(checks, "check");

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
