import { join } from "node:path";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError, usage } from "../../../errors.ts";
import type { Files, Host } from "../../../host/host.ts";
import {
  isBelow,
  newPathInside,
  pathInside,
  safePath,
  uniquePath,
} from "../../../host/safe-path.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { openJournal } from "../../../lib/journal.ts";
import type { Journal } from "../../../lib/journal.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { lockWork } from "../../task/files.ts";
import { readContents, readKbState, readRules } from "../documents/index.ts";
import type { DocumentState, KbState } from "../documents/index.ts";
import { fileHash, isBundle, notImported, readManifest, writeManifest } from "./bundle.ts";
import type { BundledDocument, Manifest } from "./bundle.ts";
import { chunkWriter, isChunkFile } from "./chunk-files.ts";
import type { exportParams } from "./command.ts";

type ExportInput = Input<typeof exportParams>;

/** A change to a file of the directory. */
interface FileChange {
  readonly action: "written" | "removed" | "no content";
  readonly document: string;
  readonly file: string | null;
  readonly bytes: number;
}

/** The file of a document, without what the server may report differently now. */
type StoredDocument = Pick<BundledDocument, "id" | "stored" | "file" | "bytes" | "sha256">;

/** Names the files of an unfinished export, so that they need no second download. */
const journalName = "manifest.part.jsonl";
/** Files between two writes of the journal: with a write for each, 10,000 documents took 13 % longer. */
const journalBatch = 100;

interface ExportRun extends ExportInput {
  readonly state: KbState;
  /** File of each document, by document ID. */
  readonly paths: ReadonlyMap<string, string>;
  /** Documents whose file is in place, by ID. */
  readonly stored: Map<string, StoredDocument>;
  /** Documents to download. */
  readonly changed: readonly DocumentState[];
}

/** Exports a knowledge base. Throws failure while another command is exporting to this directory. */
export async function* run(input: ExportInput, context: Context): AsyncGenerator<FileChange> {
  const release = await lockExport(input.directory, context.host);
  try {
    yield* exportBundle(input, context);
  } finally {
    await release();
  }
}

/**
 * Exports into a locked directory: the exact bytes of documents, and a manifest of everything else.
 * Documents unchanged since the last export are not downloaded again. A changed one is written beside its
 * old file, which is removed after the manifest names the new one: at any time, the directory has a
 * complete export.
 */
export async function* exportBundle(
  input: ExportInput,
  context: Context,
): AsyncGenerator<FileChange> {
  const { dataset_id, directory } = input;
  const { files } = context.host;
  const before = await readManifest(directory, files);
  if (before && before.source.id !== dataset_id)
    throw unusable(directory, `is an export of another knowledge base, ${before.source.name}`);
  const state = await readKbState(dataset_id, context);
  const rules = await readRules(dataset_id, state, context);
  const journal = await openJournal(join(directory, journalName), files);
  const interrupted = journal.entries.filter(isStoredDocument);
  const earlier = [...(before?.state.documents ?? []), ...interrupted];
  const exported = await startExport(input, state, earlier, context);

  await files.makeDirectory(directory);
  await journal.append([]); // from now on, the directory is known as an export
  const withoutFile = yield* download(exported, journal, context);

  const { documents, edited } = await bundleDocuments(exported, earlier, journal, context);
  const manifest: Manifest = {
    kb_export: 2,
    source: { base_url: await context.api.baseUrl(), id: dataset_id, name: state.settings.name },
    exported_at: context.host.now().toISOString(),
    state: { ...state, documents },
    rules,
  };
  await writeManifest(directory, manifest, files);
  const kept = new Set(documents.flatMap(({ file, chunks }) => [file, chunks?.file]));
  const unfinished = [...interrupted, ...journal.entries.filter(isChunkFile)];
  yield* removeStale(
    directory,
    { before: before?.state.documents ?? [], interrupted: unfinished, kept },
    files,
  );
  await journal.remove();
  noticeResult(exported, withoutFile.length, edited, context);
  if (withoutFile.length > 0) throw incomplete(withoutFile, state);
}

