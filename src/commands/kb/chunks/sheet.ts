import { usage, notFound, refused } from "../../../errors.ts";
import { csvLines } from "../../../lib/formats/csv.ts";
import { readRowFile, rowPlace } from "../../../lib/formats/rows-file.ts";
import type { FileRow } from "../../../lib/formats/rows-file.ts";
import { isUuid, counted } from "../../../lib/text.ts";
import { collect, groupBy } from "../../../lib/collect.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { chunkHash, readChunks } from "../chunk-lists/index.ts";
import type { ExistingChunk, StoredChunk } from "../chunk-lists/index.ts";
import { countedDocuments } from "../documents/index.ts";
import type { chunkExportParams } from "./command.ts";

/** The columns of a sheet. `state` tells whether a chunk was changed since the export. */
const columns = [
  "document",
  "position",
  "content",
  "answer",
  "keywords",
  "enabled",
  "summary",
  "document_id",
  "chunk_id",
  "state",
] as const;
type Column = (typeof columns)[number];

/** A row of a sheet: a chunk to change, or to append if it has no ID. */
export interface SheetRow {
  /** From 1, without the header. */
  readonly number: number;
  readonly document_id: string;
  readonly chunk_id: string | null;
  /** What the cells say; undefined where the sheet has no such column. */
  readonly content: string | undefined;
  readonly answer: string | undefined;
  readonly keywords: readonly string[] | undefined;
  readonly enabled: boolean | undefined;
  readonly summary: string | undefined;
  readonly state: string;
}

/** A text that a spreadsheet runs as a formula, or that looks like one with an apostrophe. */
const formula = /^'*[=+\-@\t\r]/;

const safeCell = (text: string): string => (formula.test(text) ? `'${text}` : text);
const plainCell = (cell: string): string =>
  cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell;

/** The beginning of the hash of a chunk. */
export const stateOf = (chunk: StoredChunk): string => chunkHash(chunk).slice(0, 12);

/** The row of a chunk. */
function rowOf(chunk: ExistingChunk, document: { readonly id: string; readonly name: string }) {
  const cells: Readonly<Record<Column, string>> = {
    document: document.name,
    position: String(chunk.position),
    content: chunk.content,
    answer: chunk.answer ?? "",
    keywords: chunk.keywords.join("\n"),
    enabled: chunk.enabled ? "yes" : "no",
    summary: chunk.summary ?? "",
    document_id: document.id,
    chunk_id: chunk.id,
    state: stateOf(chunk),
  };
  return columns.map((column) => safeCell(cells[column]));
}

/** Reads the rows of a sheet. Throws usage with the row of a mistake, before anything is sent. */
export async function readSheet(path: string, bytes: Uint8Array): Promise<SheetRow[]> {
  const { rows, columns: head } = await readRowFile(path, bytes);
  const example = "write one with kb chunk export <kb> <file>";
  if (!head?.includes("document_id"))
    throw usage(`${path}: column document_id is missing`, example);
  const read = rows.map((row) => sheetRow(row, path));
  for (const [id, same] of groupBy(read, ({ chunk_id }) => chunk_id))
    if (id !== null && same.length > 1)
      throw usage(`${path}: several rows have the chunk_id ${id}`);
  return read;
}

