import { usage } from "../../../errors.ts";
import { collect } from "../../../lib/collect.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import type { Context } from "../../task/command-spec.ts";
import {
  change,
  changeSummary,
  makeDocuments,
  requireMade,
  rowOf,
  sendsContent,
} from "../changes/index.ts";
import type { Change, SizedChange } from "../changes/index.ts";
import { changeChunks, changeRows, readChunks } from "../chunk-lists/index.ts";
import type { ChunkStep, ExistingChunk } from "../chunk-lists/index.ts";
import { waitOnRateLimit } from "../documents/index.ts";
import { firstWords, notesFor, planRows } from "./match-rows.ts";
import type { RowsPlan } from "./match-rows.ts";
import { planSheet } from "./plan-rows.ts";
import type { SheetPlan } from "./plan-rows.ts";
import { openNotes } from "./row-notes.ts";
import type { SheetNotes } from "./row-notes.ts";
import { readKeyedSheet } from "./sheet-rows.ts";
import { adoptLine, confirmDeletes, maxDeletes, run as syncFiles } from "./sync.ts";
import type { SyncInput } from "./sync.ts";

/** Syncs the rows of a sheet, or the files of a source. */
export async function* run(flags: SyncInput, context: Context): AsyncGenerator<Change | string> {
  requireRows(flags);
  yield* flags.rows ? syncRows(flags, context) : syncFiles(flags, context);
}

/** Throws usage for flags about rows without --rows. */
export function requireRows({ rows, map, id_column }: Partial<SyncInput>): void {
  if (!rows && (map || id_column !== undefined)) throw usage("--map and --id-column need --rows");
}

/** Makes the chunks of the document of a sheet equal to its rows. Throws partial if a row is not there at the end. */
export async function* syncRows(flags: SyncInput, context: Context): AsyncGenerator<Change> {
  const { prune, dataset_id } = flags;
  maxDeletes(flags, 0); // throws for an invalid value
  const sheet = await readKeyedSheet(flags, context);
  const notes = await openNotes(dataset_id, sheet.name, context);
  try {
    const planned = await planSheet(sheet, await notes.read(), flags, context);
    const { chunks, plan } = planned;
    await noticePlan(planned, prune, context);
    const deletes = prune ? plan.gone.map(firstWords) : [];
    await confirmDeletes(deletes, { ...flags, total: chunks.length }, "chunks", context);
    const changes = plannedChanges(plan, prune);
    const isDone =
      planned.mark === undefined &&
      !changes.some((each) => sendsContent(each) || each.action === "delete");
    const { dryRun } = context.options;
    const document = planned.change.id ?? "";
    if (isDone && !dryRun) await notes.write({ ...notesFor(plan, sheet, planned.notes), document });
    const made = isDone || dryRun ? changes : makeRows(planned, notes.write, flags, context);
    const results: SizedChange[] = [];
    for await (const each of made) {
      results.push(each);
      if (each.action !== "unchanged") yield rowOf(each);
    }
    const adopt = `to overwrite the chunks in conflict: ${adoptLine(flags)}`;
    const wording = { verb: "sync", noun: "row", count: sheet.rows.length, adopt } as const;
    context.summary(changeSummary(results, results, wording, context));
    const rows = results.map((each) => rowOf(each));
    requireMade(rows, dataset_id, wording, context);
  } finally {
    notes.close();
  }
}

/** The changes of a plan: those of its rows, and deletes of chunks without one. */
export const plannedChanges = (
  { rows, generated, gone }: RowsPlan,
  prune = false,
): readonly SizedChange[] => [
  ...rows,
  ...[...generated, ...(prune ? gone : [])].map(({ id, content }) => ({
    ...change({ action: "delete", what: "chunk", name: firstWords({ content }), id }),
    source: undefined,
  })),
];

