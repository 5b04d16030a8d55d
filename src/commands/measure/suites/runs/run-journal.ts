import { createHash } from "node:crypto";
import { join } from "node:path";
import { reasonOf } from "../../../../errors.ts";
import { groupBy } from "../../../../lib/collect.ts";
import { openJournal } from "../../../../lib/journal.ts";
import { isObject, stringifyJson } from "../../../../lib/json.ts";
import { sha256 } from "../../../../lib/sha256.ts";
import type { Context } from "../../../task/command-spec.ts";
import { lockJournal } from "../../../task/files.ts";
import { storedRun } from "../answers/index.ts";
import type { TestRun } from "../answers/index.ts";
import { filesIn, judgesOf } from "../../suite-file/index.ts";
import type { PlannedRun } from "./plan-runs.ts";
import { isJudged } from "./results.ts";

/** Results of runs on disk, so that the same command continues after a kill and asks nothing twice. */
export type RunJournal = Awaited<ReturnType<typeof openRunJournal>>;

/**
 * Opens the journal of these runs. It is another one after a change of what decides about answers and
 * results: the file of a suite or one that its inputs name, the applications and their server, and
 * `values`, such as the number of repeats. Throws failure if another command is running these tests.
 */
export async function openRunJournal(
  planned: readonly PlannedRun[],
  values: readonly unknown[],
  context: Context,
) {
  const { host, notice, options } = context;
  const path = join(host.directories.state, `suite-${await identityOf(planned, values)}.jsonl`);
  const busy = "another command is running these tests";
  const { release, files } = await lockJournal(path, busy, host, !options.dryRun);
  const journal = await openJournal(path, files);
  const results = new Map(journal.entries.flatMap(({ key, result }) => entryOf(key, result)));
  const starts = journal.entries.filter(({ run }) => typeof run === "string");
  const started = new Map(starts.map(({ key, run }) => [key, String(run)]));
  let isRecording = !options.dryRun;
  const orNotice = (written: Promise<void>) =>
    written.catch(async (error: unknown) => {
      if (!isRecording) return;
      isRecording = false;
      await notice(`if this command is interrupted, it cannot resume: ${reasonOf(error)}`);
    });
  if (isRecording) await orNotice(journal.append([])); // fails before anything is asked
  const append = async (run: PlannedRun, entry: object) => {
    if (isRecording) await orNotice(journal.append([{ key: keyOf(run), ...entry }]));
  };
  return {
    path,
    /** The result that an earlier command has recorded. */
    known: (run: PlannedRun) => results.get(keyOf(run)),
    /** The ID of the last run of a workflow that was started for it. */
    started: (run: PlannedRun) => started.get(keyOf(run)),
    /** Resolves when the ID is on disk, or cannot be. */
    addStart: (run: PlannedRun, id: string) => append(run, { run: id }),
    /** Resolves when the result is on disk. A disk that is full ends recording, with a notice. */
    add: (run: PlannedRun, result: TestRun) => append(run, { result }),
    /** Whether the results of this command are recorded. */
    get isRecording() {
      return isRecording;
    },
    // The results are printed.
    remove: () => (options.dryRun ? Promise.resolve() : journal.remove().catch(() => {})),
    /** Lets other commands run these tests. */
    release,
  };
}

async function identityOf(
  planned: readonly PlannedRun[],
  options: readonly unknown[],
): Promise<string> {
  const parts: unknown[] = [];
  const suites = groupBy(planned, ({ suite }) => suite);
  for (const [suite, runs] of suites) {
    const turns = suite.tests.flatMap((test) => test.turns);
    parts.push(suite.path, sha256(suite.text));
    const contexts = new Set(runs.map(({ asker }) => asker.context));
    const [context] = contexts;
    if (!context) continue;
    if (turns.length > 0) for (const each of contexts) parts.push(await serverAndKey(each));
    if (suite.tests.some(({ search }) => search))
      parts.push(await serverAndKey(context.with({ key: "dataset" })));
    const judges = new Set(turns.flatMap(judgesOf).map(({ app }) => app));
    for (const app of judges) parts.push(app, await serverAndKey(context.with({ app })));
    for (const file of filesIn(suite)) parts.push(file, await fileHash(file, context));
  }
  return sha256(stringifyJson([...parts, ...options])).slice(0, 32);
}

const serverAndKey = (context: Context) => context.api.fingerprint(["wf test run"], []);

/** Undefined for what cannot be read, such as an address: the question then fails, or it is sent as it is. */
async function fileHash(path: string, { host }: Context): Promise<string | undefined> {
  const hash = createHash("sha256");
  try {
    for await (const bytes of host.files.bytes(path)) hash.update(bytes);
  } catch {
    return undefined;
  }
  return hash.digest("hex");
}

const keyOf = ({ suite, test, repeat, side }: PlannedRun): string =>
  JSON.stringify([suite.path, test.name, repeat, side]);

/** A result of an earlier command; none for a damaged line. Errors are tried again. */
function entryOf(key: unknown, result: unknown): [string, TestRun][] {
  if (typeof key !== "string" || !isObject(result) || !Array.isArray(result["checks"])) return [];
  const run = storedRun(result);
  return isJudged(run) ? [[key, run]] : [];
}