/** Finds a path for each document, and the documents whose file is in place already. */
async function startExport(
  input: ExportInput,
  state: KbState,
  earlier: readonly StoredDocument[],
  { host: { files }, progress }: Context,
): Promise<ExportRun> {
  const known = new Map<string, StoredDocument>(
    earlier.map(({ id, stored: upload, file, bytes, sha256: hash }) => [
      id,
      { id, stored: upload, file, bytes, sha256: hash },
    ]),
  );
  const paths = documentPaths(state.documents, known, earlier);
  const stored = new Map<string, StoredDocument>();
  const changed: DocumentState[] = [];
  for (const [done, document] of state.documents.entries()) {
    progress({ verb: "Checking", done, total: state.documents.length, unit: "files" });
    const old = known.get(document.id);
    const isInPlace = old?.file && old.file === paths.get(document.id);
    const hash = isInPlace ? await fileHash(input.directory, old.file, files) : null;
    if (old && hash !== null && hash === old.sha256) stored.set(document.id, old);
    else changed.push(document);
  }
  return { ...input, state, paths, stored, changed };
}

/** Downloads the changed documents; returns those for which the server has no file. */
async function* download(
  { dataset_id, directory, paths, stored, changed }: ExportRun,
  journal: Journal,
  context: Context,
): AsyncGenerator<FileChange, DocumentState[]> {
  const { files } = context.host;
  const withoutFile: DocumentState[] = [];
  const unlogged: StoredDocument[] = [];
  const log = () => journal.append(unlogged.splice(0));
  let done = 0;
  const count = (current?: string) =>
    context.progress({
      verb: "Downloading",
      done,
      total: changed.length,
      unit: "documents",
      failed: withoutFile.length,
      current,
    });
  count();
  try {
    for await (const { document, bytes } of readContents(dataset_id, changed, context)) {
      const { id, name, stored: upload } = document;
      done++;
      count(name);
      if (bytes === undefined) {
        withoutFile.push(document);
        stored.set(id, { id, stored: upload, file: null, bytes: 0, sha256: null });
        yield { action: "no content", document: name, file: null, bytes: 0 };
        continue;
      }
      const file = paths.get(id) ?? id;
      await files.writeAtomic(await newPathInside(directory, file, files), bytes);
      const written = { id, stored: upload, file, bytes: bytes.length, sha256: sha256(bytes) };
      stored.set(id, written);
      unlogged.push(written);
      if (unlogged.length >= journalBatch) await log();
      yield { action: "written", document: name, file, bytes: bytes.length };
    }
  } catch (error) {
    if (!context.signal.aborted || !(error instanceof CliError)) throw error;
    throw error.with(
      { hint: "run the same command again to resume" },
      `${error.message}: ${done} of ${changed.length} documents downloaded`,
    );
  } finally {
    await log();
  }
  return withoutFile;
}

/** The documents for the manifest, with their chunks, and those with chunks that were changed by hand. */
async function bundleDocuments(
  exported: ExportRun,
  earlier: readonly Partial<BundledDocument>[],
  journal: Journal,
  context: Context,
): Promise<{ readonly documents: BundledDocument[]; readonly edited: DocumentState[] }> {
  const { state, stored, no_chunks } = exported;
  const writer = chunkWriter(exported, [...earlier, ...journal.entries], journal, context);
  const total = state.documents.length;
  const documents: BundledDocument[] = [];
  const edited: DocumentState[] = [];
  const bundle = async (document: DocumentState) => {
    const file = stored.get(document.id);
    const { from_api: _, ...kept } = document;
    if (!file) return undefined;
    if (no_chunks) return { ...kept, ...file };
    const { isEdited, ...chunks } = await writer(document, file.file ?? safePath(document.id));
    if (isEdited) edited.push(document);
    return { ...kept, ...file, chunks };
  };
  const limit = context.api.limitConcurrency();
  for await (const document of mapConcurrent(state.documents, limit, bundle)) {
    if (document) documents.push(document);
    if (no_chunks) continue;
    const [done, current] = [documents.length, document?.name];
    context.progress({ verb: "Reading chunks", done, total, unit: "documents", current });
  }
  return { documents, edited };
}

function noticeResult(
  { directory, no_chunks, state, changed }: ExportRun,
  withoutFile: number,
  edited: readonly DocumentState[],
  { summary }: Context,
): void {
  const { documents, settings } = state;
  const counts = `${changed.length - withoutFile} downloaded, ${documents.length - changed.length} unchanged`;
  summary(
    `exported ${counted(documents.length, "document")} of ${settings.name} to ${directory}: ${counts}`,
  );
  const encoded = documents.filter(({ name }) => safePath(name) !== name);
  if (encoded.length > 0) {
    const files = encoded.map(({ name }) => `documents/${safePath(name)}`);
    summary(`${counted(encoded.length, "name")} encoded in paths: ${firstNames(files, 3)}`);
  }
  if (edited.length > 0)
    summary(
      `${counted(edited.length, "document")} with edited chunks: ${firstNames(edited.map(({ name }) => name))}`,
    );
  const lost = notImported(settings);
  summary(
    no_chunks
      ? `not exported: ${lost}; without --no-chunks they are`
      : `to import with ${lost}: ${commandLine("kb import", [directory], { "as-is": true })}`,
  );
}

