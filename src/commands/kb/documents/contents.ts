import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { ApiError, CliError, ignoring, usage, verdict } from "../../../errors.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { unzip } from "../../../lib/formats/unzip.ts";
import {
  downloadDocumentsZip,
  getDocument,
  replaceDocument,
  updateDocumentByFile,
} from "../../../operations/documents.ts";
import type { DocumentInBatch } from "../../../operations/documents.ts";
import type { Context } from "../../task/command-spec.ts";
import { collect, slices } from "../../../lib/collect.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { firstNames } from "../../../lib/text.ts";
import { listChunks } from "../../../operations/chunks.ts";
import type { Chunk } from "../../../operations/chunks.ts";
import type { Input, InputOf } from "../../../operations/operation.ts";
import { nameLosses } from "./losses.ts";
import { PLACEHOLDER } from "./state.ts";
import type { catParams, downloadParams } from "./command.ts";
import { requireField } from "../../../api/response.ts";
import type { Files } from "../../../host/host.ts";
import { newPathInside, safePath, uniquePath, type TakenPaths } from "../../../host/safe-path.ts";
import type { CallOptions } from "../../../api/calls.ts";

/** Number of documents that a server puts into one ZIP (server §9.3). */
const MAX_ZIP_DOCUMENTS = 100;

/** Bytes of a ZIP with several documents that are held until all have arrived. */
const MAX_HELD = 32 * 1024 * 1024;

/** Downloads side by side after a ZIP that did not arrive, how long each may stay silent, in ms, and attempts at it. */
const ALONE = 4;
const MAX_SILENCE = 15_000;
const ATTEMPTS = 3;

/** A document and its bytes; undefined if the server has no file for it. */
interface DocumentContent<D> {
  readonly document: D;
  readonly bytes: Uint8Array | undefined;
  /** Had it a file, which does not arrive although the server answers? Its storage has lost it. */
  readonly lost: boolean;
}

/**
 * Downloads the exact bytes of documents, in order, up to 100 per request. One document without a
 * file makes its whole ZIP fail (server §9.7); such a ZIP is split in halves until only that document
 * is missing: [a b x d] → 404 → [a b] [x d] → 404 → [x] [d]. One whose file is gone from the storage makes
 * the ZIP never arrive; each document is then fetched alone, since to wait for each half takes longer.
 */
export async function* readContents<D extends { readonly id: string }>(
  dataset_id: string,
  all: readonly D[],
  context: Context,
): AsyncGenerator<DocumentContent<D>> {
  let { api } = context;
  for (const batch of slices(all, MAX_ZIP_DOCUMENTS)) {
    const [only, ...others] = batch;
    let contents: readonly Uint8Array[] | undefined;
    try {
      contents = await readZip(
        await fetchZip(dataset_id, idsOf(batch), { ...context, api }),
        batch.length,
      );
    } catch (error) {
      if (!only) throw error;
      if (await isLost(error, { dataset_id, document_id: only.id }, context)) {
        // One broken transfer proves nothing: a lost file does not arrive alone, or again, either.
        yield* readEach(dataset_id, batch, context);
        api = api.with({ retries: 0 }); // other ZIPs may lack files, too: not each waits for retries
      } else if (others.length === 0) yield { document: only, bytes: undefined, lost: false };
      else
        for (const half of slices(batch, Math.ceil(batch.length / 2)))
          yield* readContents(dataset_id, half, { ...context, api });
      continue;
    }
    if (contents || others.length === 0)
      for (const [at, document] of batch.entries())
        yield { document, bytes: contents?.[at], lost: false };
    else for (const one of batch) yield* readContents(dataset_id, [one], context);
  }
}

/**
 * The files of a ZIP of so many documents; undefined if it lacks some, or has too much for the memory. Only a whole
 * ZIP tells whose each is: a document whose record of its file is missing has no entry (server §9.7).
 */
async function readZip(
  zip: AsyncIterable<Uint8Array>,
  documents: number,
): Promise<readonly Uint8Array[] | undefined> {
  const contents: Uint8Array[] = [];
  let size = 0;
  for await (const content of unzip(zip)) {
    size += content.length;
    if (documents > 1 && size > MAX_HELD) return undefined;
    if (contents.push(content) > documents)
      throw new CliError("failure", `invalid ZIP: more than ${documents} files`);
  }
  return contents.length === documents ? contents : undefined;
}

