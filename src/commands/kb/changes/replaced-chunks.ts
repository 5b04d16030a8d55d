import { CliError } from "../../../errors.ts";
import type { Context } from "../../task/command-spec.ts";
import { lossNames, readLosses } from "../documents/index.ts";
import type { DocumentChange } from "./change.ts";
import type { UploadTarget } from "./upload.ts";

/**
 * Reads the chunks of all documents that changes replace, whatever their status, before any is made: each change
 * names what it loses, and one whose chunks cannot be read fails.
 */
export async function withLosses(
  changes: readonly DocumentChange[],
  { dataset_id, settings: { doc_form } }: Pick<UploadTarget, "dataset_id" | "settings">,
  context: Context,
): Promise<readonly DocumentChange[]> {
  const replaced = changes.flatMap(({ action, document, losses }) =>
    // The questions of a failed document are of no use.
    action === "update" && document && !losses
      ? [{ id: document.id, doc_form: document.error === null ? doc_form : null }]
      : [],
  );
  const found = await readLosses(dataset_id, replaced, context);
  return changes.map((change) => {
    const losses = found.get(change.document?.id ?? "");
    if (losses === undefined) return change;
    if (losses instanceof CliError) return { ...change, action: "failed", note: losses.message };
    return withLost(change, losses.lost);
  });
}

/** A change that names what it loses. */
export function withLost(change: DocumentChange, losses: readonly string[]): DocumentChange {
  const named = losses.length > 0 ? [`loses ${lossNames(losses)}`] : [];
  const note = [change.note ?? [], named].flat().join("; ");
  return { ...change, losses, note: note === "" ? null : note };
}

/** What changes lose: `leave.md: chunk 3 (edited)`. */
export const lossesIn = (changes: readonly DocumentChange[]): readonly string[] =>
  changes.flatMap(({ name, losses = [] }) => losses.map((loss) => `${name}: ${loss}`));
