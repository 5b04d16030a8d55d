import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError, usage, verdict } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { collect } from "../../../lib/collect.ts";
import { own } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { counted, withoutMark } from "../../../lib/text.ts";
import { asText } from "../../../operations/operation.ts";
import type { Input } from "../../../operations/operation.ts";
import { left, literal, noTable } from "../../../output/report-model.ts";
import type { Report, Section } from "../../../output/report-model.ts";
import { openWordDiff } from "../../../lib/word-diff.ts";
import type { Context } from "../../task/command-spec.ts";
import { planSettings } from "../changes/index.ts";
import { chunkRules, diffChunks, readChunks, readChunksOf } from "../chunk-lists/index.ts";
import type { StoredChunk } from "../chunk-lists/index.ts";
import { contentHashes, readKbState } from "../documents/index.ts";
import type { DocumentState, FieldValue, KbProperties } from "../documents/index.ts";
import { neverCarried } from "./as-is.ts";
import { hashedDocuments, notImported, readManifest } from "./bundle.ts";
import type { BundledDocument, Manifest } from "./bundle.ts";
import type { verifyParams } from "./command.ts";

/** Compares two knowledge bases or exports, and their chunks if requested. Throws gate if there are differences. */
export async function* run(
  input: Input<typeof verifyParams>,
  context: Context,
): AsyncGenerator<KbDifference | Report> {
  const isPage = context.options.format === "html";
  const rows: DifferenceRow[] = [];
  let count = 0;
  let beyond = 0;
  const { to_profile } = input;
  const other = to_profile === undefined ? context : context.with({ profile: to_profile });
  const [a, b] = [await readSide(input.a, context), await readSide(input.b, other)];
  for await (const difference of differencesOf(a, b, input, context)) {
    if (difference.what === notImportable) beyond++;
    else count++;
    const row = { ...difference, note: differenceNote(difference, input) };
    if (isPage) rows.push(row);
    else yield row;
  }
  if (isPage) yield await differencePage(rows, input);
  const limits = beyond > 0 ? `; ${counted(beyond, "difference")} that no import can remove` : "";
  const scope = `${scopeOf(a, b, input)}${limits}`;
  if (count > 0)
    throw verdict("gate", `${counted(count, "difference")}; ${scope}`, { differences: count });
  context.summary(`no differences; ${scope}`);
}

/** The differences of two sides, with those of their chunks if requested. */
export async function* differencesOf(
  a: Side,
  b: Side,
  { chunks }: Pick<Input<typeof verifyParams>, "chunks">,
  context: Context,
): AsyncGenerator<KbDifference> {
  yield* diffKb(a, b);
  if (!chunks) return;
  const pairs = pairDocuments(a, b).filter(isPair);
  let done = 0;
  const summaries = [a, b].every((side) => chunkRules(side.settings, null).summaries);
  // One document of each side is in memory for each comparison.
  const compare = async ({ name, a: left, b: right }: DocumentPair) => {
    const [one, other] = [await a.chunksOf(left), await b.chunksOf(right)];
    const total = pairs.length;
    context.progress({ verb: "Comparing chunks", done: ++done, total, unit: "documents" });
    return [...diffChunks(one, other, { summaries })].map(
      ({ isCarried, name: part, ...values }): KbDifference => ({
        what: isCarried ? "chunk" : notImportable,
        name: `${name}: ${part}`,
        ...values,
      }),
    );
  };
  for await (const found of mapConcurrent(pairs, context.api.limitConcurrency(), compare))
    yield* found;
}

function scopeOf(
  a: ComparedKb,
  b: ComparedKb,
  { chunks }: Pick<Input<typeof verifyParams>, "chunks">,
): string {
  const documents = `${a.documents.length} and ${b.documents.length} documents with their content${chunks ? ", chunks" : ""} and metadata`;
  const missing = a.documents.filter((document) => document.sha256 === null).length;
  const withoutContent = missing > 0 ? `; documents without content: ${missing}` : "";
  const uncompared = chunks ? neverCarried : `${notImported(a.settings)}, languages of documents`;
  return `compared ${documents}, ${counted(a.fields.length, "field")}, ${counted(a.tags.length, "tag")} and the settings${withoutContent}; not compared: ${uncompared}, chunking rules of documents`;
}

/** A side of a comparison, which reads the chunks of its documents. */
export interface Side extends ComparedKb {
  chunksOf(document: Pick<BundledDocument, "id" | "name" | "chunks">): Promise<StoredChunk[]>;
}

