import { CliError, isFatal, verdict } from "../../../errors.ts";
import { collect, groupBy } from "../../../lib/collect.ts";
import { groupDigits } from "../../../lib/numbers.ts";
import { counted } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { readInput } from "../../task/files.ts";
import {
  changeChunks,
  chunkRules,
  embeddedCharacters,
  readChunks,
  stepsFor,
} from "../chunk-lists/index.ts";
import type { ChunkTarget, ExistingChunk, StoredChunk } from "../chunk-lists/index.ts";
import { readKbState } from "../documents/index.ts";
import type { DocumentState } from "../documents/index.ts";
import type { chunkImportParams } from "./command.ts";
import { addedChunk, readSheet, stateOf, wantedChunk } from "./sheet.ts";
import type { SheetRow } from "./sheet.ts";
import { stringifyJson } from "../../../lib/json.ts";

/** What becomes of a row. */
interface RowChange {
  readonly action: "update" | "create" | "unchanged" | "conflict" | "failed";
  readonly document: string;
  readonly row: number;
  readonly note: string | null;
  readonly id: string | null;
}

/** A row with the chunk that it asks for. */
interface Wanted extends RowChange {
  readonly to?: StoredChunk;
}

/** The rows of a document, and where they go. */
interface RowsPlace {
  readonly rows: readonly SheetRow[];
  readonly document: DocumentState | undefined;
  readonly target: ChunkTarget;
  readonly overwrite?: boolean | undefined;
}

/** Changes chunks as a sheet says; throws partial if a row could not be imported. */
export async function* run(
  input: Input<typeof chunkImportParams>,
  context: Context,
): AsyncGenerator<RowChange> {
  const { dataset_id, file } = input;
  const sheet = await readSheet(file, await readInput(file, context.host));
  const { documents, settings } = await readKbState(dataset_id, context);
  const byId = new Map(documents.map((document) => [document.id, document]));
  const rules = chunkRules(settings, settings.doc_form);
  const places = [...groupBy(sheet, (row) => row.document_id)].map(
    ([document_id, rows]): RowsPlace => ({
      rows,
      document: byId.get(document_id),
      target: { dataset_id, document_id, ...rules },
      overwrite: input.overwrite,
    }),
  );
  const plans: (readonly Wanted[])[] = [];
  for (const place of places) plans.push(await planRows(place, context));
  await noticePlan(plans.flat(), context);
  const failed: RowChange[] = [];
  for (const [at, place] of places.entries()) {
    const planned = plans[at] ?? [];
    const isMade = !context.options.dryRun && planned.some(({ to }) => to !== undefined);
    // Planned again, since chunks may have been changed while others were read and made.
    const made = isMade
      ? await makeRows(await planRows(place, context), place.target, context)
      : planned;
    for (const { to: _, ...row } of made) {
      if (row.action === "unchanged") continue;
      if (row.action === "conflict" || row.action === "failed") failed.push(row);
      yield row;
    }
  }
  if (failed.length === 0) return;
  throw verdict(
    "partial",
    `${failed.length} of ${counted(sheet.length, "row")} not imported`,
    { failed },
    "export again and edit the new file, or use --overwrite for chunks in conflict",
  );
}

/** Compares the rows of a document with its chunks. */
async function planRows({ rows, document, target, overwrite }: RowsPlace, context: Context) {
  const name = document?.name ?? target.document_id;
  const ends = (action: RowChange["action"], { number, chunk_id }: SheetRow, note: string | null) =>
    ({ action, document: name, row: number, note, id: chunk_id }) as const;
  if (!document) return rows.map((row) => ends("failed", row, "document not found"));
  const chunks = await collect(readChunks(target, context));
  const existing = new Map(chunks.map((chunk) => [chunk.id, chunk]));
  const rowIds = new Set(rows.map(({ chunk_id }) => chunk_id));
  const isClosed = !document.enabled || document.indexing_status !== "completed";
  return rows.map((row): Wanted => {
    const chunk = row.chunk_id === null ? undefined : existing.get(row.chunk_id);
    if (row.chunk_id === null) {
      const to = addedChunk(row);
      const added = addedBefore(to, chunks, rowIds);
      if (added && added.status !== "error") return ends("unchanged", row, null);
      if (isClosed) return ends("failed", row, "the document is disabled or not indexed");
      return { ...ends("create", row, null), to };
    }
    if (!chunk) return ends("failed", row, "the chunk was deleted");
    const to = wantedChunk(row, chunk);
    if (to === chunk) return ends("unchanged", row, null);
    if (!overwrite && row.state !== "" && row.state !== stateOf(chunk))
      return ends("conflict", row, "changed since the export");
    return { ...ends("update", row, partsThatDiffer(to, chunk)), to };
  });
}