/**
 * Locks a directory, also against other containers, and creates it if it is missing. Throws usage, and
 * writes nothing, if it has anything but an export. Returns what releases the lock, and removes the directory
 * again if nothing was written.
 */
async function lockExport(directory: string, host: Host): Promise<() => Promise<void>> {
  const { files } = host;
  const status = await files.stat(directory);
  if (status && !status.isDirectory) throw unusable(directory, "is not a directory");
  const entries = status ? await files.entries(directory) : [];
  const link = entries.find(({ name, isLink }) => isLink && name.startsWith("manifest."));
  if (link) throw unusable(directory, `has a link that no export made, ${link.name}`);
  // Also the lock of an export that was killed before it wrote anything else.
  const isOwn = entries.length === 0 || entries.some(({ name }) => name.startsWith(journalName));
  if (!isOwn && !(await isBundle(directory, files)))
    throw unusable(directory, "is not empty and not an export");
  await files.makeDirectory(directory);
  const busy = `another command is exporting to ${directory}`;
  const release = await lockWork(join(directory, journalName), busy, host);
  return async () => {
    release();
    if (!status) await files.removeEmptyDirectory(directory);
  };
}

const unusable = (directory: string, message: string): CliError =>
  usage(`${directory} ${message}`, "choose another directory");

/** Is an entry of the journal a file of the directory? */
const isStoredDocument = (entry: object): entry is StoredDocument =>
  "file" in entry && typeof entry.file === "string" && isBelow(entry.file);

/**
 * Chooses a path for each document, no two differing only in case: its old one while the content is
 * the same, or else one that no earlier file has.
 */
function documentPaths(
  documents: readonly DocumentState[],
  known: ReadonlyMap<string, StoredDocument>,
  earlier: readonly StoredDocument[],
): ReadonlyMap<string, string> {
  const taken = new Set<string>();
  const paths = new Map<string, string>();
  for (const { id, name, stored } of documents) {
    const old = known.get(id);
    if (!old?.file || old.stored !== stored) continue;
    // The file of a renamed document moves; a number that avoids a conflict stays.
    const isSameName = withoutNumbers(old.file) === withoutNumbers(`documents/${safePath(name)}`);
    if (isSameName && uniquePath(old.file, taken) === old.file) paths.set(id, old.file);
  }
  const kept = new Set(paths.values());
  for (const file of new Set(earlier.map((each) => each.file)))
    if (file !== null && !kept.has(file)) uniquePath(file, taken);
  for (const { id, name } of documents) {
    if (!paths.has(id)) paths.set(id, uniquePath(`documents/${safePath(name)}`, taken));
  }
  return paths;
}

/** A path without the numbers that make it unique: `a (2)/b (3).md` → `a/b.md`. */
const withoutNumbers = (path: string): string =>
  path.replaceAll(/ \(\d+\)(?=(\.[^./]*)?(\/|$))/g, "");

/** Files of the directory. */
interface ExportedFiles {
  readonly before: readonly BundledDocument[];
  readonly interrupted: readonly Pick<StoredDocument, "file">[];
  readonly kept: ReadonlySet<string | null | undefined>;
}

/** Removes the files of the last and of an interrupted export that the manifest no longer names. */
async function* removeStale(
  directory: string,
  { before, interrupted, kept }: ExportedFiles,
  files: Files,
): AsyncGenerator<FileChange> {
  const remove = async (file: string) => files.remove(await pathInside(directory, file, files));
  for (const { name, file, bytes, chunks } of before) {
    if (chunks !== undefined && !kept.has(chunks.file)) await remove(chunks.file);
    if (file === null || kept.has(file)) continue;
    await remove(file);
    yield { action: "removed", document: name, file, bytes };
  }
  for (const { file } of interrupted) if (file !== null && !kept.has(file)) await remove(file);
}

const incomplete = (withoutFile: readonly DocumentState[], { documents }: KbState) =>
  new CliError(
    "partial",
    `${withoutFile.length} of ${documents.length} documents have no file on the server: ${withoutFile[0]?.name}`,
    {
      isResult: true,
      details: { without: withoutFile.map(({ id, name }) => ({ id, name })) },
      hint: "documents of other sources, such as web pages, cannot be downloaded; their text is in their chunks",
    },
  );
