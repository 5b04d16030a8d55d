import { ApiError } from "../../../errors.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { unzipDocuments } from "../../../lib/formats/unzip.ts";
import { downloadDocumentsZip } from "../../../operations/documents.ts";
import type { Context } from "../../task/command-spec.ts";

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
