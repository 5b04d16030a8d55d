import { ApiError, CliError, usage } from "../../../errors.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { unzipDocuments } from "../../../lib/formats/unzip.ts";
import {
  downloadDocumentsZip,
  getDocument,
  replaceDocument,
  updateDocumentByFile,
} from "../../../operations/documents.ts";
import type { DocumentInBatch } from "../../../operations/documents.ts";
import type { Context } from "../../task/command-spec.ts";
import { collect } from "../../../lib/collect.ts";
import { listChunks } from "../../../operations/chunks.ts";
import type { Input, InputOf } from "../../../operations/operation.ts";
import type { catParams, downloadParams } from "./command.ts";
import { requireField } from "../../../api/response.ts";
import type { Files } from "../../../host/host.ts";
import { newPathInside, safePath, uniquePath } from "../../../host/safe-path.ts";
import type { CallOptions } from "../../../api/calls.ts";

/** Number of documents that a server puts into one ZIP (server §9.3). */
export const MAX_ZIP_DOCUMENTS = 100;

/** A document and its bytes; undefined if the server has no file for it. */
export interface DocumentContent<D> {
  readonly document: D;
  readonly bytes: Uint8Array | undefined;
}

/**
 * Downloads the exact bytes of documents, in order, up to 100 per request. One document without a
 * file makes its whole ZIP fail (server §9.7); such a ZIP is split in halves until only that document
 * is missing: [a b x d] → 404 → [a b] [x d] → 404 → [x] [d].
 */
export async function* readContents<D extends { readonly id: string }>(
  dataset_id: string,
  all: readonly D[],
  context: Context,
): AsyncGenerator<DocumentContent<D>> {
  for (let at = 0; at < all.length; at += MAX_ZIP_DOCUMENTS)
    yield* readBatch(dataset_id, all.slice(at, at + MAX_ZIP_DOCUMENTS), context);
}

async function* readBatch<D extends { readonly id: string }>(
  dataset_id: string,
  batch: readonly D[],
  context: Context,
): AsyncGenerator<DocumentContent<D>> {
  const document_ids = batch.map(({ id }) => id);
  let zip: AsyncIterable<Uint8Array>;
  try {
    zip = await fetchZip(dataset_id, document_ids, context);
  } catch (error) {
    const isMissing = error instanceof ApiError && error.kind === "not-found";
    const [only] = batch;
    if (!isMissing || only === undefined) throw error;
    if (batch.length === 1) {
      yield { document: only, bytes: undefined };
      return;
    }
    const middle = batch.length >> 1;
    yield* readBatch(dataset_id, batch.slice(0, middle), context);
    yield* readBatch(dataset_id, batch.slice(middle), context);
    return;
  }
  yield* unzipDocuments(zip, batch);
}

/** Downloads documents as one ZIP. */
export const fetchZip = async (
  dataset_id: string,
  document_ids: readonly string[],
  context: Context,
): Promise<AsyncIterable<Uint8Array>> => {
  const bytes = await context.api.call(downloadDocumentsZip, { dataset_id, document_ids });
  return bytes as AsyncIterable<Uint8Array>; // the response of a file operation is its bytes
};

/** Hashes the contents of documents, by ID; null for a document without a file. */
export async function contentHashes(
  dataset_id: string,
  all: readonly { readonly id: string }[],
  context: Context,
): Promise<ReadonlyMap<string, string | null>> {
  const hashes = new Map<string, string | null>();
  const count = () =>
    context.progress({
      verb: "Comparing",
      done: hashes.size,
      total: all.length,
      unit: "documents",
    });
  if (all.length > 0) count();
  for await (const { document, bytes } of readContents(dataset_id, all, context)) {
    hashes.set(document.id, bytes ? sha256(bytes) : null);
    count();
  }
  return hashes;
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
    const bytes = chunks ? undefined : await contentOf(dataset_id, id, context);
    if (bytes) yield bytes;
    else yield* chunkTexts(dataset_id, id, context);
    if (!bytes && !chunks)
      await context.notice(`no file of document ${context.enteredName(id)}: these are its chunks`);
  }
}

