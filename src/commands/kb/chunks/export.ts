import { notFound } from "../../../errors.ts";
import { collect } from "../../../lib/collect.ts";
import { counted } from "../../../lib/text.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { readChunks } from "../chunk-lists/index.ts";
import { countedDocuments } from "../documents/index.ts";
import type { chunkExportParams } from "./command.ts";
import { chunkSheet } from "./sheet.ts";

/** Writes the chunks of a knowledge base to a CSV file, document by document. */
export async function* run(
  { dataset_id, file, doc }: Input<typeof chunkExportParams>,
  context: Context,
): AsyncGenerator<{ readonly document: string; readonly chunks: number }> {
  const { doc_form = null } = await context.api.call(getKnowledgeBase, { dataset_id });
  const all = await collect(countedDocuments(dataset_id, context));
  const named = doc?.map((text) => {
    const found = all.filter(({ id, name }) => id === text || name === text);
    if (found.length === 1) return found[0];
    const problem =
      found.length === 0 ? "not found" : "is the name of several documents; use its ID";
    throw notFound(`document ${JSON.stringify(text)} ${problem}`);
  });
  const rows: { document: string; chunks: number }[] = [];
  async function* documents() {
    for (const { id, name } of (named ?? all).flatMap((each) => each ?? [])) {
      const place = { dataset_id, document_id: id, doc_form };
      const chunks = await collect(readChunks(place, context));
      rows.push({ document: name, chunks: chunks.length });
      yield { id, name, chunks };
    }
  }
  await context.host.files.writeAtomic(file, chunkSheet(documents()));
  yield* rows;
  const total = rows.reduce((sum, { chunks }) => sum + chunks, 0);
  context.summary(
    `wrote ${counted(total, "chunk")} of ${counted(rows.length, "document")} to ${file}`,
  );
}
