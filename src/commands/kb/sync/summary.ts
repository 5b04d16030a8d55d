import { CliError } from "../../../errors.ts";
import type { SyncResult } from "./apply.ts";
import type { SkippedFile } from "./local-files.ts";
import { duplicatePath } from "./plan.ts";
import type { SyncStep } from "./plan.ts";
import type { Context } from "../../command-spec.ts";

/** The result that a dry run shows for a step. */
export const plannedResult = (step: SyncStep): SyncResult => {
  const { action, path, document, file } = step;
  const note = embeds(step) && file ? `${file.characters} characters to embed` : step.note;
  return { action, path, document_id: document?.id ?? null, note };
};

const embeds = ({ action }: Pick<SyncResult, "action">): boolean =>
  action === "create" || action === "update";

/** Does it leave a file out of sync? A duplicate document does not. */
export const isOutOfSync = ({ action, note }: Pick<SyncResult, "action" | "note">): boolean =>
  action === "failed" || action === "conflict" || (action === "skip" && note !== duplicatePath);

/** Throws partial if a file is not in the knowledge base, or a document that should go still is. */
export function requireInSync(
  results: readonly SyncResult[],
  invalid: readonly SkippedFile[],
  files: number,
  dataset_id: string,
): void {
  const failed = results.filter(isOutOfSync);
  const count = failed.length + invalid.length;
  if (count === 0) return;
  const [first] = failed;
  const why = first ? `: ${first.path}: ${first.note}` : "";
  throw new CliError("partial", `failed to sync ${count} of ${files} files${why}`, {
    isResult: true,
    details: { failed, unfit: invalid },
    hint: hintFor(first, dataset_id),
  });
}

function hintFor(first: SyncResult | undefined, dataset_id: string): string {
  if (first?.action === "conflict") return "add --adopt to replace the document of that name";
  if (first?.action !== "skip") return "fix the files and run the same command again";
  const verb = /archived/.test(first.note ?? "") ? "unarchive" : "enable";
  return `kb doc ${verb} id:${dataset_id} id:${first.document_id}`;
}

/** Words of the summary for actions, in addition to the actions themselves. */
const pastTense: Readonly<Record<string, string>> = {
  create: "created",
  update: "updated",
  adopt: "adopted",
  metadata: "with new metadata",
  delete: "deleted",
  skip: "skipped",
  conflict: "in conflict",
};

/** Prints the summary: `3 files: 1 created, 2 unchanged; 11 characters were embedded`. */
export async function noticeSummary(
  results: readonly SyncResult[],
  steps: readonly SyncStep[],
  files: number,
  context: Context,
): Promise<void> {
  const counts = new Map<string, number>();
  for (const { action } of results) counts.set(action, (counts.get(action) ?? 0) + 1);
  counts.set("unchanged", steps.filter(({ action }) => action === "unchanged").length);
  const parts = [...counts]
    .filter(([, count]) => count > 0)
    .map(([action, count]) => `${count} ${pastTense[action] ?? action}`);
  const embedded = new Set(results.filter(embeds).map(({ path }) => path));
  const characters = steps
    .filter((step) => embeds(step) && embedded.has(step.path))
    .reduce((sum, { file }) => sum + (file?.characters ?? 0), 0);
  const verb = context.options.dryRun ? "would be" : "were";
  await context.notice(
    `${files} ${files === 1 ? "file" : "files"}: ${parts.join(", ") || "nothing to do"}; ${characters} characters ${verb} embedded`,
  );
}