/** The bytes of a document; undefined if the server has no file, or is too old to return it. */
async function contentOf(
  dataset_id: string,
  id: string,
  context: Context,
): Promise<Uint8Array | undefined> {
  try {
    const [content] = await collect(readContents(dataset_id, [{ id }], context));
    return content?.bytes;
  } catch (error) {
    if (error instanceof CliError && error.kind === "unsupported") return undefined;
    throw error;
  }
}

/** The chunks with an empty line between them; a question and its answer are two lines. */
async function* chunkTexts(
  dataset_id: string,
  document_id: string,
  { api }: Context,
): AsyncGenerator<string> {
  let between = "";
  for await (const { content, answer } of api.rows(listChunks, { dataset_id, document_id })) {
    yield `${between}${[content, answer].filter(Boolean).join("\n")}\n`;
    between = "\n";
  }
}

type DownloadInput = Input<typeof downloadParams>;

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
  input: DownloadInput,
  context: Context,
): AsyncGenerator<WrittenFile | Uint8Array> {
  const { dataset_id, document_id, dir, zip } = input;
  if ((dir === undefined) === (zip === undefined)) {
    throw usage("exactly one of --dir and --zip is required");
  }
  if (zip === undefined) {
    yield* writeFiles(input, dir ?? ".", context);
    return;
  }
  if (document_id.length > MAX_ZIP_DOCUMENTS) {
    throw usage(`--zip is limited to ${MAX_ZIP_DOCUMENTS} documents`, "use --dir");
  }
  const bytes = await fetchZip(dataset_id, document_id, context);
  if (zip === "-") yield* bytes;
  else yield await writeZip(zip, bytes, context);
}

async function writeZip(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  { host }: Context,
): Promise<WrittenFile> {
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

/**
 * Writes documents as files, 100 per request. An existing file with other content is kept, and the
 * command fails after all other files are written.
 */
async function* writeFiles(
  { dataset_id, document_id, overwrite = false }: DownloadInput,
  directory: string,
  context: Context,
): AsyncGenerator<WrittenFile> {
  const { files } = context.host;
  const taken = new Set<string>();
  const conflicts: string[] = [];
  for (let at = 0; at < document_id.length; at += MAX_ZIP_DOCUMENTS) {
    const ids = document_id.slice(at, at + MAX_ZIP_DOCUMENTS);
    const documents: { readonly id: string; readonly name: string }[] = [];
    for (const id of ids) {
      const { name } = await context.api.call(getDocument, { dataset_id, document_id: id });
      documents.push({ id, name: requireField(name, "name") });
    }
    const zip = await fetchZip(dataset_id, ids, context);
    for await (const { document, bytes } of unzipDocuments(zip, documents)) {
      const { id, name: documentName } = document;
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
  }
  if (conflicts.length > 0) throw alreadyExist(conflicts);
}

async function hasOtherContent(path: string, bytes: Uint8Array, files: Files): Promise<boolean> {
  const existing = await files.stat(path);
  if (!existing?.isFile) return false; // nothing, or something that fails the write itself
  return existing.size !== bytes.length || Buffer.compare(await files.read(path), bytes) !== 0;
}

const alreadyExist = (paths: readonly string[]): CliError => {
  const [first = ""] = paths;
  const others = paths.length > 1 ? ` (and ${paths.length - 1} more)` : "";
  return usage(
    `${first} already exists with other content${others}`,
    "move it away, or add --overwrite",
    { isResult: true, details: { paths } },
  );
};

/**
 * Replaces the file of a document. A server before 1.14.0 rejects the route and gets the older one
 * (server §9.4, §19); a rejected route changed nothing, so this is not a retry.
 */
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
  yield await replaceFile(input, context);
}
