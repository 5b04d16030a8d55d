import { join } from "node:path";
import { ApiError, CliError, diskProblem, ignoring, isFatal, verdict } from "../../../errors.ts";
import { newPathInside } from "../../../host/safe-path.ts";
import { openJournal } from "../../../lib/journal.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { counted, firstNames, joinedNotes } from "../../../lib/text.ts";
import { formatBytes } from "../../../lib/numbers.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { isDone, readKbState } from "../documents/index.ts";
import { capture, type CaptureStore, type StoredContent } from "../snapshot/index.ts";
import { requestedKbs, type RequestedKb } from "../knowledge/index.ts";
import {
  isHash,
  objectPath,
  orderAfter,
  orderOf,
  putObject,
  readManifestOf,
  readSnapshots,
  snapshotPath,
  writeSnapshot,
  openBackup,
} from "./store.ts";
import type { Snapshot } from "./store.ts";
import type { backupParams } from "./command.ts";
import { stringifyJson } from "../../../lib/json.ts";

/** How a snapshot is taken. */
export interface TakeOptions {
  /** Are chunks stored? With IDs, those of exactly these documents, whatever their status: without them, nothing is. */
  readonly chunks: boolean | ReadonlySet<string>;
  /** Only these documents, by ID. */
  readonly only?: ReadonlySet<string>;
  /** Why it is taken, if no `kb backup` asked for it. */
  readonly note?: string;
}

interface Missing {
  readonly name: string;
  readonly why: string;
  /** It was being indexed: a list that is not complete would delete chunks in a restore. */
  readonly isPending: boolean;
}

/** A snapshot, and what it took. */
export interface Taken {
  readonly snapshot: Snapshot;
  /** Documents whose content was downloaded. */
  readonly downloaded: number;
  /** Documents without a file on the server, by name. */
  readonly withoutFile: readonly string[];
  /** Those of them whose file the server has lost. */
  readonly lost: readonly string[];
  /** Documents whose chunks the server did not list, or did not have yet, with the reason of each. */
  readonly withoutChunks: readonly Missing[];
  /** Bytes by which the directory grew. */
  readonly added: number;
}

/** What a snapshot lacks, for people; null if it has everything. */
export function lacksOf({ withoutFile, withoutChunks }: Taken): string | null {
  const lacks = lacksChunks(withoutChunks);
  if (withoutFile.length > 0)
    lacks.unshift(`without a file on the server: ${firstNames(withoutFile, 3)}`);
  return joinedNotes(...lacks);
}

const lacksChunks = (documents: readonly Missing[]): string[] =>
  documents
    .slice(0, 1)
    .map(({ why }) => `without chunks: ${counted(documents.length, "document")}, ${why}`);

/** Takes a snapshot into a locked directory. It is written last: before that, the earlier ones are all there is. */
export async function takeSnapshot(
  directory: string,
  dataset_id: string,
  { note, only, chunks }: TakeOptions,
  context: Context,
): Promise<Taken> {
  const { files } = context.host;
  const all = await readKbState(dataset_id, context);
  const documents = only ? all.documents.filter(({ id }) => only.has(id)) : all.documents;
  const state = { ...all, documents };
  const { store, withoutChunks, grown, put, last } = await backupStore(
    directory,
    dataset_id,
    chunks,
    context,
  );
  const walk = capture({ dataset_id, state, chunks: chunks !== false, store }, context);
  const { manifest, changed, lost } = await ended(walk).catch(async (error: unknown) => {
    // A full disk needs the place more than the next backup needs the downloads.
    if (diskProblem(error)) await store.journal.remove();
    throw error;
  });
  const hash = await put(Buffer.from(stringifyJson(manifest)));
  const taken_at = context.host.now().toISOString();
  const { base_url, name } = manifest.source;
  const bundled = manifest.state.documents;
  const some = `only ${bundled.length} of ${counted(all.documents.length, "document")}`;
  const lacks = lost.length > 0 ? [`without lost files: ${firstNames(lost, 3)}`] : [];
  const [partial] = only ? [some] : [...lacks, ...lacksChunks(withoutChunks)];
  const snapshot: Snapshot = {
    id: sha256(`${dataset_id}\n${taken_at}\n${hash}`).slice(0, 8),
    kb: { id: dataset_id, name, base_url },
    taken_at,
    manifest: hash,
    documents: bundled.length,
    bytes: bundled.reduce((sum, each) => sum + each.bytes, 0),
    ...(note !== undefined && { note }),
    ...(partial !== undefined && { partial }),
    ...orderAfter(last && orderOf(last), taken_at),
  };
  await writeSnapshot(directory, snapshot, files);
  await store.journal.remove();
  const size = (await files.stat(join(directory, snapshotPath(snapshot))))?.size ?? 0;
  return {
    snapshot,
    downloaded: changed,
    withoutFile: bundled.flatMap((each) => (each.file === null ? [each.name] : [])),
    lost,
    withoutChunks,
    added: grown() + size,
  };
}

async function ended<R>(walk: AsyncGenerator<unknown, R>): Promise<R> {
  let step = await walk.next();
  while (!step.done) step = await walk.next();
  return step.value;
}

