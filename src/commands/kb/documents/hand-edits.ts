import type { Checked } from "../../../operations/operation.ts";

/** What a chunk tells of changes by hand. */
export type EditableChunk = Checked<{
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