/** The chunk that an earlier run of the import has added for a row: no row has its ID. */
const addedBefore = (
  to: StoredChunk,
  existing: readonly ExistingChunk[],
  rowIds: ReadonlySet<string | null>,
): ExistingChunk | undefined =>
  existing.find(
    ({ id, content, answer }) =>
      content === to.content && (to.answer === null || answer === to.answer) && !rowIds.has(id),
  );

const partsThatDiffer = (to: StoredChunk, chunk: ExistingChunk): string =>
  (["content", "answer", "keywords", "enabled", "summary"] as const)
    .filter((part) => stringifyJson(to[part]) !== stringifyJson(chunk[part]))
    .join(", ");

async function noticePlan(all: readonly Wanted[], context: Context): Promise<void> {
  const sent = all.flatMap(({ to }) => to ?? []);
  const count = (action: RowChange["action"]) => all.filter((row) => row.action === action).length;
  const characters = sent.reduce((sum, chunk) => sum + embeddedCharacters(chunk), 0);
  const counts = (["update", "create", "unchanged", "conflict", "failed"] as const)
    .flatMap((action) => (count(action) === 0 ? [] : [`${count(action)} ${words[action]}`]))
    .join(", ");
  const size = sent.length > 0 ? `; up to ${groupDigits(characters)} characters to index` : "";
  await context.notice(`${counted(all.length, "row")}: ${counts || "nothing to do"}${size}`);
}

const words = {
  update: "to update",
  create: "to add",
  unchanged: "unchanged",
  conflict: "in conflict",
  failed: "that cannot be imported",
} as const;

/**
 * Makes the changes of one document, all together. If the server refuses one, each is made alone: those that are
 * made already need no request, and a failure is that of its row.
 */
async function makeRows(wanted: readonly Wanted[], target: ChunkTarget, context: Context) {
  const rowIds = new Set(wanted.map(({ id }) => id));
  /** The chunk of each row: that of its ID, or one that this import has added. */
  const planSteps = (rows: readonly Wanted[], existing: readonly ExistingChunk[]) => {
    const steps = rows.flatMap(({ id, to }) => {
      if (to === undefined) return [];
      const chunk =
        id === null ? addedBefore(to, existing, rowIds) : existing.find((each) => each.id === id);
      return [{ id, chunk, to: { ...to, children: chunk?.children ?? [] } }]; // those there stay
    });
    const pairs = steps.flatMap(({ to, chunk }) => (chunk ? [[to, chunk] as const] : []));
    const missing = steps.flatMap(({ id, to, chunk }) => (chunk || id !== null ? [] : [to]));
    return stepsFor({ pairs, missing, surplus: [] }, target);
  };
  const make = async (rows: readonly Wanted[]): Promise<readonly Wanted[]> => {
    try {
      await changeChunks(target, (existing) => planSteps(rows, existing), context);
      return rows;
    } catch (error) {
      if (!(error instanceof CliError) || context.host.signal.aborted || error.kind === "limited")
        throw error;
      if (rows.length > 1 && !isFatal(error)) {
        const made: Wanted[] = [];
        for (const row of rows) made.push(...(row.to === undefined ? [row] : await make([row])));
        return made;
      }
      return rows.map((row) =>
        row.to === undefined ? row : { ...row, action: "failed", note: error.message },
      );
    }
  };
  return make(wanted);
}
