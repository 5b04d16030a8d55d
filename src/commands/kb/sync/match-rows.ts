import { groupBy } from "../../../lib/collect.ts";
import { own } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { shortened } from "../../../lib/text.ts";
import { change, sendsContent } from "../changes/index.ts";
import type { Action, SizedChange } from "../changes/index.ts";
import { embeddedCharacters, partsThatDiffer, stepsFor } from "../chunk-lists/index.ts";
import type { ChunkRules, ExistingChunk, StoredChunk } from "../chunk-lists/index.ts";
import { PLACEHOLDER } from "../documents/index.ts";
import type { SheetNotes } from "./row-notes.ts";
import type { KeyedRow, KeyedSheet } from "./sheet-rows.ts";

/** What is to become of a row: `create`, `update`, `unchanged` or `conflict`. */
export interface PlannedRow extends SizedChange {
  readonly row: KeyedRow;
  /** The chunk that it has, and the one that it asks for. */
  readonly chunk: ExistingChunk | undefined;
  readonly to: StoredChunk;
}

/** The rows of a sheet against the chunks of its document. */
export interface RowsPlan {
  readonly rows: readonly PlannedRow[];
  /** What the server made of the placeholder. */
  readonly generated: readonly ExistingChunk[];
  /** Chunks that no row has any more. */
  readonly gone: readonly ExistingChunk[];
  /** Chunks that no row has, and that are not as a sync of this machine left them. */
  readonly foreign: readonly ExistingChunk[];
}

/** Does this machine know the chunks of the rows, and may it overwrite and take over what others made? */
type RowRules = ChunkRules & { readonly isTold: boolean; readonly adopt: boolean };

/** Hash of what is embedded and answered. */
export const textHash = ({ content, answer }: Pick<StoredChunk, "content" | "answer">): string =>
  sha256(JSON.stringify([content, answer || null]));

/** Hash of all that a row says. */
const wholeHash = (chunk: StoredChunk): string =>
  sha256(JSON.stringify([textHash(chunk), chunk.keywords.toSorted()]));

/** The beginning of a content, in one line. */
export const firstWords = ({ content }: { readonly content: string }): string =>
  shortened(content.replaceAll(/\s+/g, " "), 80);

/**
 * Compares the rows of a sheet with the chunks of its document; pure. Without IDs, the content of a row is its key,
 * and only the two are compared: the sheet wins. With IDs, a chunk that is not as this machine left it is a conflict;
 * a machine that knows nothing of the sheet takes rows and chunks of the same content for each other's, and does not
 * guess about the others.
 */
export function planRows(
  sheet: KeyedSheet,
  chunks: readonly ExistingChunk[],
  notes: SheetNotes,
  rules: RowRules,
): RowsPlan {
  const { pairs, rest } = matchRows(sheet, chunks, notes);
  const marks = new Set(Object.values(notes.rows).flatMap((row) => row.marks));
  const isLeft = (chunk: ExistingChunk) =>
    marks.has(wholeHash(chunk)) || marks.has(textHash(chunk));
  const kindOf = (chunk: ExistingChunk) => {
    const isGenerated = notes.generated?.includes(chunk.id) ?? pairs.size === 0; // none was sent
    if (isGenerated || chunk.content === PLACEHOLDER) return "generated";
    return rules.adopt || !sheet.hasIds || isLeft(chunk) ? "gone" : "foreign";
  };
  const kinds = groupBy(rest, kindOf);
  const foreign = kinds.get("foreign") ?? [];
  const actionFor = (to: StoredChunk, chunk: ExistingChunk | undefined): [Action, string?] => {
    if (!chunk && !rules.isTold && foreign.length > 0)
      return ["conflict", "new, or another content of a chunk that is kept?"];
    if (!chunk) return ["create"];
    const steps = stepsFor({ pairs: [[to, chunk]], missing: [], surplus: [] }, rules);
    if (steps.length === 0) return ["unchanged"];
    if (rules.isTold && !rules.adopt && !isLeft(chunk))
      return ["conflict", "the chunk was changed on the server since it was sent"];
    return ["update", partsThatDiffer(to, chunk)];
  };
  const rows = sheet.rows.map((row): PlannedRow => {
    const chunk = pairs.get(row);
    const to = chunkOf(row, chunk);
    const [action, note = null] = actionFor(to, chunk);
    const name = `row ${row.number}: ${firstWords(row)}`;
    const source = { size: embeddedCharacters(to), kind: "text" } as const;
    const base = change({ action, what: "chunk", name, id: chunk?.id ?? null, note });
    return { ...base, source, row, chunk, to };
  });
  return { rows, generated: kinds.get("generated") ?? [], gone: kinds.get("gone") ?? [], foreign };
}

