/** What is lost when documents are split into chunks again: changes of chunks by hand. */
import { mapAll } from "../../../api/concurrent-map.ts";
import { CliError, ignoring, isFatal } from "../../../errors.ts";
import { collect } from "../../../lib/collect.ts";
import { firstNames } from "../../../lib/text.ts";
import { listChunks } from "../../../operations/chunks.ts";
import { getDocument } from "../../../operations/documents.ts";
import type { Checked } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { DocumentDetail } from "./verify-rename.ts";

/** What is lost with the chunks of a document. */
export interface Losses {
  /** Changes by hand: `chunk 3 (edited)`. */
  readonly lost: readonly string[];
  /** Unix seconds at which its last chunk was made; 0 if there is none, infinite if the server does not tell. */
  readonly newest: number;
}

type Document = Pick<DocumentDetail, "id" | "doc_form" | "completed_at">;

/** Reads what is lost with the chunks of a document, whatever its status. */
export async function lossesOf(
  dataset_id: string,
  document: Document,
  context: Context,
): Promise<Losses> {
  const of = { dataset_id, document_id: document.id };
  const chunks = await collect(context.api.rows(listChunks, of));
  const isGenerated = document.doc_form === "qa_model" && chunks.length > 0;
  const generated = isGenerated ? ["its questions and answers"] : [];
  const newest = chunks.reduce((time, each) => Math.max(time, each.created_at ?? Infinity), 0);
  return { lost: [...generated, ...handEdits(chunks, document)], newest };
}

/**
 * Reads the same of several documents, by ID; an error says why the chunks of one cannot be read, so that it must
 * not be replaced: they would be gone unseen.
 */
export async function readLosses(
  dataset_id: string,
  documents: readonly Document[],
  context: Context,
): Promise<ReadonlyMap<string, Losses | CliError>> {
  const total = documents.length;
  let done = 0;
  const found = await mapAll(documents, 3, async (document) => {
    const losses = await lossesOf(dataset_id, document, context).catch((error: unknown) => {
      if (!isOfOne(error, context)) throw error;
      return error.with({}, `its chunks cannot be read: ${error.message}`);
    });
    context.progress({ verb: "Checking", done: ++done, total, unit: "documents" });
    return [document.id, losses] as const;
  });
  return new Map(found);
}

/** Is it the fault of one document, so that others can be read? */
const isOfOne = (error: unknown, { host }: Context): error is CliError =>
  error instanceof CliError && !isFatal(error) && error.kind !== "limited" && !host.signal.aborted;

/** The first losses: `chunk 3 (edited), chunk 5 (removed)`. */
export const lossNames = (losses: readonly string[]): string => firstNames(losses, 20);

/** Prompts if something is lost, and names it, as --yes asks nothing; a dry run says what would be. */
export async function confirmLosses(
  losses: readonly string[],
  how: { readonly question: (lost: string) => string; readonly declined: string },
  context: Context,
): Promise<void> {
  if (losses.length === 0) return;
  const lost = lossNames(losses);
  if (context.options.dryRun) return context.notice(`would lose ${lost}`);
  await context.confirm(how.question(lost), { declined: how.declined });
  await context.notice(`loses ${lost}`);
}

/** Names what writes of documents lose. Throws if the chunks of one cannot be read, so that nothing is sent. */
export async function nameLosses(
  dataset_id: string,
  ids: readonly string[],
  context: Context,
): Promise<void> {
  for (const document_id of ids) {
    const place = { dataset_id, document_id, metadata: "without" } as const;
    const document = await context.api.call(getDocument, place).catch(ignoring("not-found"));
    if (!document) continue; // the write says so
    const { name = document_id, error, doc_form } = document;
    // The questions of a failed document are of no use.
    const replaced = { ...document, id: document_id, doc_form: error ? null : doc_form };
    const found = (await readLosses(dataset_id, [replaced], context)).get(document_id);
    if (found instanceof CliError)
      throw found.with(
        { hint: "run the same command again when the server lists them" },
        `${name} was not replaced, as ${found.message}`,
      );
    const verb = context.options.dryRun ? "would lose" : "loses";
    if (found?.lost.length) await context.notice(`${name} ${verb} ${lossNames(found.lost)}`);
  }
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
  const completedAt = completed_at ?? Infinity;
  // All are begun at once, before the first of them is completed: later ones were added, in a document that is
  // being indexed again, too.
  const first = chunks.reduce(
    (time, each) => Math.min(time, each.completed_at ?? Infinity),
    completedAt,
  );
  const edits: string[] = [];
  let next = 1;
  for (const chunk of sorted) {
    for (; next < chunk.position; next++) edits.push(`chunk ${next} (removed)`);
    next = chunk.position + 1;
    const edit = editOf(chunk, first, completedAt);
    if (edit !== undefined) edits.push(`chunk ${chunk.position} (${edit})`);
  }
  return edits;
}

function editOf(chunk: EditableChunk, first: number, completedAt: number): string | undefined {
  if ((chunk.updated_by ?? null) !== null) return "edited";
  if (chunk.child_chunks.some(({ type }) => type === "customized")) return "child chunks edited";
  // A chunk that could not be embedded is not enabled either, but not completed.
  const isOff = !chunk.enabled && typeof chunk.disabled_at === "number";
  if (isOff && chunk.status === "completed") return "disabled";
  // Chunks of a pipeline have only the later of the two times.
  const { indexing_at, completed_at: completed } = chunk;
  const isAdded = indexing_at ? indexing_at > first : (completed ?? 0) > completedAt;
  return isAdded ? "added" : undefined;
}