/** Fetches each document alone, in order. */
async function* readEach<D extends { readonly id: string }>(
  dataset_id: string,
  documents: readonly D[],
  context: Context,
): AsyncGenerator<DocumentContent<D>> {
  const api = context.api.with({ retries: 0, idleTimeout: MAX_SILENCE });
  const again = { ...context, api };
  const one = async (document: D, attempt = 1): Promise<DocumentContent<D>> => {
    let zip: AsyncIterable<Uint8Array>;
    try {
      zip = await fetchZip(dataset_id, [document.id], again);
    } catch (error) {
      const lost = await isLost(error, { dataset_id, document_id: document.id }, again);
      return { document, bytes: undefined, lost };
    }
    try {
      return { document, bytes: (await readZip(zip, 1))?.[0], lost: false };
    } catch (error) {
      // A server answers once it has the whole ZIP (server §9.7): a truncated one lacks no file.
      if (!isBroken(error, context) || attempt === ATTEMPTS) throw error;
      return one(document, attempt + 1);
    }
  };
  yield* mapConcurrent(documents, ALONE, (document) => one(document));
}

/**
 * May the storage have lost the file that did not arrive, or did the document have none? Throws any other error, and
 * that of a server which does not answer at all.
 */
async function isLost(error: unknown, document: InputOf<typeof getDocument>, context: Context) {
  if (error instanceof ApiError && error.kind === "not-found") return false;
  if (!isBroken(error, context)) throw error;
  await context.api.call(getDocument, document);
  return true;
}

/** Did a response not arrive, or only an error of the server or a proxy in front of it? */
const isBroken = (error: unknown, { host }: Context): boolean =>
  error instanceof CliError &&
  !host.signal.aborted &&
  (error.kind === "network" || (error instanceof ApiError && error.response.status >= 500));

async function fetchZip(dataset_id: string, document_ids: readonly string[], { api }: Context) {
  const bytes = await api.call(downloadDocumentsZip, { dataset_id, document_ids });
  return bytes as AsyncIterable<Uint8Array>; // the response of a file operation is its bytes
}

const idsOf = (documents: readonly { readonly id: string }[]) => documents.map(({ id }) => id);

/** Hashes of contents by the ID of the document: null without a file, undefined for one that did not arrive. */
export type ContentHashes = ReadonlyMap<string, string | null | undefined>;

/** Hashes the contents of documents. */
export async function contentHashes(
  dataset_id: string,
  all: readonly { readonly id: string }[],
  context: Context,
  hashOf: (bytes: Uint8Array) => string = sha256,
): Promise<ContentHashes> {
  const hashes = new Map<string, string | null | undefined>();
  const total = all.length;
  const count = () =>
    context.progress({ verb: "Comparing", done: hashes.size, total, unit: "documents" });
  if (total > 0) count();
  for await (const { document, bytes, lost } of readContents(dataset_id, all, context)) {
    const none = lost ? undefined : null;
    hashes.set(document.id, bytes ? hashOf(bytes) : none);
    count();
  }
  return hashes;
}

/** Hashes contents, of which one may be that of a document to make: throws network if it does not arrive. */
export async function arrivedHashes(
  dataset_id: string,
  all: readonly { readonly id: string; readonly name: string }[],
  context: Context,
): Promise<ContentHashes> {
  const hashes = await contentHashes(dataset_id, all, context);
  const missing = all.find(({ id }) => hashes.get(id) === undefined);
  if (!missing) return hashes;
  throw new CliError("network", `the content of document ${missing.name} does not arrive`, {
    sideEffect: "none",
    hint: "run the same command again; if the server has lost its file, rename or delete the document",
  });
}

/**
 * Prints the contents of documents, byte for byte; with `chunks`, or for a document without a file, the
 * texts of its chunks in order. Children are parts of their chunk, which has the whole text (server §9.8).
 */
export async function* cat(
  { dataset_id, document_id, chunks = false }: Input<typeof catParams>,
  context: Context,
): AsyncGenerator<Uint8Array | string> {
  for (const id of document_id) {
    const stored = chunks
      ? undefined
      : await contentOf(dataset_id, id, context).catch(ignoring("unsupported")); // too old
    const bytes = stored && Buffer.from(PLACEHOLDER).equals(stored) ? undefined : stored;
    if (bytes) yield bytes;
    else yield* chunkTexts(context.api.rows(listChunks, { dataset_id, document_id: id }));
    const what = `no ${stored ? "text" : "file"} of document ${context.enteredName(id)}`;
    if (!bytes && !chunks) await context.notice(`${what}: these are its chunks`);
  }
}

/** The bytes of a document; undefined if the server has no file. */
export async function contentOf(
  dataset_id: string,
  id: string,
  context: Context,
): Promise<Uint8Array | undefined> {
  const [content] = await collect(readContents(dataset_id, [{ id }], context));
  return content?.bytes;
}

type ChunkText = Pick<Chunk, "content" | "answer">;