/** A locked backup as a store for one knowledge base: files are objects, which snapshots share. */
async function backupStore(
  directory: string,
  dataset_id: string,
  chunks: TakeOptions["chunks"],
  context: Context,
) {
  const exactly = typeof chunks === "boolean" ? undefined : chunks;
  const { files } = context.host;
  const path = await newPathInside(directory, `snapshots/${dataset_id}.part.jsonl`, files);
  const journal = await openJournal(path, files);
  const { snapshots, bad } = await readSnapshots(directory, context.host);
  for (const { path, why } of bad) await context.notice(`skipped ${path}: ${why}`);
  const base_url = await context.api.baseUrl();
  const last = snapshots.findLast(({ kb }) => kb.id === dataset_id && kb.base_url === base_url);
  // A damaged manifest costs downloads, not the snapshot.
  const before = last && (await readManifestOf(directory, last, files).catch(ignoring("usage")));
  const entries = [...(before?.state.documents ?? []), ...journal.entries.filter(isContent)];
  const known = new Map(entries.map((each) => [each.id, each]));
  const withoutChunks: Missing[] = [];
  let added = 0;
  const put = async (bytes: Uint8Array): Promise<string> => {
    const object = await putObject(directory, bytes, files);
    added += object.added;
    return object.hash;
  };
  const store: CaptureStore = {
    directory,
    journal,
    rules: before?.rules,
    known: ({ id }) => known.get(id),
    put: async (_, bytes) => objectPath(await put(bytes)),
    putChunks: async (_, text) => objectPath(await put(Buffer.from(text))),
    withoutChunks({ name }, error) {
      // Without its model, a knowledge base lists no chunks (server §8).
      const isOfOne = error instanceof CliError && !isFatal(error) && !exactly;
      if (context.host.signal.aborted || !isOfOne) throw error;
      withoutChunks.push({ name, why: error.message, isPending: false });
    },
    isUnready(document) {
      if (exactly) return !exactly.has(document.id);
      if (isDone(document)) return false;
      withoutChunks.push({ name: document.name, why: "being indexed", isPending: true });
      return true;
    },
  };
  return { store, withoutChunks, grown: () => added, put, last };
}

const isContent = (entry: object): entry is StoredContent =>
  "id" in entry &&
  "sha256" in entry &&
  isHash(entry.sha256) &&
  "file" in entry &&
  entry.file === objectPath(entry.sha256);

/** What became of the backup of one knowledge base. */
interface BackedUp {
  readonly action: "stored" | "failed";
  readonly kb: string;
  readonly snapshot: string | null;
  readonly documents: number;
  readonly downloaded: number;
  /** Bytes by which the directory grew. */
  readonly added: number;
  readonly note: string | null;
}

/** Takes a snapshot of each knowledge base; one that fails stops no other. Throws partial if one failed. */
export async function* run(
  input: Input<typeof backupParams>,
  context: Context,
): AsyncGenerator<BackedUp> {
  const kbs: RequestedKb[] = [];
  const line = { command: "kb backup", args: [input.directory] };
  for await (const kb of requestedKbs(line, input, context)) kbs.push(kb);
  const release = await openBackup(input.directory, context.host);
  const rows: BackedUp[] = [];
  const lost: string[] = [];
  const unread: Missing[] = [];
  try {
    for (const kb of kbs) {
      const row = await backUp(kb, input, { lost, unread }, context);
      rows.push(row);
      yield row;
    }
  } finally {
    release();
  }
  const failed = rows.filter(({ action }) => action === "failed");
  const added = formatBytes(rows.reduce((sum, row) => sum + row.added, 0));
  const stored = counted(rows.length - failed.length, "snapshot");
  context.summary(`stored ${stored} in ${input.directory}, which grew by ${added}`);
  const [first] = failed;
  if (first)
    throw verdict(
      "partial",
      `failed to back up ${failed.length} of ${kbs.length}: ${first.kb}`,
      { failed },
      "the others are stored; a key may open only some knowledge bases",
    );
  const [missing] = unread;
  const names = unread.map(({ name }) => name);
  if (missing)
    throw verdict(
      "partial",
      `without the chunks of ${firstNames(names, 3)}: ${missing.why}`,
      { without_chunks: names, lost },
      "the notes name what is not stored; run the same command again once everything is indexed (kb heal)",
    );
  if (lost.length > 0)
    throw verdict(
      "partial",
      `the server has lost the files of ${firstNames(lost, 3)}`,
      { lost },
      "all else is stored, with the chunks of these documents; upload the files again",
    );
}

async function backUp(
  { id, name }: RequestedKb,
  { directory, no_chunks = false }: Input<typeof backupParams>,
  { lost, unread }: { readonly lost: string[]; readonly unread: Missing[] },
  context: Context,
): Promise<BackedUp> {
  try {
    const taken = await takeSnapshot(directory, id, { chunks: !no_chunks }, context);
    const { snapshot, downloaded, added } = taken;
    for (const each of taken.lost) lost.push(each);
    for (const each of taken.withoutChunks) unread.push(each);
    const row = { documents: snapshot.documents, downloaded, added, note: lacksOf(taken) };
    return { action: "stored", kb: snapshot.kb.name, snapshot: snapshot.id, ...row };
  } catch (error) {
    // What the directory does not take, no further one takes either.
    if (context.host.signal.aborted || !(error instanceof ApiError) || isFatal(error)) throw error;
    const nothing = { snapshot: null, documents: 0, downloaded: 0, added: 0 };
    return { action: "failed", kb: name, ...nothing, note: error.message };
  }
}
