import { notFound, refused } from "../../../errors.ts";
import { collect } from "../../../lib/collect.ts";
import { commandLine } from "../../../lib/command-line.ts";
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
  const all = (await collect(countedDocuments(dataset_id, context))).reverse(); // the newest come first
  for (const text of doc ?? []) {
    const { length } = all.filter(({ id, name }) => id === text || name === text);
    const named = `document ${JSON.stringify(text)}`;
    const hint = `list the documents with their IDs: ${commandLine("kb doc list", [dataset_id])}`;
    if (length === 0) throw notFound(`${named} not found`, hint);
    if (length > 1) throw refused(`${named} is ambiguous (${length} matches)`, hint);
  }
  const chosen = all.filter(({ id, name }) => !doc || doc.includes(id) || doc.includes(name));
  const rows: { document: string; chunks: number }[] = [];
  async function* documents() {
    for (const { id, name } of chosen) {
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
