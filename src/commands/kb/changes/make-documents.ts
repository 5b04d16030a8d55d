import { CliError } from "../../../errors.ts";
import { counted } from "../../../lib/plural.ts";
import { applyDocuments } from "./apply-documents.ts";
import type { DocumentTarget } from "./apply-documents.ts";
import { rowOf } from "./change.ts";
import type { Change, DocumentChange } from "./change.ts";
import { duplicatePath } from "./plan-documents.ts";
import type { Context } from "../../command-spec.ts";
import { commandLine } from "../../../lib/command-line.ts";

/** How the summary and the error name the work. */
export interface Wording {
  readonly verb: "sync" | "import";
  readonly noun: "file" | "document";
  /** Number of documents or files in the summary. */
  readonly count: number;
  /** Files that cannot become a document: they count as failed. */
  readonly invalid?: readonly { readonly path: string; readonly problem: string }[];
  /** Number of files in the error (default: `count`). */
  readonly total?: number;
}

/**
 * Makes the changes of documents, or plans them in a dry run, and yields their rows. Prints a summary.
 * Throws partial if a document differs from its source at the end.
 */
export async function* makeDocuments(
  changes: readonly DocumentChange[],
  target: DocumentTarget,
  wording: Wording,
  context: Context,
): AsyncGenerator<Change> {
  const results: Change[] = [];
  try {
    const rows = context.options.dryRun
      ? changes.map(plannedRow)
      : applyDocuments(changes, target, context);
    for await (const row of rows) {
      results.push(row);
      if (row.action !== "unchanged") yield row;
    }
  } catch (error) {
    if (!context.signal.aborted || !(error instanceof CliError)) throw error;
    throw error.with({
      hint: "run the same command again to resume; completed files are skipped",
    });
  } finally {
    await noticeSummary(results, changes, wording, context);
  }
  requireMade(results, target.dataset_id, wording);
}

/** The row of a change in a dry run. */
const plannedRow = (change: DocumentChange): Change =>
  rowOf(
    change,
    embeds(change) && change.source
      ? { note: `${change.source.characters} characters to embed` }
      : {},
  );

const embeds = ({ action }: Pick<Change, "action">): boolean =>
  action === "create" || action === "update";

/** Does it leave a document that differs from its source? A duplicate document does not. */
const isOutOfSync = ({ action, note }: Change): boolean =>
  ["failed", "conflict"].includes(action) || (action === "skip" && note !== duplicatePath);

/** Does the row of a document tell of a change, made or not? */
export const isChange = (row: Change): boolean => row.action !== "skip" || isOutOfSync(row);

function requireMade(
  results: readonly Change[],
  dataset_id: string,
  { verb, noun, count, total = count, invalid = [] }: Wording,
): void {
  const failed = results.filter(isOutOfSync);
  const [first] = failed;
  const problems = failed.length + invalid.length;
  if (problems === 0) return;
  const why = first ? `: ${first.name}: ${first.note}` : "";
  throw new CliError("partial", `failed to ${verb} ${problems} of ${total} ${noun}s${why}`, {
    isResult: true,
    details: { failed, unfit: invalid },
    hint: hintFor(first, dataset_id, noun),
  });
}

function hintFor(first: Change | undefined, dataset_id: string, noun: Wording["noun"]): string {
  const at = [dataset_id, first?.id ?? ""];
  if (first?.action === "conflict") return "add --adopt to replace the document of that name";
  if (first?.action === "skip")
    return commandLine(
      /archived/.test(first.note ?? "") ? "kb doc unarchive" : "kb doc enable",
      at,
    );
  if (first?.note?.startsWith("exists")) return commandLine("kb doc delete", at);
  return noun === "file"
    ? "fix the files and run the same command again"
    : "run the same command again; existing documents are kept";
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
async function noticeSummary(
  results: readonly Change[],
  changes: readonly DocumentChange[],
  { noun, count }: Wording,
  context: Context,
): Promise<void> {
  const counts = new Map<string, number>();
  for (const { action } of results) counts.set(action, (counts.get(action) ?? 0) + 1);
  counts.set("unchanged", changes.filter(({ action }) => action === "unchanged").length);
  const parts = [...counts]
    .filter(([, each]) => each > 0)
    .map(([action, each]) => `${each} ${pastTense[action] ?? action}`);
  const embedded = new Set(results.filter(embeds).map(({ name }) => name));
  const characters = changes
    .filter((each) => embeds(each) && embedded.has(each.name))
    .reduce((sum, { source }) => sum + (source?.characters ?? 0), 0);
  const verb = context.options.dryRun ? "would be" : "were";
  await context.notice(
    `${counted(count, noun)}: ${parts.join(", ") || "nothing to do"}; ${characters} characters ${verb} embedded`,
  );
}
