import { collect } from "../../../lib/collect.ts";
import { linesOf } from "../../../lib/formats/lines.ts";
import { usage } from "../../../errors.ts";
import { pathInside } from "../../../host/safe-path.ts";
import { listChildChunks, listChunks } from "../../../operations/chunks.ts";
import type { Context } from "../../task/command-spec.ts";
import { parseChunkLine } from "./stored-chunk.ts";
import type { StoredChild, StoredChunk } from "./stored-chunk.ts";

/** A document and the form of its chunks. */
export interface ChunkPlace {
  readonly dataset_id: string;
  readonly document_id: string;
  readonly doc_form: string | null;
}

/** A chunk of a document, with the IDs that change it. */
export interface ExistingChunk extends StoredChunk {
  readonly id: string;
  readonly error: string | null;
  /** Was it or one of its child chunks edited? Added ones look like any other. */
  readonly isEdited: boolean;
  readonly children: readonly (StoredChild & { readonly id: string })[];
}

/**
 * The chunks of a document in their order, with all child chunks. Lists show none of those of a document
 * with the parent mode `full-doc` (server §9.8), so they cost a request for each chunk.
 */
export async function* readChunks(
  { dataset_id, document_id, doc_form }: ChunkPlace,
  context: Context,
): AsyncGenerator<ExistingChunk> {
  const isHierarchical = doc_form === "hierarchical_model";
  for await (const chunk of context.api.rows(listChunks, { dataset_id, document_id })) {
    const { id, position, content, enabled } = chunk;
    const place = { dataset_id, document_id, segment_id: id };
    const isHidden = isHierarchical && chunk.child_chunks.length === 0;
    const children = isHidden
      ? await collect(context.api.rows(listChildChunks, place))
      : chunk.child_chunks;
    yield {
      id,
      position,
      content,
      answer: chunk.answer ?? null,
      keywords: chunk.keywords ?? [],
      enabled,
      status: chunk.status ?? null,
      error: chunk.error ?? null,
      isEdited:
        typeof chunk.updated_by === "string" || children.some(({ type }) => type === "customized"),
      summary: chunk.summary ?? null,
      children: (isHierarchical ? children : [])
        .toSorted((a, b) => (a.position ?? 0) - (b.position ?? 0))
        .map((child) => ({ id: child.id, content: child.content, type: child.type ?? null })),
      attachments: chunk.attachments?.length ?? 0,
    };
  }
}

/** The chunks in a file of an export. Throws usage with the line of a mistake. */
export async function* readChunkFile(
  directory: string,
  file: string,
  context: Context,
): AsyncGenerator<StoredChunk> {
  const { files } = context.host;
  const path = await pathInside(directory, file, files);
  const invalid = (number: number, problem: string) =>
    usage(`${path} line ${number}: ${problem}`, "export again: kb export <kb> <dir>");
  const tooLong = (number: number) => invalid(number, "longer than 64 MiB");
  for await (const { lines } of linesOf(files.bytes(path), tooLong, context)) {
    for (const { number, text } of lines) {
      const chunk = parseChunkLine(text);
      if (typeof chunk === "string") throw invalid(number, chunk);
      yield chunk;
    }
  }
}
