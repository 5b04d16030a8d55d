import { refused } from "../../../errors.ts";
import { collect } from "../../../lib/collect.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { firstNames } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { documentRow } from "../changes/index.ts";
import type { DocumentChange } from "../changes/index.ts";
import { chunkRules, readChunks } from "../chunk-lists/index.ts";
import {
  contentHashes,
  PLACEHOLDER,
  readKbState,
  sheetMark,
  syncFields,
} from "../documents/index.ts";
import type { DocumentState, KbState } from "../documents/index.ts";
import type { statusParams } from "./command.ts";
import { planRows, textHash } from "./match-rows.ts";
import type { PlannedRow } from "./match-rows.ts";
import type { SheetNotes } from "./row-notes.ts";
import type { KeyedSheet } from "./sheet-rows.ts";
import { adoptLine } from "./sync.ts";

/** What a sync of a sheet would do, and what it follows from. */
export type SheetPlan = Awaited<ReturnType<typeof planSheet>>;

/** Compares a sheet with the chunks of its document. Throws refused if the document cannot have the rows. */
export async function planSheet(
  sheet: KeyedSheet,
  noted: SheetNotes,
  flags: Input<typeof statusParams>,
  context: Context,
) {
  const { dataset_id, adopt = false } = flags;
  const state = await readKbState(dataset_id, context);
  requireForm(sheet, state);
  const document = await planDocument(sheet, state, { ...flags, noted }, context);
  const { change, isHalfMade, mark } = document;
  const isNew = change.action !== "chunks";
  const place = { dataset_id, document_id: change.id ?? "", doc_form: sheet.doc_form };
  const chunks = isNew ? [] : await collect(readChunks(place, context));
  const isTold = Object.keys(noted.rows).length > 0;
  const rules = { ...chunkRules(state.settings, sheet.doc_form), adopt, isTold };
  // That a document was about to be created says nothing of the chunks of another one.
  const generated = isHalfMade ? noted.generated : (noted.generated ?? []);
  const notes: SheetNotes = { ...noted, generated: isNew ? null : generated };
  const plan = planRows(sheet, chunks, notes, rules);
  // With another content they go by themselves, and economy extracts them again (server §9.7).
  const isStuck = ({ to, chunk }: PlannedRow) =>
    to.keywords.length === 0 && chunk?.keywords.length && textHash(to) === textHash(chunk);
  const stuck = plan.rows.filter(isStuck).map(({ row }) => row.place);
  if (stuck.length > 0 && state.settings.indexing_technique !== "economy")
    throw refused(
      `${sheet.name}: the server cannot remove the keywords of ${firstNames(stuck, 10)}`,
      "write other keywords there, or delete these chunks first: kb chunk delete",
    );
  return { sheet, state, change, isNew, mark, rules, notes, chunks, plan };
}

/** Throws refused for a knowledge base without a technique, or whose documents have another form. */
function requireForm({ doc_form, name }: KeyedSheet, { settings, documents }: KbState): void {
  const { indexing_technique, doc_form: form } = settings;
  const isOther = documents.length > 0 && form !== doc_form;
  if (indexing_technique !== null && !isOther) return;
  const technique = doc_form === "qa_model" ? "high_quality" : "economy";
  const create = commandLine("kb create", ["NAME"], { "indexing-technique": technique });
  throw refused(
    isOther ? `${name} needs the form ${doc_form}, not ${form}` : "there is no indexing technique",
    `create a knowledge base for the sheet: ${create}`,
  );
}

/**
 * Plans the document of a sheet, a text of one word whose chunks are the rows: to create, to send again after an error,
 * or only its chunks. `mark` is to be written; until it is, its text tells that a sync has made it. Throws refused for
 * the document of someone else.
 */
async function planDocument(
  { name }: KeyedSheet,
  { documents }: KbState,
  { noted, ...flags }: Input<typeof statusParams> & { readonly noted: SheetNotes },
  context: Context,
) {
  const bytes = new TextEncoder().encode(PLACEHOLDER);
  const content = { read: async () => bytes, hash: sha256(bytes), size: bytes.length };
  const names = { path: name, name, location: name };
  const source = { ...names, kind: "text", metadata: {}, ...content } as const;
  const mark = sheetMark(name);
  const ownerOf = ({ metadata }: DocumentState) => metadata[syncFields.source];
  const document =
    documents.find(({ id }) => id === noted.document) ??
    documents.findLast((each) => ownerOf(each) === mark) ??
    documents.findLast((each) => each.name === name);
  const owner = document && ownerOf(document);
  const isNoted = document?.id === noted.document;
  const unsure = document && !isNoted && owner === undefined ? [document] : [];
  const hashes = await contentHashes(flags.dataset_id, unsure, context);
  const isOwn =
    owner === undefined ? unsure.every(({ id }) => hashes.get(id) === source.hash) : owner === mark;
  if (!isOwn && !flags.adopt)
    throw refused(
      `document ${name} exists, and no sync of rows has made it`,
      `to take it over with its chunks: ${adoptLine(flags)}`,
    );
  const exists = document?.indexing_status === "error" ? "update" : "chunks";
  const row = documentRow(document ? exists : "create", { name, id: document?.id ?? null });
  const change: DocumentChange = { ...row, source, document };
  const isMarked = row.action === "chunks" && owner === mark;
  return { change, isHalfMade: isOwn && !isNoted, mark: isMarked ? undefined : mark };
}