/** The chunk of each row, and those that are left: by the ID that was noted, by the text, and then by the content. */
function matchRows(
  { rows }: KeyedSheet,
  chunks: readonly ExistingChunk[],
  { rows: noted }: SheetNotes,
) {
  const free = new Map(chunks.map((chunk) => [chunk.id, chunk]));
  const pairs = new Map<KeyedRow, ExistingChunk>();
  const pairBy = (
    signsOf: (row: KeyedRow) => readonly string[],
    signOf: (chunk: ExistingChunk) => string,
  ) => {
    const bySign = groupBy(free.values(), signOf);
    for (const row of rows) {
      const same = pairs.has(row) ? [] : signsOf(row).flatMap((sign) => bySign.get(sign) ?? []);
      const chunk = same.find(({ id }) => free.has(id));
      if (!chunk) continue;
      pairs.set(row, chunk);
      free.delete(chunk.id);
    }
  };
  const contentOf = ({ content }: { readonly content: string }) => content;
  const idOf = ({ id }: ExistingChunk) => id;
  pairBy(({ key }) => [own(noted, key)?.chunk ?? ""], idOf);
  pairBy((row) => [textHash(row)], textHash);
  pairBy(({ key }) => own(noted, key)?.marks ?? [], textHash);
  pairBy((row) => [contentOf(row)], contentOf);
  return { pairs, rest: [...free.values()] };
}

/** The notes for a list of chunks: of the rows that it has and those that are about to be sent, without deleted ones. */
export function notesFor(
  { rows, generated }: RowsPlan,
  { hasIds }: KeyedSheet,
  known: SheetNotes,
  deleted?: ReadonlySet<unknown>,
): Omit<SheetNotes, "document"> {
  const noted = rows.flatMap((each) => {
    const { row, action, chunk } = each;
    if (!hasIds || (action !== "unchanged" && !sendsContent(each))) return [];
    const before = own(known.rows, row.key);
    const now = chunk ? [wholeHash(chunk)] : [];
    const marks = action === "unchanged" ? now : [...(before?.marks ?? []), ...now, textHash(row)];
    return [[row.key, { chunk: chunk?.id, marks: [...new Set(marks)] }] as const];
  });
  const kept = Object.entries(known.rows).filter(([, { chunk }]) => !deleted?.has(chunk));
  const made = known.generated ?? generated.map(({ id }) => id);
  return {
    rows: Object.fromEntries([...kept, ...noted]),
    generated: made.filter((id) => !deleted?.has(id)),
  };
}

/** The chunk that a row asks for: it stays disabled if it is, unless its embedding failed. */
const chunkOf = (
  { number, content, answer, keywords }: KeyedRow,
  chunk: ExistingChunk | undefined,
): StoredChunk => ({
  position: number,
  content,
  answer,
  keywords: keywords ?? chunk?.keywords ?? [],
  enabled: chunk === undefined || chunk.enabled || chunk.status === "error",
  status: null,
  summary: chunk?.summary ?? null,
  children: [],
  attachments: 0,
});