/** The chunks with an empty line between them; a question and its answer are two lines. */
export async function* chunkTexts(
  chunks: AsyncIterable<ChunkText> | Iterable<ChunkText>,
): AsyncGenerator<string> {
  let between = "";
  for await (const { content, answer } of chunks) {
    yield `${between}${[content, answer].filter(Boolean).join("\n")}\n`;
    between = "\n";
  }
}

interface WrittenFile {
  readonly document_id: string | null;
  readonly path: string;
  readonly bytes: number;
}

/**
 * Downloads the exact bytes of documents as a ZIP, or as files. Entries of the ZIP are in the order of
 * the request and have base names only, so the names of documents are restored by order (server §18).
 */
export async function* download(
  input: Input<typeof downloadParams>,
  context: Context,
): AsyncGenerator<WrittenFile | Uint8Array> {
  const { dataset_id, document_id, dir, zip } = input;
  if ((dir === undefined) === (zip === undefined)) {
    throw usage("exactly one of --dir and --zip is required", "into this directory: --dir .");
  }
  if (zip === undefined) return yield* writeFiles(input, dir ?? ".", context);
  if (document_id.length > MAX_ZIP_DOCUMENTS) {
    throw usage(`--zip is limited to ${MAX_ZIP_DOCUMENTS} documents`, "use --dir");
  }
  const bytes = await fetchZip(dataset_id, document_id, context);
  if (zip === "-") yield* bytes;
  else yield await writeZip(zip, bytes, context);
}

async function writeZip(path: string, pieces: AsyncIterable<Uint8Array>, { host }: Context) {
  let bytes = 0;
  async function* counted() {
    for await (const piece of pieces) {
      bytes += piece.length;
      yield piece;
    }
  }
  await host.files.writeAtomic(path, counted());
  return { document_id: null, path, bytes };
}

/** Writes documents as files; existing other content and missing files are named, and fail the command at the end. */
async function* writeFiles(
  { dataset_id, document_id, overwrite = false }: Input<typeof downloadParams>,
  directory: string,
  context: Context,
): AsyncGenerator<WrittenFile> {
  const { files } = context.host;
  const taken: TakenPaths = new Map();
  const conflicts: string[] = [];
  const lacking: string[] = [];
  const documents: { readonly id: string; readonly name: string }[] = [];
  for (const id of document_id) {
    const { name } = await context.api.call(getDocument, { dataset_id, document_id: id });
    documents.push({ id, name: requireField(name, "name") });
  }
  for await (const { document, bytes } of readContents(dataset_id, documents, context)) {
    const { id, name: documentName } = document;
    if (!bytes) {
      lacking.push(documentName);
      await context.notice(`the server has no file of document ${documentName}`);
      continue;
    }
    const name = uniquePath(safePath(documentName), taken);
    const path = `${directory}/${name}`;
    const place = await newPathInside(directory, name, files);
    if (!overwrite && (await hasOtherContent(place, bytes, files))) {
      conflicts.push(path);
      continue;
    }
    await files.writeAtomic(place, bytes);
    if (name !== documentName) await context.notice(`wrote document ${documentName} to ${path}`);
    yield { document_id: id, path, bytes: bytes.length };
  }
  const [first] = conflicts;
  if (first === undefined && lacking.length > 0)
    throw verdict(
      "partial",
      `not downloaded: ${firstNames(lacking)}`,
      { lacking },
      `their chunks: ${commandLine("kb cat", [dataset_id, lacking[0] ?? ""])}`,
    );
  if (first === undefined) return;
  const others = conflicts.length > 1 ? ` (and ${conflicts.length - 1} more)` : "";
  const result = { isResult: true, details: { paths: conflicts } };
  const hint = "move it away, or add --overwrite";
  throw usage(`${first} already exists with other content${others}`, hint, result);
}

async function hasOtherContent(path: string, bytes: Uint8Array, files: Files): Promise<boolean> {
  const existing = await files.stat(path);
  if (!existing?.isFile) return false; // nothing, or something that fails the write itself
  return existing.size !== bytes.length || Buffer.compare(await files.read(path), bytes) !== 0;
}

/** Replaces the file of a document; servers before 1.14.0 reject the route and get the older one (server §9.4, §19). */
export async function replaceFile(
  input: InputOf<typeof replaceDocument>,
  context: Context,
  options?: Pick<CallOptions, "onSent">,
): Promise<DocumentInBatch> {
  try {
    return await context.api.call(replaceDocument, input, options);
  } catch (error) {
    if (!(error instanceof ApiError) || error.response.status !== 405) throw error;
    await context.trace(1, "the server does not have this route; using the older one");
    return context.api.call(updateDocumentByFile, input, options);
  }
}

export async function* replace(
  input: InputOf<typeof replaceDocument>,
  context: Context,
): AsyncGenerator<DocumentInBatch> {
  await nameLosses(input.dataset_id, [input.document_id], context);
  yield await replaceFile(input, context);
}
