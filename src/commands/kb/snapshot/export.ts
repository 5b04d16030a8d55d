import { join } from "node:path";
import { CliError } from "../../../errors.ts";
import { isObject, own } from "../../../lib/json.ts";
import { listChunks } from "../../../operations/chunks.ts";
import type { Chunk } from "../../../operations/chunks.ts";
import { fieldValue } from "../documents/field-values.ts";
import { contentIn, isBundle, readManifest, sha256, writeManifest } from "./bundle.ts";
import type { BundledDocument, Manifest } from "./bundle.ts";
import { notCarried } from "./diff.ts";
import { readContents } from "./contents.ts";
import { rulesOf, stateOf } from "./state.ts";
import type { DocumentState, KbState } from "./state.ts";
import {
  isBelow,
  newPathInside,
  pathInside,
  safePath,
  uniquePath,
} from "../../../host/safe-path.ts";
import type { Context } from "../../command-spec.ts";

/** Input of `kb export`. */
export interface ExportInput {
  readonly dataset_id: string;
  readonly directory: string;
  readonly chunks?: boolean | undefined;
}

/** One file of the folder that changed. */
interface Change {
  readonly action: "written" | "removed" | "no content";
  readonly document: string;
  readonly file: string | null;
  readonly bytes: number;
}

/** What is known of a file that was written, and nothing that the server may say anew. */
type Written = Pick<BundledDocument, "id" | "stored" | "file" | "bytes" | "sha256">;

/**
 * Writes a knowledge base into a folder: documents byte for byte, and a manifest of all the rest.
 * What did not change since the last export is not fetched again. What changed is written beside
 * its earlier file, which goes once the manifest names the new one: a folder always holds the last
 * export that was finished, and what was fetched before a kill counts.
 */
export async function* run(input: ExportInput, context: Context): AsyncGenerator<Change> {
  const { dataset_id, directory } = input;
  const { files } = context.host;
  const before = await readManifest(directory, files);
  await requireOurs(directory, before, dataset_id, context);
  const state = await stateOf(dataset_id, context);
  const rules = await rulesOf(dataset_id, state, context);
  const journal = join(directory, "manifest.part.jsonl");
  const cut = await writtenIn(journal, context);
  const earlier = [...(before?.state.documents ?? []), ...cut];
  const known = new Map(earlier.map((each) => [each.id, writtenOf(each)]));

  const places = placesFor(state.documents, known, earlier);
  const done = new Map<string, Written>();
  const wanted: DocumentState[] = [];
  for (const document of state.documents) {
    const old = known.get(document.id);
    const kept = old?.file && old.file === places.get(document.id);
    const bytes = kept ? await contentIn(directory, old.file, files) : undefined;
    if (old && bytes && sha256(bytes) === old.sha256) done.set(document.id, old);
    else wanted.push(document);
  }

  await files.makeDirectory(directory);
  await files.append(journal, ""); // whatever comes next, the folder is known as an export
  const unlogged: Written[] = [];
  const log = async () => {
    if (unlogged.length === 0) return;
    const lines = unlogged.splice(0).map((each) => `${JSON.stringify(each)}\n`);
    await files.append(journal, lines.join(""));
  };
  const without: DocumentState[] = [];
  try {
    for await (const { document, bytes } of readContents(dataset_id, wanted, context)) {
      const { id, name, stored } = document;
      if (bytes === undefined) {
        without.push(document);
        done.set(id, { id, stored, file: null, bytes: 0, sha256: null });
        yield { action: "no content", document: name, file: null, bytes: 0 };
        continue;
      }
      const file = places.get(id) ?? id;
      await files.writeAtomic(await newPathInside(directory, file, files), bytes);
      const written = { id, stored, file, bytes: bytes.length, sha256: sha256(bytes) };
      done.set(id, written);
      unlogged.push(written);
      if (unlogged.length >= 100) await log();
      yield { action: "written", document: name, file, bytes: bytes.length };
    }
  } finally {
    await log();
  }

  const bundled: BundledDocument[] = [];
  const edited: DocumentState[] = [];
  for (const document of state.documents) {
    const written = done.get(document.id);
    if (!written) continue;
    const chunkFile = input.chunks
      ? await writeChunks(dataset_id, document, written.file ?? document.id, directory, context)
      : undefined;
    if (chunkFile?.edited) edited.push(document);
    bundled.push({ ...document, ...written, ...(chunkFile && { chunks: chunkFile.file }) });
  }
  const manifest: Manifest = {
    kb_export: 1,
    source: { base_url: await context.baseUrl(), id: dataset_id, name: state.settings.name },
    exported_at: context.host.now().toISOString(),
    state: { ...state, documents: bundled },
    rules,
  };
  await writeManifest(directory, manifest, files);
  yield* removeStale(directory, before, cut, bundled, context);
  await files.remove(journal);
  const fetched = wanted.length - without.length;
  await context.notice(
    `${state.documents.length} documents of ${state.settings.name} in ${directory}: ${fetched} fetched, ${state.documents.length - wanted.length} unchanged`,
  );
  await context.notice(`not in an export: ${notCarried(state.settings)}`);
  for (const { name } of edited)
    await context.notice(`${name} has chunks that were edited; an import makes them from its text`);
  const unfit = state.documents.filter((document) => isUnfit(document, state));
  for (const { name } of unfit)
    await context.notice(`${name} has a value that does not fit its field; an import refuses it`);
  if (without.length > 0) throw incomplete(without, state);
}

