import { ApiError } from "../../../errors.ts";
import { downloadDocumentsZip } from "../../../operations/documents.ts";
import type { Context } from "../../command-spec.ts";
import { unzip, wrongFileCount } from "../../../lib/unzip.ts";

/** Documents a server puts into one ZIP (server §9.3). */
const most = 100;

/** One document and its bytes; undefined where the server has none to give. */
export interface DocumentContent<D> {
  readonly document: D;
  readonly bytes: Uint8Array | undefined;
}

/**
 * Content of documents, exact to the byte, in their order, a hundred with each request. A document
 * without a file makes its whole ZIP fail (server §9.7), so such a ZIP is asked for in halves.
 */
export async function* readContents<D extends { readonly id: string }>(
  dataset_id: string,
  wanted: readonly D[],
  context: Context,
): AsyncGenerator<DocumentContent<D>> {
  for (let at = 0; at < wanted.length; at += most) {
    yield* batch(wanted.slice(at, at + most));
  }

  async function* batch(some: readonly D[]): AsyncGenerator<DocumentContent<D>> {
    let bytes: AsyncIterable<Uint8Array>;
    try {
      const document_ids = some.map(({ id }) => id);
      // A file row answers with its bytes.
      bytes = (await context.call(downloadDocumentsZip, {
        dataset_id,
        document_ids,
      })) as AsyncIterable<Uint8Array>;
    } catch (error) {
      const without = error instanceof ApiError && error.kind === "not-found";
      const [only] = some;
      if (!without || only === undefined) throw error;
      if (some.length === 1) {
        yield { document: only, bytes: undefined };
        return;
      }
      yield* batch(some.slice(0, some.length >> 1));
      yield* batch(some.slice(some.length >> 1));
      return;
    }
    let index = 0;
    for await (const content of unzip(bytes)) {
      const document = some[index++];
      if (!document) throw wrongFileCount(some.length);
      yield { document, bytes: content };
    }
    if (index !== some.length) throw wrongFileCount(some.length);
  }
}
