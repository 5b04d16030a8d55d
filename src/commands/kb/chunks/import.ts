import { verdict } from "../../../errors.ts";
import { collect, groupBy } from "../../../lib/collect.ts";
import { groupDigits } from "../../../lib/numbers.ts";
import { counted } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { readInput } from "../../task/files.ts";
import {
  changeRows,
  chunkRules,
  embeddedCharacters,
  partsThatDiffer,
  readChunks,
} from "../chunk-lists/index.ts";
import type { ChunkTarget, ExistingChunk, StoredChunk } from "../chunk-lists/index.ts";
import { countsOf, sendsContent } from "../changes/index.ts";
import { readKbState } from "../documents/index.ts";
import type { DocumentState } from "../documents/index.ts";
import type { chunkImportParams } from "./command.ts";
import { addedChunk, readSheet, stateOf, wantedChunk } from "./sheet.ts";
import type { SheetRow } from "./sheet.ts";

/** What becomes of a row. */
interface RowChange {
  readonly action: "update" | "create" | "unchanged" | "conflict" | "failed";
  readonly document: string;
  readonly row: number;
  readonly note: string | null;
  readonly id: string | null;
}

/** A row with the chunk that it asks for, and the one that it has. */
interface PlannedChange extends RowChange {
  readonly to?: StoredChunk;
  readonly chunk?: ExistingChunk | undefined;
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
  const rules = chunkRules(settings, settings.doc_form);
  const places = [...groupBy(sheet, (row) => row.document_id)].map(([document_id, rows]) => ({
    rows,
    document: documents.find(({ id }) => id === document_id),
    target: { dataset_id, document_id, ...rules },
    overwrite: input.overwrite,
  }));
  const plans: { readonly place: RowsPlace; readonly planned: readonly PlannedChange[] }[] = [];
  for (const place of places) {
    const chunks = place.document ? await collect(readChunks(place.target, context)) : [];
    plans.push({ place, planned: planChanges(place, chunks) });
  }
  const all = plans.flatMap(({ planned }) => planned);
  await noticePlan(all, context);
  const failed: RowChange[] = [];
  for (const { place, planned } of plans) {
    const isMade = !context.options.dryRun && planned.some(sendsContent);
    const made = isMade ? await makeChanges(place, context) : planned;
    for (const { to: _, chunk: __, ...row } of made) {
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

/** Compares the rows of a document with its chunks; pure. */
function planChanges(
  { rows, document, target, overwrite }: RowsPlace,
  chunks: readonly ExistingChunk[],
): readonly PlannedChange[] {
  const name = document?.name ?? target.document_id;
  const existing = new Map(chunks.map((chunk) => [chunk.id, chunk]));
  const rowIds = new Set(rows.map(({ chunk_id }) => chunk_id));
  const isClosed = !document?.enabled || document.indexing_status !== "completed";
  return rows.map((row): PlannedChange => {
    const { number, chunk_id: id } = row;
    const ends = (action: RowChange["action"], note: string | null = null) =>
      ({ action, document: name, row: number, note, id }) as const;
    if (!document) return ends("failed", "document not found");
    if (id === null) {
      const to = addedChunk(row);
      const chunk = addedBefore(to, chunks, rowIds);
      if (chunk && chunk.status !== "error") return { ...ends("unchanged"), to, chunk };
      if (isClosed) return ends("failed", "the document is disabled or not indexed");
      return { ...ends("create"), to, chunk };
    }
    const chunk = existing.get(id);
    if (!chunk) return ends("failed", "the chunk was deleted");
    const to = wantedChunk(row, chunk);
    if (to === chunk) return ends("unchanged");
    if (!overwrite && row.state !== "" && row.state !== stateOf(chunk))
      return ends("conflict", "changed since the export");
    return { ...ends("update", partsThatDiffer(to, chunk)), to, chunk };
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

async function noticePlan(all: readonly PlannedChange[], context: Context): Promise<void> {
  const sent = all.filter(sendsContent).flatMap(({ to }) => to ?? []);
  const characters = sent.reduce((sum, chunk) => sum + embeddedCharacters(chunk), 0);
  const size = sent.length > 0 ? `; up to ${groupDigits(characters)} characters to index` : "";
  const counts = countsOf(all, true) || "nothing to do";
  await context.notice(`${counted(all.length, "row")}: ${counts}${size}`);
}

/** Makes the changes of one document as it is now, all together; one that the server refuses fails alone. */
async function makeChanges(place: RowsPlace, context: Context): Promise<readonly PlannedChange[]> {
  let planned: readonly PlannedChange[] | undefined;
  const plan = (existing: readonly ExistingChunk[]) => {
    const now = planChanges({ ...place, overwrite: planned ? true : place.overwrite }, existing);
    planned ??= now;
    const sent = new Set(planned.filter(sendsContent).map(({ row }) => row));
    return now.flatMap(({ row, to, chunk }) => {
      if (!to || !sent.has(row)) return [];
      // Child chunks that are there stay.
      return [{ chunk, to: { ...to, position: row, children: chunk?.children ?? [] } }];
    });
  };
  const refused = await changeRows(place.target, plan, context);
  return (planned ?? []).map((each): PlannedChange => {
    const note = refused.get(each.row);
    return note === undefined ? each : { ...each, action: "failed", note };
  });
}