function sheetRow(row: FileRow, path: string): SheetRow {
  const invalid = (problem: string) => usage(`${path} ${rowPlace(row)}: ${problem}`);
  const cell = (column: Column): string | undefined => {
    const value = row.values[column];
    return typeof value === "string" ? plainCell(value) : undefined;
  };
  const document_id = cell("document_id") ?? "";
  const chunk_id = cell("chunk_id") || null;
  if (!isUuid(document_id))
    throw invalid(`${JSON.stringify(document_id)} is not a valid document_id`);
  if (chunk_id !== null && !isUuid(chunk_id))
    throw invalid(`${JSON.stringify(chunk_id)} is not a valid chunk_id`);
  const content = cell("content");
  if (content?.trim() === "" || (chunk_id === null && content === undefined))
    throw invalid("a chunk cannot be empty; to delete it: kb chunk delete");
  const enabled = cell("enabled")?.trim().toLowerCase();
  if (enabled !== undefined && !["", "yes", "no", "true", "false"].includes(enabled))
    throw invalid(`enabled is ${JSON.stringify(enabled)}, not yes or no`);
  const lines = cell("keywords")?.split("\n");
  return {
    number: row.number,
    document_id,
    chunk_id,
    content,
    answer: cell("answer"),
    keywords: lines?.map((word) => word.trim()).filter((word) => word !== ""),
    enabled: enabled ? ["yes", "true"].includes(enabled) : undefined,
    summary: cell("summary"),
    state: cell("state") ?? "",
  };
}

/** Are two texts the same but for line ends, which spreadsheets change? */
const isSameText = (a: string, b: string): boolean =>
  a.replaceAll("\r\n", "\n") === b.replaceAll("\r\n", "\n");

/** The chunk that a row asks for, made of the existing one; the same object if it asks for nothing else. */
export function wantedChunk(row: SheetRow, existing: ExistingChunk): StoredChunk {
  const text = (cell: string | undefined, now: string) =>
    cell === undefined || isSameText(cell, now) ? now : cell;
  const content = text(row.content, existing.content);
  const answer = text(row.answer, existing.answer ?? "") || existing.answer;
  const summary = text(row.summary, existing.summary ?? "") || existing.summary;
  const keywords = row.keywords?.length ? row.keywords : existing.keywords;
  const enabled = row.enabled ?? existing.enabled;
  const wanted = { ...existing, content, answer, summary, keywords, enabled };
  return chunkHash(wanted) === chunkHash(existing) ? existing : wanted;
}

/** The chunk that a row without an ID adds. */
export const addedChunk = (row: SheetRow): StoredChunk => ({
  position: row.number,
  content: row.content ?? "",
  answer: row.answer || null,
  keywords: row.keywords ?? [],
  enabled: row.enabled ?? true,
  status: null,
  summary: row.summary || null,
  children: [],
  attachments: 0,
});

/** Writes the chunks of a knowledge base to a CSV file, document by document. */
export async function* exportChunks(
  { dataset_id, file, doc }: Input<typeof chunkExportParams>,
  context: Context,
): AsyncGenerator<{ readonly document: string; readonly chunks: number }> {
  const { doc_form = null } = await context.api.call(getKnowledgeBase, { dataset_id });
  const all = (await collect(countedDocuments(dataset_id, context))).reverse(); // the newest come first
  for (const text of doc ?? []) {
    const { length } = all.filter(({ id, name }) => id === text || name === text);
    const named = `document ${JSON.stringify(text)}`;
    const hint = `list the documents with their IDs: ${commandLine("kb doc list", [dataset_id])}`;
    if (length === 0) throw notFound(`${named} not found`, hint);
    if (length > 1) throw refused(`${named} is ambiguous (${length} matches)`, hint);
  }
  const chosen = all.filter(({ id, name }) => !doc || doc.includes(id) || doc.includes(name));
  const rows: { document: string; chunks: number }[] = [];
  const format = await csvLines();
  async function* sheet() {
    yield `\uFEFF${format([columns])}`; // the mark makes Excel read it as UTF-8
    for (const document of chosen) {
      const place = { dataset_id, document_id: document.id, doc_form };
      const chunks = await collect(readChunks(place, context));
      rows.push({ document: document.name, chunks: chunks.length });
      if (chunks.length > 0) yield format(chunks.map((chunk) => rowOf(chunk, document)));
    }
  }
  await context.host.files.writeAtomic(file, sheet());
  yield* rows;
  const total = rows.reduce((sum, { chunks }) => sum + chunks, 0);
  context.summary(
    `wrote ${counted(total, "chunk")} of ${counted(rows.length, "document")} to ${file}`,
  );
}
