import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError, isFatal } from "../../../errors.ts";
import type { Context } from "../../task/command-spec.ts";
import { chunkLine, readChunks } from "../chunk-lists/index.ts";
import { isDone } from "../documents/index.ts";
import type { KbState } from "../documents/index.ts";
import type { ChunkFile } from "../snapshot/index.ts";
import { objectPath, putObject } from "./store.ts";

interface Missing {
  readonly name: string;
  readonly why: string;
  /** It was being indexed: a list that is not complete would delete chunks in a restore. */
  readonly isPending: boolean;
}

/** The chunks of a knowledge base in a backup. */
export interface StoredChunks {
  /** By document ID. */
  readonly files: ReadonlyMap<string, ChunkFile>;
  /** Documents whose chunks the server did not list, or did not have yet, with the reason of each. */
  readonly failed: readonly Missing[];
  /** Bytes by which the directory grew. */
  readonly added: number;
}

/** Stores the chunks of all documents; they have no sign of a change, so all lists are read. */
export async function storeChunks(
  directory: string,
  dataset_id: string,
  { documents, settings: { doc_form } }: KbState,
  context: Context,
): Promise<StoredChunks> {
  const { files } = context.host;
  const stored = new Map<string, ChunkFile>();
  const failed: Missing[] = [];
  let added = 0;
  let done = 0;
  const store = async (document: KbState["documents"][number]): Promise<void> => {
    const { id, name } = document;
    if (!isDone(document)) {
      failed.push({ name, why: "being indexed", isPending: true });
      return;
    }
    const lines: string[] = [];
    try {
      for await (const chunk of readChunks({ dataset_id, document_id: id, doc_form }, context))
        lines.push(chunkLine(chunk));
    } catch (error) {
      // Without its model, a knowledge base lists no chunks (server §8).
      if (context.signal.aborted || !(error instanceof CliError) || isFatal(error)) throw error;
      failed.push({ name, why: error.message, isPending: false });
      return;
    }
    const object = await putObject(directory, Buffer.from(lines.join("")), files);
    added += object.added;
    stored.set(id, { file: objectPath(object.hash), sha256: object.hash });
  };
  const limit = context.api.limitConcurrency();
  for await (const _ of mapConcurrent(documents, limit, store)) {
    const [verb, total] = ["Reading chunks", documents.length];
    context.progress({ verb, done: ++done, total, unit: "documents" });
  }
  return { files: stored, failed, added };
}
