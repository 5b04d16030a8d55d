import { newPathInside } from "../../../host/safe-path.ts";
import { listChunks } from "../../../operations/chunks.ts";
import type { Chunk } from "../../../operations/chunks.ts";
import type { Input } from "../../../operations/operation.ts";
import type { DocumentState } from "../documents/index.ts";
import type { Context } from "../../task/command-spec.ts";
import type { exportParams } from "./command.ts";

/** Writes the chunks of a document to a file beside those of documents. */
export async function writeChunks(
  { dataset_id, directory }: Pick<Input<typeof exportParams>, "dataset_id" | "directory">,
  { id: document_id }: Pick<DocumentState, "id">,
  documentFile: string,
  context: Context,
): Promise<{ readonly file: string; readonly isEdited: boolean }> {
  const { files } = context.host;
  const lines: string[] = [];
  let isEdited = false;
  for await (const chunk of context.api.rows(listChunks, { dataset_id, document_id })) {
    const { position, content, answer, keywords, enabled, summary } = chunk;
    isEdited ||= isEditedChunk(chunk);
    const children = (chunk.child_chunks ?? []).map((child) => child.content);
    lines.push(
      `${JSON.stringify({ position, content, answer, keywords, enabled, summary, children })}\n`,
    );
  }
  const file = `${documentFile.replace(/^documents\//, "chunks/")}.jsonl`;
  await files.writeAtomic(await newPathInside(directory, file, files), lines.join(""));
  return { file, isEdited };
}

/** Was a chunk or one of its children edited? Added ones look like any other. */
const isEditedChunk = ({ updated_by, child_chunks }: Chunk): boolean =>
  typeof updated_by === "string" || (child_chunks ?? []).some(({ type }) => type === "customized");
