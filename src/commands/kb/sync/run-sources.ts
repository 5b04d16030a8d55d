import { join } from "node:path";
import { CliError, usage, verdict } from "../../../errors.ts";
import { isUnfinished } from "../../../host/host.ts";
import { openJournal } from "../../../lib/journal.ts";
import { firstNames } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { change } from "../changes/index.ts";
import type { syncRunParams } from "./command.ts";
import { openedEntry, readSourcesFile } from "./sources-file.ts";
import type { SourceEntryOfFile } from "./sources-file.ts";
import { syncDirectory } from "./sync.ts";
import type { SyncRow } from "./sync.ts";

/** An earlier sync of a source, as it is stored. */
interface PastSync {
  readonly at: string;
  readonly source: string;
  readonly kb: string;
  readonly result: "ok" | "failed";
  readonly seconds: number;
  /** Its summary, or why it failed. */
  readonly note: string;
}

const historyPath = ({ host }: Context): string =>
  join(host.directories.state, "sync-history.jsonl");
/** Syncs that are kept. */
const MAX_HISTORY = 1000;

/**
 * Syncs the sources of a file, or those that are named, one after the other; a sync that fails as a whole is a row, too.
 * Throws partial if one failed.
 */
export async function* run(
  {
    config = "sources.yaml",
    name: names = [],
    allow_run = false,
    ...flags
  }: Input<typeof syncRunParams>,
  context: Context,
): AsyncGenerator<SyncRow & { readonly source: string }> {
  const all = await readSourcesFile(config, context);
  const unknown = names.filter((name) => !all.has(name));
  if (unknown.length > 0)
    throw usage(
      `${config} has no source ${unknown.join(", ")}`,
      `it has ${firstNames([...all.keys()], 20)}`,
    );
  const chosen = [...all].filter(([name]) => names.length === 0 || names.includes(name));
  // Before anything is changed.
  const opened = new Map<string, Awaited<ReturnType<typeof openedEntry>>>();
  for (const entry of chosen)
    opened.set(entry[0], await openedEntry(config, entry, allow_run, context));
  const past: PastSync[] = [];
  const summaries: string[] = [];
  for (const [name, entry] of chosen) {
    const { address, options } = opened.get(name) ?? { address: "", options: {} };
    const input = { ...flags, ...flagsOf(entry), directory: address };
    const notes: string[] = [];
    const own = { ...context, summary: (text: string) => void notes.push(text) };
    const start = context.host.elapsed();
    let failure: CliError | undefined;
    try {
      const dataset_id = await context.resolveId("kb", entry.kb);
      for await (const row of syncDirectory({ ...input, dataset_id }, own, options))
        yield { ...row, source: name };
    } catch (error) {
      if (!(error instanceof CliError) || context.host.signal.aborted) throw error;
      failure = error;
      if (!error.info.isResult) yield { ...failedRow(entry.kb, error.message), source: name };
    }
    const note = [...notes, ...(failure ? [failure.message] : [])].join("; ");
    summaries.push(`${name}: ${note}`);
    const seconds = Math.round((context.host.elapsed() - start) / 100) / 10;
    const result = failure ? "failed" : "ok";
    const at = context.host.now().toISOString();
    past.push({ at, source: name, kb: entry.kb, result, seconds, note });
  }
  context.summary(summaries.join("\n"));
  if (!context.options.dryRun) await remember(past, context);
  const failed = past.filter(({ result }) => result === "failed");
  if (failed.length === 0) return;
  const which = firstNames(failed.map(({ source }) => source));
  throw verdict(
    "partial",
    `failed to sync ${failed.length} of ${chosen.length} sources: ${which}`,
    { failed },
    "the other sources are synced; run the same command again to resume",
  );
}

const flagsOf = ({ max_delete, metadata = {}, ...entry }: SourceEntryOfFile) => ({
  ...entry,
  metadata: Object.entries(metadata).map(([field, value]) => `${field}=${value}`),
  ...(max_delete !== undefined && { max_delete: String(max_delete) }),
});

const failedRow = (kb: string, note: string): SyncRow => ({
  ...change({ action: "failed", what: "knowledge base", name: kb, note }),
  path: kb,
  document_id: null,
});

/** Adds syncs to the history; a sync does not fail because of it. */
async function remember(past: readonly PastSync[], context: Context): Promise<void> {
  const { files, directories } = context.host;
  const path = historyPath(context);
  try {
    await files.makeDirectory(directories.state, 0o700);
    const journal = await openJournal(path, files);
    await journal.append(past);
    const all = [...journal.entries, ...past];
    if (all.length < 2 * MAX_HISTORY) return;
    for (const name of await files.list(directories.state))
      if (name.startsWith("sync-history.") && isUnfinished(name))
        await files.remove(join(directories.state, name)); // of a process that was killed
    const kept = all.slice(-MAX_HISTORY);
    await files.writeAtomic(path, kept.map((each) => `${JSON.stringify(each)}\n`).join(""), 0o600);
  } catch (error) {
    if (error instanceof CliError) throw error;
    await context.notice("the history of syncs was not written");
  }
}

/** `kb sync history`: yields earlier syncs of files of sources, the latest first. */
export const history = {
  async *run({ source }: { readonly source?: string | undefined }, context: Context) {
    const { entries } = await openJournal(historyPath(context), context.host.files);
    for (const each of entries.slice(-MAX_HISTORY).toReversed())
      if (source === undefined || each["source"] === source) yield each as unknown as PastSync;
  },
};
