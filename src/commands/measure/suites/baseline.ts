import { join } from "node:path";
import { openJournal } from "../../../lib/journal.ts";
import { valueAt } from "../../../lib/json.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { storedRun } from "./answers/index.ts";
import type { TestResult } from "./runs/index.ts";
import type { resultParams } from "./command.ts";
import { historyOf, readSavedResults } from "./saved-results.ts";
import type { DatedResults } from "./saved-results.ts";

/** Results of an earlier run that tests are compared with, and what is known of the time before it. */
export type Baseline = NonNullable<Awaited<ReturnType<typeof readCompared>>["baseline"]>;

/** Results of a history, as far as comparisons and charts need them. */
export type HistoryRun = ReturnType<typeof historyRun>;

/**
 * Reads what --baseline and --history name; the runs of the history in the order of time. Throws `usage` for a baseline
 * without results.
 */
export async function readCompared(
  { baseline: file, history: directory }: Pick<Input<typeof resultParams>, "baseline" | "history">,
  context: Context,
) {
  const history: HistoryRun[] = [];
  if (directory !== undefined)
    for await (const results of historyOf(directory, context)) history.push(historyRun(results));
  if (file === undefined) return { history };
  const { data: _, ...saved } = await readSavedResults("--baseline ", file, context.host);
  /** Tests whose expectations were edited since, so that their stored answers were judged again. */
  const edited: readonly string[] = [];
  return { history, baseline: { ...saved, history, edited } };
}

/** Without answers and what they were checked with: these are most of a file. */
function historyRun({ at, sha256, selection, data, tests }: DatedResults) {
  const slim = (test: TestResult): TestResult => ({
    ...test,
    answers: [],
    results: test.results.map(({ status, app, content, confirms, reused }) =>
      storedRun({ status, app, content, confirms, reused }),
    ),
  });
  return {
    at,
    sha256,
    selection,
    /** Whether its own comparison found something wrong. */
    alarmed: valueAt(data, "comparison.alarm") === true,
    /** Hash of the file that it was compared with. */
    baseline: valueAt(data, "comparison.baseline.sha256"),
    tests: tests.map(slim),
  };
}

/**
 * Counts the comparisons with a baseline, this one included: those of the history if there is one, and otherwise those
 * that this machine remembers. `remember` adds this one. Undefined if that is not known.
 */
export async function openLooks(
  { sha256, history }: Pick<Baseline, "sha256" | "history">,
  hasHistory: boolean,
  { host, options }: Pick<Context, "host" | "options">,
): Promise<{ readonly count: number | undefined; readonly remember: () => Promise<void> }> {
  const none = () => Promise.resolve();
  if (hasHistory) {
    const { length } = history.filter(({ baseline }) => baseline === sha256);
    return { count: 1 + length, remember: none };
  }
  try {
    const { files, directories } = host;
    const journal = await openJournal(join(directories.state, "baselines.jsonl"), files);
    const { length } = journal.entries.filter(({ baseline }) => baseline === sha256);
    const remember = async () => {
      await files.makeDirectory(directories.state, 0o700);
      await journal.append([{ baseline: sha256, at: host.now().toISOString() }]);
    };
    return { count: 1 + length, remember: options.dryRun ? none : remember };
  } catch (error) {
    if (host.signal.aborted) throw error;
    return { count: undefined, remember: none };
  }
}
