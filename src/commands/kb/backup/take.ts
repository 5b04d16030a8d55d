import { join } from "node:path";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError, isFatal } from "../../../errors.ts";
import { newPathInside } from "../../../host/safe-path.ts";
import { openJournal } from "../../../lib/journal.ts";
import type { Journal } from "../../../lib/journal.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import type { Context } from "../../task/command-spec.ts";
import { chunkLine, readChunks } from "../chunk-lists/index.ts";
import { isDone, readContents, readKbState, readRules } from "../documents/index.ts";
import type { DocumentState, KbState } from "../documents/index.ts";
import { fileHash } from "../snapshot/index.ts";
import type { BundledDocument, ChunkFile, Manifest } from "../snapshot/index.ts";
import {
  objectPath,
  putObject,
  readManifestOf,
  readSnapshots,
  snapshotPath,
  writeSnapshot,
} from "./store.ts";
import type { Snapshot } from "./store.ts";

/** How a snapshot is taken. */
export interface TakeOptions {
  readonly chunks: boolean;
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

/** The chunks of a knowledge base in a backup. */
interface StoredChunks {
  /** By document ID. */
  readonly files: ReadonlyMap<string, ChunkFile>;
  /** Documents whose chunks the server did not list, or did not have yet, with the reason of each. */
  readonly failed: readonly Missing[];
  /** Bytes by which the directory grew. */
  readonly added: number;
}

/** A snapshot, and what it took. */
export interface Taken {
  readonly snapshot: Snapshot;
  readonly manifest: Manifest;
  /** Documents whose content was downloaded. */
  readonly downloaded: number;
  /** Documents without a file on the server, by name. */
  readonly withoutFile: readonly string[];
  readonly withoutChunks: StoredChunks["failed"];
  /** Bytes by which the directory grew. */
  readonly added: number;
}

/** What a snapshot lacks, for people; null if it has everything. */
export function lacksOf({ withoutFile, withoutChunks }: Taken): string | null {
  const [first] = withoutChunks;
  const lacks = [
    ...(withoutFile.length > 0
      ? [`without a file on the server: ${firstNames(withoutFile, 3)}`]
      : []),
    ...(first
      ? [`without chunks: ${counted(withoutChunks.length, "document")}, ${first.why}`]
      : []),
  ];
  return lacks.length > 0 ? lacks.join("; ") : null;
}

/** The object of a document's content, and which write of the content it is of. */
interface StoredContent extends Pick<BundledDocument, "id" | "stored" | "bytes" | "sha256"> {}

/** Contents between two writes of the journal. */
const journalBatch = 100;

/**
 * Takes a snapshot of a knowledge base into a locked directory. Sends reads only, and downloads what no
 * earlier snapshot has. The snapshot is written last: before that, the earlier ones are all there is.
 */
export async function takeSnapshot(
  directory: string,
  dataset_id: string,
  { note, only, chunks: withChunks }: TakeOptions,
  context: Context,
): Promise<Taken> {
  const { files } = context.host;
  const all = await readKbState(dataset_id, context);
  const wanted = only ? all.documents.filter(({ id }) => only.has(id)) : all.documents;
  const state = { ...all, documents: wanted };
  const rules = await readRules(dataset_id, state, context);
  const journalPath = await newPathInside(directory, `snapshots/${dataset_id}.part.jsonl`, files);
  const journal = await openJournal(journalPath, files);
  const known = await knownContents(directory, dataset_id, journal, context);
  const contents = await storeContents(directory, { dataset_id, state, known, journal }, context);
  const chunks = withChunks
    ? await storeChunks(directory, dataset_id, state, context)
    : { files: new Map<string, ChunkFile>(), failed: [], added: 0 };
  const documents = state.documents.map((document): BundledDocument => {
    const { from_api: _, error: __, ...rest } = document;
    const { bytes = 0, sha256: hash = null } = contents.stored.get(document.id) ?? {};
    const file = hash === null ? null : objectPath(hash);
    const chunkFile = chunks.files.get(document.id);
    return { ...rest, file, bytes, sha256: hash, ...(chunkFile && { chunks: chunkFile }) };
  });
  const base_url = await context.api.baseUrl();
  const { name } = state.settings;
  const content = {
    kb_export: 2,
    source: { base_url, id: dataset_id, name },
    state: { ...state, documents },
    rules,
  } as const;
  const stored = await putObject(directory, Buffer.from(JSON.stringify(content)), files);
  const taken_at = context.host.now().toISOString();
  const id = sha256(`${dataset_id}\n${taken_at}\n${stored.hash}`).slice(0, 8);
  const bytes = documents.reduce((sum, each) => sum + each.bytes, 0);
  const kb = { id: dataset_id, name, base_url };
  const snapshot: Snapshot = {
    id,
    kb,
    taken_at,
    manifest: stored.hash,
    documents: documents.length,
    bytes,
    ...(note !== undefined && { note }),
  };
  await writeSnapshot(directory, snapshot, files);
  await journal.remove();
  const size = (await files.stat(join(directory, snapshotPath(snapshot))))?.size ?? 0;
  return {
    snapshot,
    manifest: { ...content, exported_at: taken_at },
    downloaded: contents.downloaded,
    withoutFile: documents.flatMap((each) => (each.file === null ? [each.name] : [])),
    withoutChunks: chunks.failed,
    added: contents.added + chunks.added + stored.added + size,
  };
}

/** What the last snapshot and an interrupted one have, by document ID. */
async function knownContents(
  directory: string,
  dataset_id: string,
  journal: Journal,
  context: Context,
): Promise<ReadonlyMap<string, StoredContent>> {
  const { files } = context.host;
  const { snapshots } = await readSnapshots(directory, files);
  const last = snapshots.findLast(({ kb }) => kb.id === dataset_id);
  const before = last && (await readManifestOf(directory, last, files).catch(withoutDamaged));
  const entries = [...(before?.state.documents ?? []), ...journal.entries.filter(isContent)];
  return new Map(
    entries.map(({ id, stored, bytes, sha256 }) => [id, { id, stored, bytes, sha256 }]),
  );
}

/** A damaged manifest costs downloads, not the snapshot. */
function withoutDamaged(error: unknown): undefined {
  if (!(error instanceof CliError) || error.kind !== "usage") throw error;
}

const isContent = (entry: object): entry is StoredContent =>
  "id" in entry && "stored" in entry && "bytes" in entry && "sha256" in entry;

/** Downloads the contents that are not stored, and stores them. */
async function storeContents(
  directory: string,
  given: {
    readonly dataset_id: string;
    readonly state: KbState;
    readonly known: ReadonlyMap<string, StoredContent>;
    readonly journal: Journal;
  },
  context: Context,
): Promise<{
  readonly stored: ReadonlyMap<string, StoredContent>;
  readonly downloaded: number;
  readonly added: number;
}> {
  const { dataset_id, state, known, journal } = given;
  const { files } = context.host;
  const stored = new Map<string, StoredContent>();
  const changed: DocumentState[] = [];
  const total = state.documents.length;
  for (const [done, document] of state.documents.entries()) {
    context.progress({ verb: "Checking", done, total, unit: "files" });
    const old = known.get(document.id);
    if (old && (await isStored(directory, document, old, context))) stored.set(document.id, old);
    else changed.push(document);
  }
  let added = 0;
  let done = 0;
  const unlogged: StoredContent[] = [];
  try {
    for await (const { document, bytes } of readContents(dataset_id, changed, context)) {
      const { id, stored: upload } = document;
      const object = bytes && (await putObject(directory, bytes, files));
      added += object?.added ?? 0;
      const entry = { id, stored: upload, bytes: bytes?.length ?? 0, sha256: object?.hash ?? null };
      stored.set(id, entry);
      if (object) unlogged.push(entry);
      if (unlogged.length >= journalBatch) await journal.append(unlogged.splice(0));
      const [verb, current] = ["Downloading", document.name];
      context.progress({ verb, done: ++done, total: changed.length, unit: "documents", current });
    }
  } finally {
    await journal.append(unlogged.splice(0));
  }
  return { stored, downloaded: changed.length, added };
}

/** Is the content of a document stored, undamaged, since its last write? */
async function isStored(
  directory: string,
  { stored }: DocumentState,
  old: StoredContent,
  { host: { files } }: Context,
): Promise<boolean> {
  if (stored === null || old.stored !== stored || old.sha256 === null) return false;
  return (await fileHash(directory, objectPath(old.sha256), files)) === old.sha256;
}

/** Stores the chunks of all documents; they have no sign of a change, so all lists are read. */
async function storeChunks(
  directory: string,
  dataset_id: string,
  { documents, settings: { doc_form } }: KbState,
  context: Context,
): Promise<StoredChunks> {
  const { files } = context.host;
  const stored = new Map<string, ChunkFile>();
  const failed: Missing[] = [];
  let added = 0;
  let done = 0;
  const store = async (document: KbState["documents"][number]): Promise<void> => {
    const { id, name } = document;
    if (!isDone(document)) {
      failed.push({ name, why: "being indexed", isPending: true });
      return;
    }
    const lines: string[] = [];
    try {
      for await (const chunk of readChunks({ dataset_id, document_id: id, doc_form }, context))
        lines.push(chunkLine(chunk));
    } catch (error) {
      // Without its model, a knowledge base lists no chunks (server §8).
      if (context.signal.aborted || !(error instanceof CliError) || isFatal(error)) throw error;
      failed.push({ name, why: error.message, isPending: false });
      return;
    }
    const object = await putObject(directory, Buffer.from(lines.join("")), files);
    added += object.added;
    stored.set(id, { file: objectPath(object.hash), sha256: object.hash });
  };
  const limit = context.api.limitConcurrency();
  for await (const _ of mapConcurrent(documents, limit, store)) {
    const [verb, total] = ["Reading chunks", documents.length];
    context.progress({ verb, done: ++done, total, unit: "documents" });
  }
  return { files: stored, failed, added };
}