/** Never writes into a folder that holds anything else. */
async function requireOurs(
  directory: string,
  before: Manifest | undefined,
  dataset_id: string,
  { host: { files } }: Context,
): Promise<void> {
  const refuse = (message: string) =>
    new CliError("usage", message, { sideEffect: "none", hint: "choose another folder" });
  if (before && before.source.id !== dataset_id)
    throw refuse(`${directory} holds an export of another knowledge base, ${before.source.name}`);
  const found = await files.stat(directory);
  if (found === null || before) return;
  if (!found.isDirectory) throw refuse(`${directory} is a file`);
  const names = await files.list(directory);
  const ours = names.includes("manifest.part.jsonl") || names.length === 0;
  if (!ours && !(await isBundle(directory, files)))
    throw refuse(`${directory} is not empty, and holds no export`);
}

/** What an export that was ended early had written. */
async function writtenIn(journal: string, { host: { files } }: Context): Promise<Written[]> {
  if ((await files.stat(journal)) === null) return [];
  const text = new TextDecoder().decode(await files.read(journal));
  return text.split("\n").flatMap((line) => {
    try {
      const value: unknown = JSON.parse(line);
      const ours = isObject(value) && typeof value["file"] === "string" && isBelow(value["file"]);
      return ours ? [value as unknown as Written] : [];
    } catch {
      return []; // the end of the file, or a line that a kill cut
    }
  });
}

const writtenOf = ({ id, stored, file, bytes, sha256: sum }: Written): Written => ({
  id,
  stored,
  file,
  bytes,
  sha256: sum,
});

/**
 * A path for each document, no two differing only in case: the one it had while its content is the
 * same, and else one that no earlier file has, whichever document that was of.
 */
function placesFor(
  documents: readonly DocumentState[],
  known: ReadonlyMap<string, Written>,
  earlier: readonly Written[],
): ReadonlyMap<string, string> {
  const taken = new Set<string>();
  const places = new Map<string, string>();
  for (const { id, name, stored } of documents) {
    const old = known.get(id);
    if (!old?.file || old.stored !== stored) continue;
    // A renamed document moves; one that only stood aside for another of its name stays.
    const stays = stem(old.file) === stem(`documents/${safePath(name)}`);
    if (stays && uniquePath(old.file, taken) === old.file) places.set(id, old.file);
  }
  const kept = new Set(places.values());
  for (const file of new Set(earlier.map((each) => each.file)))
    if (file !== null && !kept.has(file)) uniquePath(file, taken);
  for (const { id, name } of documents) {
    if (!places.has(id)) places.set(id, uniquePath(`documents/${safePath(name)}`, taken));
  }
  return places;
}

/** A path without the numbers with which its steps stand aside. */
const stem = (path: string): string => path.replaceAll(/ \(\d+\)(?=(\.[^./]*)?(\/|$))/g, "");

async function writeChunks(
  dataset_id: string,
  document: DocumentState,
  place: string,
  directory: string,
  context: Context,
): Promise<{ readonly file: string; readonly edited: boolean }> {
  const { files } = context.host;
  const lines: string[] = [];
  let edited = false;
  const rows = context.each(listChunks, { dataset_id, document_id: document.id });
  for await (const row of rows) {
    const { position, content, answer, keywords, enabled } = row;
    edited ||= isEdited(row);
    const children = (row.child_chunks ?? []).map((child) => child.content);
    lines.push(`${JSON.stringify({ position, content, answer, keywords, enabled, children })}\n`);
  }
  const file = `${place.replace(/^documents\//, "chunks/")}.jsonl`;
  await files.writeAtomic(await newPathInside(directory, file, files), lines.join(""));
  return { file, edited };
}

/** Did somebody change a chunk or one of its children? One that was added does not tell. */
const isEdited = ({ updated_by, child_chunks }: Chunk): boolean =>
  typeof updated_by === "string" || (child_chunks ?? []).some(({ type }) => type === "customized");

/** Has a document a value that its field cannot hold? */
const isUnfit = ({ metadata }: DocumentState, { fields }: KbState): boolean =>
  fields.some(({ name, type }) => {
    const value = own(metadata, name);
    return value !== undefined && fieldValue(type, value) === undefined;
  });

/**
 * Takes away the files of an earlier export that the manifest no longer names, and those that an
 * export wrote which was ended early.
 */
async function* removeStale(
  directory: string,
  before: Manifest | undefined,
  cut: readonly Written[],
  now: readonly BundledDocument[],
  { host: { files } }: Context,
): AsyncGenerator<Change> {
  const kept = new Set(now.flatMap(({ file, chunks: other }) => [file, other]));
  for (const { name, file, bytes, chunks: other } of before?.state.documents ?? []) {
    if (other !== undefined && !kept.has(other))
      await files.remove(await pathInside(directory, other, files));
    if (file === null || kept.has(file)) continue;
    await files.remove(await pathInside(directory, file, files));
    yield { action: "removed", document: name, file, bytes };
  }
  for (const { file } of cut) {
    if (file !== null && !kept.has(file))
      await files.remove(await pathInside(directory, file, files));
  }
}

const incomplete = (without: readonly DocumentState[], state: KbState) =>
  new CliError(
    "partial",
    `${without.length} of ${state.documents.length} documents have no file on the server: ${without[0]?.name}`,
    {
      isResult: true,
      details: { without: without.map(({ id, name }) => ({ id, name })) },
      hint: "documents of other sources, such as web pages, cannot be downloaded; --chunks keeps their text",
    },
  );
