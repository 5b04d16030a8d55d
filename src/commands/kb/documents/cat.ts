import { CliError } from "../../../errors.ts";
import { collect } from "../../../lib/collect.ts";
import { listChunks } from "../../../operations/chunks.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { catParams } from "./command.ts";
import { readContents } from "./contents.ts";

/**
 * Prints the contents of documents, byte for byte; with `chunks`, or for a document without a file, the
 * texts of its chunks in order. Children are parts of their chunk, which has the whole text (server §9.8).
 */
export async function* run(
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
