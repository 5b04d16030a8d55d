/** What is lost when documents are split into chunks again: changes of chunks by hand. */
import { mapAll } from "../../../api/concurrent-map.ts";
import { collect } from "../../../lib/collect.ts";
import { firstNames } from "../../../lib/text.ts";
import { listChunks } from "../../../operations/chunks.ts";
import { getDocument } from "../../../operations/documents.ts";
import type { Checked } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { DocumentDetail } from "./verify-rename.ts";

/** What of a document is lost: `chunk 3 (edited)`. */
export async function lossesOf(
  dataset_id: string,
  document: DocumentDetail,
  context: Context,
): Promise<readonly string[]> {
  const of = { dataset_id, document_id: document.id };
  const chunks = await collect(context.api.rows(listChunks, of));
  const generated = document.doc_form === "qa_model" ? ["its questions and answers"] : [];
  return [...generated, ...handEdits(chunks, document)];
}

/** The same of several documents: `leave.md: chunk 3 (edited)`. */
export async function lossesOfAll(
  dataset_id: string,
  documents: readonly { readonly id: string; readonly name: string }[],
  context: Context,
): Promise<readonly string[]> {
  const total = documents.length;
  let done = 0;
  const losses = await mapAll(documents, 3, async ({ id: document_id, name }) => {
    const input = { dataset_id, document_id, metadata: "without" } as const;
    const lost = await lossesOf(dataset_id, await context.api.call(getDocument, input), context);
    context.progress({ verb: "Checking", done: ++done, total, unit: "documents" });
    return lost.map((loss) => `${name}: ${loss}`);
  });
  return losses.flat();
}

/** Prompts if something is lost; a dry run says what would be. */
export async function confirmLosses(
  losses: readonly string[],
  how: { readonly question: (lost: string) => string; readonly declined: string },
  context: Context,
): Promise<void> {
  if (losses.length === 0) return;
  const lost = firstNames(losses);
  if (context.options.dryRun) return context.notice(`would lose ${lost}`);
  await context.confirm(how.question(lost), { declined: how.declined });
}

type EditableChunk = Checked<{
  id: "id";
  position: "number";
  enabled: "flag";
  "status?": "text";
  "updated_by?": "text";
  "disabled_at?": "time";
  "indexing_at?": "time";
  "completed_at?": "time";
  child_chunks: readonly [{ "type?": "text" }];
}>;

/**
 * The changes by hand that are lost when a document is split into chunks again: `chunk 3 (edited)`.
 * The server records no removed last chunk, and no change of an answer or a summary alone.
 */
export function handEdits(
  chunks: readonly EditableChunk[],
  { completed_at }: { readonly completed_at?: number | null | undefined },
): readonly string[] {
  const sorted = chunks.toSorted((a, b) => a.position - b.position);
  const edits: string[] = [];
  let next = 1;
  for (const chunk of sorted) {
    for (; next < chunk.position; next++) edits.push(`chunk ${next} (removed)`);
    next = chunk.position + 1;
    const edit = editOf(chunk, completed_at ?? Infinity);
    if (edit !== undefined) edits.push(`chunk ${chunk.position} (${edit})`);
  }
  return edits;
}

function editOf(chunk: EditableChunk, completedAt: number): string | undefined {
  if ((chunk.updated_by ?? null) !== null) return "edited";
  if (chunk.child_chunks.some(({ type }) => type === "customized")) return "child chunks edited";
  // A chunk that could not be embedded is not enabled either, but not completed.
  const isOff = !chunk.enabled && typeof chunk.disabled_at === "number";
  if (isOff && chunk.status === "completed") return "disabled";
  // Chunks of a pipeline have only the later of the two times.
  return (chunk.indexing_at ?? chunk.completed_at ?? 0) > completedAt ? "added" : undefined;
}