/** Says what the rows do not tell, before anything is sent. */
async function noticePlan(
  { sheet, isNew, rules, chunks, plan: { generated, gone, foreign } }: SheetPlan,
  prune: boolean | undefined,
  { notice }: Context,
): Promise<void> {
  const asks = sheet.doc_form === "qa_model" ? ", also by asking its model," : "";
  const made = `${sheet.name} is created with one word as its text; the chunks that the server makes of it${asks} are deleted once the rows are stored`;
  if (isNew) await notice(made);
  const untold =
    "this machine knows no chunks by the ID of their row: they are matched by their content, and changes made on the server are overwritten";
  if (sheet.hasIds && !rules.isTold && chunks.length > generated.length) await notice(untold);
  const namesOf = (some: readonly ExistingChunk[]) =>
    `${counted(some.length, "chunk")} without a row: ${firstNames(some.map(firstWords), 10)}`;
  const them = ({ length }: readonly unknown[]) => (length === 1 ? "it" : "them");
  if (gone.length > 0 && !prune) await notice(`${namesOf(gone)}; --prune deletes ${them(gone)}`);
  const left = `no sync here left ${them(foreign)} so; --adopt --prune deletes ${them(foreign)}`;
  if (foreign.length > 0) await notice(`${namesOf(foreign)}; ${left}`);
}

/**
 * Makes the document, sends the rows that differ, reads the list again, and only then deletes what has no row. What
 * the list has is the result: nothing else counts as made.
 */
async function* makeRows(
  { sheet, state, change: document, mark, rules, notes, plan: { gone: confirmed } }: SheetPlan,
  write: (notes: SheetNotes) => Promise<void>,
  flags: SyncInput,
  context: Context,
): AsyncGenerator<SizedChange> {
  const { dataset_id, wait_for_limit = false, prune = false } = flags;
  const waiter = waitOnRateLimit(wait_for_limit, context);
  await write(notes);
  let document_id = "";
  const settings = { ...state.settings, doc_form: sheet.doc_form };
  const giveChunks = async () => {}; // it may have none
  const marks = mark !== undefined && { source: mark };
  const target = { ...state, dataset_id, settings, wait_for_limit, giveChunks, ...marks };
  const wording = { verb: "sync", noun: "file", count: 1 } as const;
  const made = makeDocuments([document], target, wording, { ...context, summary: () => {} });
  for await (const row of made) {
    document_id = row.id ?? "";
    if (row.action === "failed") yield { ...row, source: undefined };
  }
  let known = notes;
  const place = { dataset_id, document_id, ...rules };
  const planOf = (chunks: readonly ExistingChunk[]) => planRows(sheet, chunks, known, rules);
  const read = async () => planOf(await collect(readChunks(place, context)));
  const note = async (plan: RowsPlan, deleted?: ReadonlySet<unknown>) =>
    write((known = { ...notesFor(plan, sheet, known, deleted), document: document_id }));
  const before = await read();
  const sent = new Map(before.rows.filter(sendsContent).map((each) => [each.row.number, each]));
  await note(before);
  const open = (chunks: readonly ExistingChunk[]) => planOf(chunks).rows.filter(sendsContent);
  const refused = await waiter(() => changeRows(place, open, context));
  const after = await read();
  const results = after.rows.map((each): SizedChange => {
    const { number } = each.row;
    if (each.action === "unchanged") return { ...(sent.get(number) ?? each), id: each.id };
    if (each.action === "conflict") return each;
    const why = refused.get(number) ?? "the server does not have it as it was sent";
    return { ...each, action: "failed", note: why };
  });
  yield* results;
  await note(after);
  // A row that is not stored may be the new content of a chunk that is gone.
  const isWhole =
    prune && results.every((each) => each.action === "unchanged" || sendsContent(each));
  const gone = after.gone.filter(({ id }) => isWhole && confirmed.some((each) => each.id === id));
  const removed = plannedChanges({ ...after, rows: [], gone }, true);
  const ids = new Set(removed.map(({ id }) => id));
  const removals = (chunks: readonly ExistingChunk[]): ChunkStep[] =>
    chunks.flatMap(({ id }) => (ids.has(id) ? [{ action: "delete", id }] : []));
  await waiter(() => changeChunks(place, removals, context));
  await note(after, ids);
  yield* removed;
}