/** Reads a knowledge base or the directory of an export; `name:` and `id:` are never a path. */
async function readSide(text: string, context: Context): Promise<Side> {
  const { files } = context.host;
  const isName = /^(name|id):/.test(text);
  const manifest = isName ? undefined : await readManifest(text, files);
  if (manifest) return bundleSide(text, manifest, context);
  const noExport = usage(
    `no export found in ${text}`,
    `create one with ${commandLine("kb export", ["KB", text])}, or write name:<kb> for a knowledge base; files are compared by ${commandLine("kb status", ["KB", text])}`,
  );
  if (!isName && (await files.stat(text))?.isDirectory) throw noExport;
  const dataset_id = await context.resolveId("kb", text).catch((error: unknown) => {
    const isMissing = error instanceof CliError && error.kind === "not-found";
    throw isMissing && !isName && /[/\\]/.test(text) ? noExport : error;
  });
  return kbSide(dataset_id, context);
}

/** Without a byte order mark, which a sync does not send: earlier versions did. */
const hashOf = (bytes: Uint8Array): string => sha256(withoutMark(bytes));

/** An export as a side; documents have the hashes of their files as they are now. */
export async function bundleSide(
  directory: string,
  { state }: Pick<Manifest, "state">,
  context: Context,
): Promise<Side> {
  const hashed = await hashedDocuments(directory, state, context, hashOf);
  return {
    ...state,
    documents: hashed.map(({ hash, ...document }) => ({ ...document, sha256: hash })),
    async chunksOf(document) {
      const chunks = await readChunksOf(directory, document, context);
      if (chunks) return chunks;
      throw usage(
        `the export ${directory} has no chunks of ${document.name}`,
        "export again: kb export <kb> <dir>",
      );
    },
  };
}

/** A knowledge base as a side; its contents are downloaded to hash them. */
export async function kbSide(dataset_id: string, context: Context): Promise<Side> {
  const state = await readKbState(dataset_id, context, { exact: true });
  const hashes = await contentHashes(dataset_id, state.documents, context, hashOf);
  const { doc_form } = state.settings;
  return {
    ...state,
    documents: state.documents.map((each) => ({ ...each, sha256: hashes.get(each.id) ?? null })),
    chunksOf: ({ id: document_id }) =>
      collect(readChunks({ dataset_id, document_id, doc_form }, context)),
  };
}

/** A document with the hash of its content; null if it has none. */
export interface ComparedDocument extends Omit<DocumentState, "error" | "from_api"> {
  readonly sha256: string | null;
}

/** One side of a comparison. */
export interface ComparedKb extends KbProperties {
  readonly documents: readonly ComparedDocument[];
}

/** What a terminal groups differences by: `only in backup`, `differs`, or `draft → final`. */
export function differenceNote(
  { what, a, b }: KbDifference,
  sides: { readonly a: string; readonly b: string },
): string {
  const isOnly = what === "document" || what === "tag";
  if (isOnly || (what === "chunk" && (a === null || b === null)))
    return `only in ${b === null ? sides.a : sides.b}`;
  if (what === "content" || (what === "chunk" && typeof a === "string")) return "differs";
  const [from, to] = [a, b].map((value) => asText(value ?? "") || "none");
  return `${from} → ${to}`;
}

/**
 * Yields all differences between two knowledge bases: the changes that would make the second like the
 * first. Documents are matched by name, those of the same name by position. The name of the knowledge
 * base is not compared, as a copy has another one.
 */
export function* diffKb(a: ComparedKb, b: ComparedKb): Generator<KbDifference> {
  for (const { what, name, action, from, to } of planSettings({ ...a, name: "" }, b, true)) {
    if (what === "tag")
      yield { what, name, ...(action === "bind" ? { a: name, b: null } : { a: null, b: name }) };
    else if (what === "built-in fields") yield { what: "setting", name, a: to, b: from };
    else if (what === "setting" || what === "field") yield { what, name, a: to, b: from };
  }
  for (const { name, a: left, b: right } of pairDocuments(a, b))
    yield* diffDocument(name, left, right);
}

/** Documents of the same name, or one that only one side has. */
interface MatchedDocuments {
  readonly name: string;
  readonly a: ComparedDocument | undefined;
  readonly b: ComparedDocument | undefined;
}
type DocumentPair = { readonly [K in keyof MatchedDocuments]: NonNullable<MatchedDocuments[K]> };

const isPair = (pair: MatchedDocuments): pair is DocumentPair =>
  pair.a !== undefined && pair.b !== undefined;

