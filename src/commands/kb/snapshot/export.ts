import { join } from "node:path";
import { ApiError, CliError, usage, verdict } from "../../../errors.ts";
import type { Files, Host } from "../../../host/host.ts";
import {
  isBelow,
  newPathInside,
  pathInside,
  safePath,
  uniquePath,
  type TakenPaths,
} from "../../../host/safe-path.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { openJournal } from "../../../lib/journal.ts";
import type { Journal } from "../../../lib/journal.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { lockWork, removeUnfinished } from "../../task/files.ts";
import { readKbState } from "../documents/index.ts";
import type { DocumentState } from "../documents/index.ts";
import { fileHash, isBundle, notImported, readManifest, writeManifest } from "./bundle.ts";
import type { BundledDocument, Manifest } from "./bundle.ts";
import { capture } from "./capture.ts";
import type { Captured, FileChange, CaptureStore, StoredContent } from "./capture.ts";
import type { exportParams } from "./command.ts";

type ExportInput = Input<typeof exportParams>;

/** Names the files of an unfinished export, so that they need no second download. */
const journalName = "manifest.part.jsonl";

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
  const journal = await openJournal(join(directory, journalName), files);
  const interrupted = journal.entries.filter(isStoredContent);
  const earlier = [...(before?.state.documents ?? []), ...interrupted];
  const store = exportStore(directory, state.documents, { earlier, journal }, context);
  const given = { dataset_id, state, chunks: !input.no_chunks, store };
  const captured = yield* capture(given, context);
  const { source, rules, kb_export, state: bundled } = captured.manifest;
  const exported_at = context.host.now().toISOString();
  await writeManifest(directory, { kb_export, source, exported_at, state: bundled, rules }, files);
  const kept = new Set(bundled.documents.flatMap(({ file, chunks }) => [file, chunks?.file]));
  const written = {
    before: before?.state.documents ?? [],
    interrupted: [...interrupted, ...journal.entries.filter(isChunkFile)],
  };
  yield* removeStale(directory, { ...written, kept }, files);
  const paths = new Set([...kept].map((file) => join(directory, file ?? "")));
  await removeUnfinished(directory, files, (path) => paths.has(path));
  await journal.remove();
  const withoutFile = bundled.documents.filter(({ file }) => file === null);
  noticeResult(input, captured, withoutFile.length, context);
  if (withoutFile.length > 0) throw incomplete(withoutFile, bundled);
}

/** An export as a store: no file gets the name of one that the last manifest or an interrupted export names. */
function exportStore(
  directory: string,
  documents: readonly DocumentState[],
  { earlier, journal }: { readonly earlier: readonly StoredContent[]; readonly journal: Journal },
  { host: { files } }: Context,
): CaptureStore {
  const known = new Map(earlier.map((each) => [each.id, each]));
  const paths = documentPaths(documents, known, earlier);
  const chunkFiles = new Map(
    earlier.flatMap(({ id, chunks }: StoredContent & Pick<BundledDocument, "chunks">) =>
      chunks ? [[id, chunks.file] as const] : [],
    ),
  );
  const taken: TakenPaths = new Map(); // those of an interrupted export are written again
  for (const file of chunkFiles.values()) uniquePath(file, taken);
  const write = async (file: string, content: Uint8Array | string) =>
    files.writeAtomic(await newPathInside(directory, file, files), content);
  return {
    directory,
    journal,
    known({ id }) {
      const old = known.get(id);
      return old?.file === paths.get(id) ? old : undefined;
    },
    async put({ id }, bytes) {
      const file = paths.get(id) ?? id;
      await write(file, bytes);
      return file;
    },
    async putChunks({ id, file: content }, text, hash) {
      const old = chunkFiles.get(id);
      if (old !== undefined && (await fileHash(directory, old, files)) === hash) return old;
      const name = (content ?? safePath(id)).replace(/^documents\//, "chunks/");
      const file = uniquePath(`${name}.jsonl`, taken);
      // The former one is removed last, by the next export if this one is killed.
      const written = old === undefined ? [file] : [old, file];
      await journal.append(written.map((each) => ({ chunk_file: true, file: each })));
      await write(file, text);
      return file;
    },
    withoutChunks(_, error) {
      if (!(error instanceof ApiError) || error.kind !== "refused") throw error;
      // Without the credentials of its model, the chunks of a knowledge base cannot be read (server §8).
      throw error.with({ hint: "add --no-chunks to export the documents without their chunks" });
    },
  };
}

function noticeResult(
  { directory, no_chunks }: ExportInput,
  { manifest: { state }, changed, edited }: Captured,
  withoutFile: number,
  { summary }: Context,
): void {
  const { documents, settings } = state;
  const counts = `${changed - withoutFile} downloaded, ${documents.length - changed} unchanged`;
  summary(
    `exported ${counted(documents.length, "document")} of ${settings.name} to ${directory}: ${counts}`,
  );
  const encoded = documents.filter(({ name }) => safePath(name) !== name);
  if (encoded.length > 0) {
    const files = encoded.map(({ name }) => `documents/${safePath(name)}`);
    summary(`${counted(encoded.length, "name")} encoded in paths: ${firstNames(files, 3)}`);
  }
  if (edited.length > 0)
    summary(`${counted(edited.length, "document")} with edited chunks: ${firstNames(edited)}`);
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
  if (status && !status.isDirectory) throw usage(`${directory}: not a directory`, ANOTHER);
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

const ANOTHER = "choose another directory";

const unusable = (directory: string, message: string): CliError =>
  usage(`${directory} ${message}`, ANOTHER);

/** Does an entry of the journal name a file of the directory? */
const isNamed = (entry: object): entry is { readonly file: string } =>
  "file" in entry && typeof entry.file === "string" && isBelow(entry.file);
const isChunkFile = (entry: object): entry is { readonly file: string } =>
  "chunk_file" in entry && isNamed(entry);
const isStoredContent = (entry: object): entry is StoredContent => "id" in entry && isNamed(entry);

/** Chooses a path for each document: its old one while the content is the same, or one that no earlier file has. */
function documentPaths(
  documents: readonly DocumentState[],
  known: ReadonlyMap<string, StoredContent>,
  earlier: readonly StoredContent[],
): ReadonlyMap<string, string> {
  const taken: TakenPaths = new Map();
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

/** Removes the files of the last and of an interrupted export that the manifest no longer names. */
async function* removeStale(
  directory: string,
  given: {
    readonly before: readonly BundledDocument[];
    readonly interrupted: readonly Pick<StoredContent, "file">[];
    readonly kept: ReadonlySet<string | null | undefined>;
  },
  files: Files,
): AsyncGenerator<FileChange> {
  const { before, interrupted, kept } = given;
  const remove = async (file: string) => files.remove(await pathInside(directory, file, files));
  for (const { name, file, bytes, chunks } of before) {
    if (chunks !== undefined && !kept.has(chunks.file)) await remove(chunks.file);
    if (file === null || kept.has(file)) continue;
    await remove(file);
    yield { action: "removed", document: name, file, bytes };
  }
  for (const { file } of interrupted) if (file !== null && !kept.has(file)) await remove(file);
}

const incomplete = (withoutFile: readonly BundledDocument[], { documents }: Manifest["state"]) =>
  verdict(
    "partial",
    `${withoutFile.length} of ${documents.length} documents have no file on the server: ${withoutFile[0]?.name}`,
    { without: withoutFile.map(({ id, name }) => ({ id, name })) },
    "documents of other sources, such as web pages, and files that the server has lost cannot be downloaded; their text is in their chunks",
  );
