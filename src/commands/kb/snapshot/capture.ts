import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError } from "../../../errors.ts";
import { collect } from "../../../lib/collect.ts";
import type { Journal } from "../../../lib/journal.ts";
import { sha256 } from "../../../lib/sha256.ts";
import type { Context } from "../../task/command-spec.ts";
import { chunkLine, readChunks } from "../chunk-lists/index.ts";
import { readContents, readRules } from "../documents/index.ts";
import type { DocumentState, KbState } from "../documents/index.ts";
import { fileHash } from "./bundle.ts";
import type { BundledDocument, Manifest } from "./bundle.ts";

/** The content of a document in a store, and which write of the content it is of. */
export type StoredContent = Pick<BundledDocument, "id" | "stored" | "file" | "bytes" | "sha256">;

/** Where the files of a knowledge base go: an export or a backup. Paths are below its directory, with `/`. */
export interface CaptureStore {
  readonly directory: string;
  /** Names what an unfinished command has stored, so that it needs no second download. */
  readonly journal: Journal;
  /** Chunking rules that an earlier command has read, by rule ID. */
  readonly rules?: Readonly<Record<string, unknown>> | undefined;
  /** The content that an earlier command has stored at the path that the document would get now. */
  known(document: DocumentState): StoredContent | undefined;
  /** Stores a content, and returns its path. */
  put(document: DocumentState, bytes: Uint8Array): Promise<string>;
  /** Stores the chunks of a document, and returns their path. */
  putChunks(document: BundledDocument, text: string, hash: string): Promise<string>;
  /** Notes that the chunks of a document cannot be read; throws if nothing is stored without them. */
  withoutChunks(document: BundledDocument, error: unknown): void;
  /** Is the server still making the chunks of a document, so that they are not stored? */
  isUnready?(document: BundledDocument): boolean;
}

/** A change to a file of a store. */
export interface FileChange {
  readonly action: "written" | "removed" | "no content";
  readonly document: string;
  readonly file: string | null;
  readonly bytes: number;
}

/** What a store has of a knowledge base now. */
export interface Captured {
  readonly manifest: Omit<Manifest, "exported_at">;
  /** Number of documents whose content was not stored yet. */
  readonly changed: number;
  /** Names of documents whose files the server has lost. */
  readonly lost: readonly string[];
  /** Names of documents with chunks that were changed by hand. */
  readonly edited: readonly string[];
}

/** Files between two writes of the journal: with a write for each, 10,000 documents took 13 % longer. */
const journalBatch = 100;

/**
 * Reads the documents of a knowledge base into a store, exact bytes, with their chunks unless these are not
 * wanted. Sends reads only, and downloads only what the store does not have, undamaged, since the last write.
 */
export async function* capture(
  given: {
    readonly dataset_id: string;
    readonly state: KbState;
    readonly chunks: boolean;
    readonly store: CaptureStore;
  },
  context: Context,
): AsyncGenerator<FileChange, Captured> {
  const { dataset_id, state, store } = given;
  const rules = await readRules({ dataset_id, state, known: store.rules }, context);
  const stored = new Map<string, StoredContent>();
  const changed: DocumentState[] = [];
  const lostNames: string[] = [];
  const total = state.documents.length;
  for (const [done, document] of state.documents.entries()) {
    context.progress({ verb: "Checking", done, total, unit: "files" });
    const known = store.known(document);
    const isSame = known?.file && known.stored === document.stored;
    const hash = isSame ? await fileHash(store.directory, known.file, context.host.files) : null;
    if (known && hash !== null && hash === known.sha256) stored.set(document.id, known);
    else changed.push(document);
  }
  await context.host.files.makeDirectory(store.directory);
  await store.journal.append([]); // from now on, the directory is known as an export
  yield* download(dataset_id, { changed, stored, lostNames }, store, context);
  const contents = state.documents.map((each): BundledDocument => {
    const { from_api: _, ...document } = each;
    const { file = null, bytes = 0, sha256: hash = null } = stored.get(each.id) ?? {};
    return { ...document, file, bytes, sha256: hash };
  });
  const { doc_form, name } = state.settings;
  const { documents, edited } = given.chunks
    ? await withChunks({ dataset_id, doc_form, contents }, store, context)
    : { documents: contents, edited: [] };
  const source = { base_url: await context.api.baseUrl(), id: dataset_id, name };
  const manifest = { kb_export: 2, source, state: { ...state, documents }, rules } as const;
  return { manifest, changed: changed.length, lost: lostNames, edited };
}

/** Downloads the changed documents, and adds them to the stored ones. */
async function* download(
  dataset_id: string,
  found: {
    readonly changed: readonly DocumentState[];
    readonly stored: Map<string, StoredContent>;
    readonly lostNames: string[];
  },
  store: CaptureStore,
  context: Context,
): AsyncGenerator<FileChange> {
  const { changed, stored, lostNames } = found;
  const unlogged: StoredContent[] = [];
  const log = () => store.journal.append(unlogged.splice(0));
  const [unit, total] = ["documents", changed.length];
  let [done, failed] = [0, 0];
  const count = (current?: string) =>
    context.progress({ verb: "Downloading", done, total, unit, failed, current });
  count();
  try {
    for await (const { document, bytes, lost } of readContents(dataset_id, changed, context)) {
      const { id, name, stored: upload } = document;
      done++;
      count(name);
      if (bytes === undefined) {
        failed++;
        if (lost) lostNames.push(name);
        yield { action: "no content", document: name, file: null, bytes: 0 };
        continue;
      }
      const file = await store.put(document, bytes);
      const written = { id, stored: upload, file, bytes: bytes.length, sha256: sha256(bytes) };
      stored.set(id, written);
      unlogged.push(written);
      if (unlogged.length >= journalBatch) await log();
      yield { action: "written", document: name, file, bytes: bytes.length };
    }
  } catch (error) {
    if (!context.host.signal.aborted || !(error instanceof CliError)) throw error;
    throw error.with(
      { hint: "run the same command again to resume" },
      `${error.message}: ${done} of ${total} documents downloaded`,
    );
  } finally {
    await log();
  }
}

/** Stores the chunks of all documents; they have no sign of a change, so all lists are read. */
async function withChunks(
  given: {
    readonly dataset_id: string;
    readonly doc_form: string | null;
    readonly contents: readonly BundledDocument[];
  },
  store: CaptureStore,
  context: Context,
): Promise<{ readonly documents: BundledDocument[]; readonly edited: string[] }> {
  const { dataset_id, doc_form, contents } = given;
  const documents: BundledDocument[] = [];
  const edited: string[] = [];
  const add = async (document: BundledDocument): Promise<BundledDocument> => {
    if (store.isUnready?.(document)) return document;
    const place = { dataset_id, document_id: document.id, doc_form };
    const chunks = await collect(readChunks(place, context)).catch((error: unknown) =>
      store.withoutChunks(document, error),
    );
    if (!chunks) return document;
    if (chunks.some(({ isEdited }) => isEdited)) edited.push(document.name);
    const text = chunks.map(chunkLine).join("");
    const hash = sha256(text);
    const file = await store.putChunks(document, text, hash);
    return { ...document, chunks: { file, sha256: hash } };
  };
  const [total, limit] = [contents.length, context.api.limitConcurrency()];
  for await (const document of mapConcurrent(contents, limit, add)) {
    const [done, current] = [documents.push(document), document.name];
    context.progress({ verb: "Reading chunks", done, total, unit: "documents", current });
  }
  return { documents, edited };
}
