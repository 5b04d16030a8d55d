import { ApiError } from "../../../errors.ts";
import { isBelow, newPathInside, uniquePath } from "../../../host/safe-path.ts";
import type { Journal } from "../../../lib/journal.ts";
import { collect } from "../../../lib/collect.ts";
import { isObject } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import type { Context } from "../../task/command-spec.ts";
import { chunkLine, readChunks } from "../chunk-lists/index.ts";
import type { KbState } from "../documents/index.ts";
import { fileHash } from "./bundle.ts";
import type { ChunkFile } from "./bundle.ts";

/** An export under way. */
interface ChunkExport {
  readonly dataset_id: string;
  readonly directory: string;
  readonly state: KbState;
}

/** Is an entry of the journal a file with chunks? */
export const isChunkFile = (entry: object): entry is { readonly file: string } =>
  "chunk_file" in entry && "file" in entry && typeof entry.file === "string" && isBelow(entry.file);

/**
 * Returns what writes the chunks of a document to a file. Like documents, they get another name than an earlier
 * file with other content, so the previous export stays complete until the manifest names the new ones.
 */
export function chunkWriter(
  { dataset_id, directory, state }: ChunkExport,
  earlier: readonly object[],
  journal: Journal,
  context: Context,
) {
  const { files } = context.host;
  const { doc_form } = state.settings;
  const known = earlier.filter(isObject);
  const before = new Map(
    known.flatMap(({ id, chunks }) =>
      isObject(chunks) && typeof chunks["file"] === "string" ? [[id, chunks["file"]] as const] : [],
    ),
  );
  const taken = new Set<string>();
  for (const file of new Set([
    ...before.values(),
    ...known.filter(isChunkFile).map((each) => each.file),
  ]))
    uniquePath(file, taken);
  return async (
    { id }: { readonly id: string },
    documentFile: string,
  ): Promise<ChunkFile & { readonly isEdited: boolean }> => {
    const place = { dataset_id, document_id: id, doc_form };
    const chunks = await collect(readChunks(place, context)).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.kind !== "refused") throw error;
      // Without the credentials of its model, the chunks of a knowledge base cannot be read (server §8).
      throw error.with({ hint: "add --no-chunks to export the documents without their chunks" });
    });
    const isEdited = chunks.some((chunk) => chunk.isEdited);
    const text = chunks.map(chunkLine).join("");
    const hash = sha256(text);
    const old = before.get(id);
    if (old !== undefined && (await fileHash(directory, old, files)) === hash)
      return { file: old, sha256: hash, isEdited };
    const file = uniquePath(`${documentFile.replace(/^documents\//, "chunks/")}.jsonl`, taken);
    await journal.append([{ chunk_file: true, file }]);
    await files.writeAtomic(await newPathInside(directory, file, files), text);
    return { file, sha256: hash, isEdited };
  };
}
