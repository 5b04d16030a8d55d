import { createHash } from "node:crypto";
import { join } from "node:path";
import { CliError, usage } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import type { Context } from "../../task/command-spec.ts";
import { prepareOutput, readInput, writeOutput } from "../../task/files.ts";
import { statuses, storedRun, storedSelection } from "./answers/index.ts";
import { testResult } from "./runs/index.ts";
import type { TestResult } from "./runs/index.ts";

/** Hexadecimal digits of the hash of a file of results. */
const HASH_DIGITS = 12;

/** The content of a file that --save has written. */
export type SavedResults = Awaited<ReturnType<typeof readSavedResults>>;

/** Reads a file of --save. Throws `usage` for one that cannot be read, or is not the result of a run of tests. */
export async function readSavedResults(label: string, file: string, host: Host) {
  const bytes = await readInput(file, host, label);
  const data = tryParseJson(new TextDecoder().decode(bytes));
  if (!isObject(data) || data["wf_test"] !== 1) throw notResults(file);
  const { tests, old = null, at } = data;
  const time = new Date(typeof at === "string" ? at : Number.NaN);
  return {
    file,
    data,
    /** Of the file, as a baseline shows it. */
    sha256: createHash("sha256").update(bytes).digest("hex").slice(0, HASH_DIGITS),
    /** When the tests ended; undefined in files of version 0.2.0. */
    at: Number.isNaN(time.getTime()) ? undefined : time,
    /** As the server told; null if it did not. */
    serverVersion: typeof data["server_version"] === "string" ? data["server_version"] : null,
    selection: storedSelection(data),
    tests: savedTests(tests, file),
    /** The same tests of what --against named. */
    old: old === null ? undefined : savedTests(old, file),
  };
}

function savedTests(tests: unknown, file: string): readonly TestResult[] {
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

/** Results of a run of tests, and when they were written. */
export interface DatedResults extends SavedResults {
  readonly at: Date;
}

/** Files that are read of a directory, the last ones. */
const MAX_RESULTS = 200;

/** `2026-11-22T10-30-00.000Z-1a2b3c4d5e6f.json`: in the order of time. */
const ownName = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-[0-9a-f]{12}\.json$/;

type HistoryContext = Pick<Context, "host" | "notice">;

/**
 * Reads the last 200 results of a directory that `--history` has written, one after the other: each may be
 * large. None if it does not exist. A notice names the files that are something else.
 */
export async function* historyOf(
  directory: string,
  { host, notice }: HistoryContext,
): AsyncGenerator<DatedResults> {
  const stat = await host.files.stat(directory);
  if (stat === null) return;
  if (!stat.isDirectory) throw usage(`${directory}: not a directory`);
  const names = (await host.files.list(directory)).filter((name) => name.endsWith(".json"));
  const own = names
    .filter((name) => ownName.test(name))
    .toSorted()
    .slice(-MAX_RESULTS);
  const others = names.filter((name) => !ownName.test(name));
  for (const name of own) {
    const dated = await datedResults(join(directory, name), host);
    if (dated) yield dated;
    else others.push(name);
  }
  if (others.length > 0) {
    const what = `${counted(others.length, "file")} that --history has not written as it is`;
    await notice(`${directory}: skipped ${what}: ${firstNames(others)}`);
  }
}

/** Undefined for a file without results or time. */
async function datedResults(
  path: string,
  host: HistoryContext["host"],
): Promise<DatedResults | undefined> {
  try {
    const { at, ...saved } = await readSavedResults("--history ", path, host);
    return at && { ...saved, at };
  } catch (error) {
    if (error instanceof CliError && error.kind === "usage") return undefined;
    throw error;
  }
}

/** Creates the directory, before anything is asked. Throws `usage` if that is impossible. */
export const prepareHistory = (directory: string, { host }: HistoryContext): Promise<void> =>
  prepareOutput(`--history ${directory}`, join(directory, "results.json"), host);

/** Adds results as `--save` stores them. Time and content name the file, so no other one is replaced. */
export async function addToHistory(
  directory: string,
  data: unknown,
  { host }: HistoryContext,
): Promise<void> {
  const at = host.now().toISOString();
  const text = `${JSON.stringify({ ...(isObject(data) && data), at })}\n`;
  const name = `${at.replaceAll(":", "-")}-${sha256(text).slice(0, 12)}.json`;
  await writeOutput("--history", join(directory, name), text, host);
}