function pairDocuments(a: ComparedKb, b: ComparedKb): MatchedDocuments[] {
  const [left, right] = [byNameAndCount(a.documents), byNameAndCount(b.documents)];
  return [...new Set([...left.keys(), ...right.keys()])].map((key) => ({
    name: displayName(key),
    a: left.get(key),
    b: right.get(key),
  }));
}

function* diffDocument(
  name: string,
  a: ComparedDocument | undefined,
  b: ComparedDocument | undefined,
): Generator<KbDifference> {
  if (!a || !b) {
    yield { what: "document", name, a: a ? "exists" : null, b: b ? "exists" : null };
    return;
  }
  yield* diffValue("content", name, a.sha256, b.sha256);
  yield* diffValue("status", name, statusOf(a), statusOf(b));
  for (const field of new Set([...Object.keys(a.metadata), ...Object.keys(b.metadata)])) {
    const values = comparable(own(a.metadata, field), own(b.metadata, field));
    yield* diffValue("metadata", `${name}: ${field}`, ...values);
  }
}

/** Adds types to two values that look the same: 5 and "5" → `5 (number)` and `5 (text)`. */
function comparable(a: FieldValue | undefined, b: FieldValue | undefined): [unknown, unknown] {
  const looksSame = a !== b && a !== undefined && String(a) === String(b);
  return looksSame ? [withType(a), withType(b ?? "")] : [a ?? null, b ?? null];
}

const withType = (value: FieldValue): string =>
  `${value} (${typeof value === "string" ? "text" : "number"})`;

function* diffValue(what: KbDifference["what"], name: string, a: unknown, b: unknown) {
  if (a !== b) yield { what, name, a, b };
}

/** Documents by name and position among those of the name: `a.md\0` and `2`; names have no NUL. */
function byNameAndCount(documents: readonly ComparedDocument[]) {
  const byKey = new Map<string, ComparedDocument>();
  const counts = new Map<string, number>();
  for (const document of documents) {
    const count = (counts.get(document.name) ?? 0) + 1;
    counts.set(document.name, count);
    byKey.set(`${document.name}\0${count}`, document);
  }
  return byKey;
}

/** `a.md` for the first document of a name, `a.md #2` for the second. */
const displayName = (key: string): string =>
  key.replace(/\0(\d+)$/, (_, count) => (count === "1" ? "" : ` #${count}`));

const statusOf = ({ enabled, archived, indexing_status }: ComparedDocument): string =>
  [
    ...(archived ? ["archived"] : []),
    ...(enabled ? [] : ["disabled"]),
    ...(indexing_status === "completed" ? [] : [indexing_status]),
  ].join(", ") || "enabled";

/** Differences of chunks that stay, whatever is imported. */
export const notImportable = "not importable";

/** One difference; null if a side lacks the value. */
export interface KbDifference {
  readonly what:
    | "setting"
    | "tag"
    | "field"
    | "document"
    | "content"
    | "metadata"
    | "status"
    | "chunk"
    | typeof notImportable;
  readonly name: string;
  readonly a: unknown;
  readonly b: unknown;
}

/** Texts that a page shows word by word; all further ones are in its table. */
const MAX_COMPARED = 200;

type DifferenceRow = KbDifference & { readonly note: string };

/** The page of a comparison: a table of the differences, and below it the texts, with the words that differ. */
async function differencePage(
  rows: readonly DifferenceRow[],
  sides: { readonly a: string; readonly b: string },
): Promise<Report> {
  const table: Section = {
    title: counted(rows.length, "difference"),
    columns: [left("what"), left("name"), literal(sides.a), literal(sides.b)],
    rows: rows.map(({ what, name, a, b }) => [what, name, textOf(a), textOf(b)]),
  };
  const texts = rows.filter(({ what }) => what === "chunk").slice(0, MAX_COMPARED);
  const diff = await openWordDiff();
  const compared = texts.map(({ name, a, b }): Section => {
    const parts = diff(textOf(a), textOf(b));
    return { ...noTable, title: name, comparison: { titles: [sides.a, sides.b], parts } };
  });
  const tone = rows.length === 0 ? "good" : "bad";
  return {
    title: `Comparison of ${sides.a} and ${sides.b}`,
    data: rows,
    sections: [table],
    page: () => ({
      facts: { a: sides.a, b: sides.b },
      tiles: [{ label: "differences", value: String(rows.length), tone }],
      sections: [table, ...compared],
    }),
  };
}

/** A value as text; a list of child chunks, one per line. */
const textOf = (value: unknown): string =>
  Array.isArray(value) ? value.map(asText).join("\n") : asText(value ?? "");
