import { isAbsolute, join } from "node:path";
import { ApiError, refused } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import { lacksOf, openBackup, takeSnapshot } from "../backup/index.ts";
import type { Taken } from "../backup/index.ts";
import { documentStatuses, waitForIndexing } from "../documents/index.ts";
import type { Context } from "../../task/command-spec.ts";
import { lockWork } from "../../task/files.ts";

/** A command that can be taken back: the snapshots around it. */
export interface UndoRecord {
  /** The command with its arguments, for people. */
  readonly command: string;
  /** Directory of the backup. */
  readonly directory: string;
  readonly kb: { readonly id: string; readonly name: string; readonly base_url: string };
  /** ID of the snapshot before the command. */
  readonly before: string;
  /** ID of the one after it; `deleted` without the knowledge base, null if the command did not end. */
  readonly after: string | null;
  /** ISO 8601, in UTC. */
  readonly at: string;
  /** An undo has begun, so the state may be between the two. */
  readonly undoing?: true;
}

/** A record and its file. */
export interface StoredRecord extends UndoRecord {
  readonly path: string;
}

const folderOf = ({ directories }: Host): string => join(directories.state, "undo");

/** Keeps other undos of this machine out; throws failure while one is at work. Returns what ends that. */
export async function lockRecords(host: Host): Promise<() => void> {
  await host.files.makeDirectory(folderOf(host), 0o700);
  return lockWork(join(folderOf(host), "undo"), "another kb undo is at work", host);
}

/** The records of this machine, oldest first; files that are none are skipped. */
export async function readRecords(host: Host): Promise<readonly StoredRecord[]> {
  const folder = folderOf(host);
  if (!(await host.files.stat(folder))?.isDirectory) return [];
  const records: StoredRecord[] = [];
  for (const { name, isFile } of await host.files.entries(folder)) {
    if (!isFile || !name.endsWith(".json")) continue;
    const path = join(folder, name);
    const value = tryParseJson(new TextDecoder().decode(await host.files.read(path)));
    if (isRecord(value)) records.push({ ...value, path });
  }
  return records.toSorted((a, b) => (a.at < b.at ? -1 : 1));
}

function isRecord(value: unknown): value is UndoRecord {
  if (!isObject(value) || !isObject(value["kb"])) return false;
  const { command, directory, before, after, at, kb } = value;
  const texts = [command, directory, before, at, kb["id"], kb["name"], kb["base_url"]];
  return (
    texts.every((text) => typeof text === "string") && (after === null || typeof after === "string")
  );
}

/** Writes a record again, to its file. */
export const writeRecord = ({ path, ...record }: StoredRecord, { files }: Host): Promise<void> =>
  files.writeAtomic(path, `${JSON.stringify(record)}\n`, 0o600);

/**
 * Takes the snapshot before a command and records it; returns what completes the record when the command has
 * ended: `wrote` is false if nothing was sent, so that there is nothing to take back.
 */
export async function startRecord(
  given: { readonly directory: string; readonly dataset_id: string; readonly command: string },
  context: Context,
): Promise<(wrote: boolean) => Promise<void>> {
  const { host } = context;
  const { dataset_id, command } = given;
  const directory = isAbsolute(given.directory) ? given.directory : join(host.cwd, given.directory);
  const take = async (note: string) => {
    const release = await openBackup(directory, host);
    try {
      const taken = await takeSnapshot(directory, dataset_id, { chunks: true, note }, context);
      const unread = taken.withoutChunks.find(({ isPending }) => !isPending);
      if (!unread) return taken;
      throw refused(
        `the backup lacks the chunks of ${JSON.stringify(unread.name)}: ${unread.why}`,
        "nothing was changed; kb backup stores what it can",
      );
    } finally {
      release();
    }
  };
  const taken = await take(`before ${command}`);
  const before = taken.snapshot;
  await host.files.makeDirectory(folderOf(host), 0o700);
  const name = `${before.taken_at.replaceAll(/[-:.]/g, "")}-${before.id}.json`;
  const record: StoredRecord = {
    command,
    directory,
    kb: before.kb,
    before: before.id,
    after: null,
    at: before.taken_at,
    path: join(folderOf(host), name),
  };
  await writeRecord(record, host);
  const lacks = lacksOf(taken);
  const but = lacks === null ? "" : `; not stored: ${lacks}`;
  await context.notice(`backed up ${before.kb.name} to ${directory} (snapshot ${before.id})${but}`);
  return async (wrote) => {
    if (!wrote) return host.files.remove(record.path);
    const after = await takeAfter(dataset_id, () => take(`after ${command}`), context);
    await writeRecord({ ...record, after }, host);
    context.summary(`to take it back: ${commandLine("kb undo")}`);
  };
}

/** The snapshot after a command, once all documents are indexed; `deleted` without the knowledge base. */
async function takeAfter(
  dataset_id: string,
  take: () => Promise<Taken>,
  context: Context,
): Promise<string> {
  try {
    await context.api.call(getKnowledgeBase, { dataset_id });
  } catch (error) {
    if (error instanceof ApiError && error.kind === "not-found") return "deleted";
    throw error;
  }
  const statuses = () => documentStatuses(dataset_id, () => true, context);
  for await (const _ of waitForIndexing(statuses, context)); // any status will do
  return (await take()).snapshot.id;
}
