import { join } from "node:path";
import { CliError, reasonOf } from "../../../errors.ts";
import { openJournal } from "../../../lib/journal.ts";
import type { Journal } from "../../../lib/journal.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { arrivedHashes, pendingHash, syncFields } from "../documents/index.ts";
import type { MadeJournal, Noted } from "../changes/index.ts";
import type { ContentHashes, DocumentState } from "../documents/index.ts";
import type { Context } from "../../task/command-spec.ts";

/** The journal of a sync, with what earlier ones on this machine did not complete. */
export interface SyncJournal extends MadeJournal {
  /** The documents with the marks that interrupted syncs did not write. */
  withMarks(documents: readonly DocumentState[]): Promise<readonly DocumentState[]>;
  /** Deletes the journals of ended syncs if nothing is left of them, and lets others use the rest. */
  close(): Promise<void>;
}

/**
 * Opens the journals of the syncs of a source. Documents are created before they are marked, so a sync
 * notes what it makes, in a file of its own, for the next sync on this machine. One JSON object per line:
 *
 *     {"path":"a.md","name":"a.md","hash":"9f86…"}              this content may be on the server
 *     {"path":"a.md","name":"a.md","hash":"9f86…","id":"0190…"}  it is, as this document
 *
 * Files of syncs that have ended are continued or deleted; those of running ones are only read. Without
 * a state directory a sync works the same, but an interrupted one leaves up to ten documents unmarked.
 */
export async function openSyncJournal(
  dataset_id: string,
  source: string,
  context: Context,
): Promise<SyncJournal> {
  const { directories, files, process } = context.host;
  const key = [await context.api.baseUrl(), dataset_id, source].join("\n");
  const prefix = `sync-${sha256(key).slice(0, 32)}-`;
  const made: Noted[] = [];
  const own: Journal[] = [];
  const locks: (() => void)[] = [];
  const release = () => locks.forEach((each) => each());
  let isReadOnly = context.options.dryRun;
  const stopWriting = async (error: unknown) => {
    if (error instanceof CliError) throw error; // interrupted
    if (!isReadOnly) await context.trace(1, `no journal of this sync: ${reasonOf(error)}`);
    isReadOnly = true;
  };
  try {
    if (!isReadOnly) await files.makeDirectory(directories.state, 0o700).catch(stopWriting);
    const names = await files.list(directories.state).catch((error: unknown) => {
      if (error instanceof CliError) throw error;
      return [];
    });
    const last = Math.max(0, ...names.map((name) => numberIn(name, prefix)));
    for (let number = 1; number <= last || (own.length === 0 && !isReadOnly); number++) {
      const path = join(directories.state, `${prefix}${number}.jsonl`);
      const lock = isReadOnly
        ? undefined
        : await files.lock(`${path}.lock`, process).catch(stopWriting);
      const isOwn = lock !== undefined && "release" in lock;
      if (isOwn) locks.push(lock.release);
      const journal = await openJournal(path, files);
      made.push(...journal.entries.flatMap(notedDocument));
      if (isOwn) own.push(journal);
    }
  } catch (error) {
    release();
    throw error;
  }
  const open = new Set<string>();
  let isRead = false;
  let written = Promise.resolve();
  const append = async (entries: readonly object[]) => {
    const [journal] = own;
    if (!journal || isReadOnly || entries.length === 0) return;
    written = journal.append(entries);
    await written.catch(stopWriting);
  };
  return {
    async withMarks(documents) {
      const uncertain = uncertainDocuments(documents, made);
      const hashes = await arrivedHashes(dataset_id, uncertain, context);
      const marked = documents.map((document) => {
        const found = isUnmarked(document) ? madeAs(document, made, hashes) : undefined;
        if (!found) return document;
        open.add(found.path);
        const marks = {
          [syncFields.path]: found.path,
          [syncFields.source]: source,
          [syncFields.hash]: pendingHash(found.hash),
        };
        return { ...document, metadata: { ...document.metadata, ...marks } };
      });
      isRead = true;
      return marked;
    },
    async note(documents) {
      for (const { path } of documents) open.add(path);
      await append(documents);
    },
    settled: (path) => void open.delete(path),
    async close() {
      const isDone = isRead && open.size === 0;
      await written.catch(() => {}); // traced
      for (const journal of own) if (isDone) await journal.remove().catch(() => {}); // it is read again
      release();
    },
  };
}

/** The number in the name of a journal; 0 for other files. */
const numberIn = (name: string, prefix: string): number =>
  name.startsWith(prefix) ? Number(/^(\d+)\.jsonl$/.exec(name.slice(prefix.length))?.[1] ?? 0) : 0;

/** A document in an entry; none in a damaged one. */
function notedDocument({ path, name, hash, id }: Readonly<Record<string, unknown>>): Noted[] {
  const isValid = [path, name, hash].every((each) => typeof each === "string");
  if (!isValid) return [];
  return [{ path, name, hash, ...(typeof id === "string" && { id }) } as Noted];
}

/** Documents of which an interrupted sync may not have got the response. */
function uncertainDocuments(
  documents: readonly DocumentState[],
  made: readonly Noted[],
): readonly DocumentState[] {
  const ids = new Set(made.map(({ id }) => id));
  const names = new Set(made.map(({ name }) => name));
  return documents.filter((each) => isUnmarked(each) && !ids.has(each.id) && names.has(each.name));
}

const isUnmarked = ({ metadata }: DocumentState): boolean =>
  metadata[syncFields.path] === undefined;

/** What a sync made a document as: by its ID, or else by the name and the content that was sent. */
const madeAs = (
  { id, name }: DocumentState,
  made: readonly Noted[],
  hashes: ContentHashes,
): Noted | undefined =>
  made.findLast((each) => each.id === id) ??
  made.find((each) => each.name === name && each.hash === hashes.get(id));
