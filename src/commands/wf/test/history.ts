import { join } from "node:path";
import { CliError, usage } from "../../../errors.ts";
import { collect } from "../../../lib/collect.ts";
import { isObject } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import type { Context } from "../../task/command-spec.ts";
import { prepareOutput, writeOutput } from "../../task/files.ts";
import { readSavedResults } from "./saved-results.ts";
import type { SavedResults } from "./saved-results.ts";

/** Results of a run of tests, and when they were written. */
export interface DatedResults extends SavedResults {
  readonly at: Date;
}

/** Files that are read of a directory, the last ones. */
const MAX_RESULTS = 200;

/** `2026-11-22T10-30-00.000Z-1a2b3c4d5e6f.json`: in the order of time. */
const ownName = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-[0-9a-f]{12}\.json$/;

type HistoryContext = Pick<Context, "host" | "notice">;

/** Results that a comparison reads: more tell hardly more of the differences between times. */
const MAX_COMPARED = 20;

/** The last 20 results of a history at once. */
export const readHistory = (
  directory: string,
  context: HistoryContext,
): Promise<readonly DatedResults[]> => collect(historyOf(directory, context, MAX_COMPARED));

/**
 * Reads the last 200 results of a directory that `--history` has written, one after the other: each may be
 * large. None if it does not exist. A notice names the files that are something else.
 */
export async function* historyOf(
  directory: string,
  { host, notice }: HistoryContext,
  most = MAX_RESULTS,
): AsyncGenerator<DatedResults> {
  const stat = await host.files.stat(directory);
  if (stat === null) return;
  if (!stat.isDirectory) throw usage(`${directory}: is not a directory`);
  const names = (await host.files.list(directory)).filter((name) => name.endsWith(".json"));
  const own = names
    .filter((name) => ownName.test(name))
    .toSorted()
    .slice(-most);
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
    const saved = await readSavedResults("--history ", path, host);
    const at = new Date(String(saved.data["at"]));
    return Number.isNaN(at.getTime()) ? undefined : { ...saved, at };
  } catch (error) {
    if (error instanceof CliError && error.kind === "usage") return undefined;
    throw error;
  }
}

/** Creates the directory, before anything is asked. Throws `usage` if that is impossible. */
export const prepareHistory = (directory: string, { host }: HistoryContext): Promise<void> =>
  prepareOutput(`--history ${directory}`, join(directory, "results.json"), host);

/**
 * Adds results, as `--save` stores them, with the present time. The time and the content name the file,
 * so no other one is replaced.
 */
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
