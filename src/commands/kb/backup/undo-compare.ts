/** What a command changed, and whether that is still as it left it. */
import { collect } from "../../../lib/collect.ts";
import { sha256 } from "../../../lib/sha256.ts";
import type { Context } from "../../task/command-spec.ts";
import { change, planSettings } from "../changes/index.ts";
import type { Change } from "../changes/index.ts";
import { chunkHash, readChunkFile, readChunks } from "../chunk-lists/index.ts";
import type { StoredChunk } from "../chunk-lists/index.ts";
import { contentHashes, syncFields } from "../documents/index.ts";
import type { DocumentState, KbProperties, KbState } from "../documents/index.ts";
import type { BundledDocument, Manifest } from "../snapshot/index.ts";

/** The parts of a document that an undo restores, as texts that are equal if the parts are. */
export interface DocumentParts {
  readonly content: string;
  readonly metadata: string;
  readonly status: string;
  readonly chunks: string;
}

export type DocumentPart = keyof DocumentParts;

/** A document that a command changed: undefined where it does not exist. */
export interface TouchedDocument {
  readonly before: BundledDocument | undefined;
  readonly after: BundledDocument | undefined;
}

/** The values of a document in a fixed order; the mark of its own stored file has no value of its own. */
const metadataText = ({ metadata, stored }: Pick<DocumentState, "metadata" | "stored">): string =>
  JSON.stringify(
    Object.entries(metadata)
      .map(([name, value]) => [
        name,
        name === syncFields.stored && value === stored ? "own" : value,
      ])
      .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  );

const statusText = ({ enabled, archived }: Pick<DocumentState, "enabled" | "archived">): string =>
  JSON.stringify({ enabled, archived });

/** Chunks as one text: positions and statuses do not count, as the server gives them. */
export const chunksText = (chunks: readonly StoredChunk[]): string =>
  sha256(chunks.map(chunkHash).join());

async function partsOf(
  directory: string,
  document: BundledDocument,
  context: Context,
): Promise<DocumentParts> {
  const { chunks, name, sha256: content } = document;
  return {
    content: JSON.stringify([name, content]),
    metadata: metadataText(document),
    status: statusText(document),
    chunks:
      chunks === undefined
        ? ""
        : chunksText(await collect(readChunkFile(directory, chunks.file, context))),
  };
}

/** The documents that differ between two snapshots, by ID. */
export async function touchedDocuments(
  directory: string,
  before: Manifest,
  after: Manifest,
  context: Context,
): Promise<readonly TouchedDocument[]> {
  const left = new Map(before.state.documents.map((each) => [each.id, each]));
  const right = new Map(after.state.documents.map((each) => [each.id, each]));
  const touched: TouchedDocument[] = [];
  for (const id of new Set([...left.keys(), ...right.keys()])) {
    const pair = { before: left.get(id), after: right.get(id) };
    if (JSON.stringify(pair.before) === JSON.stringify(pair.after)) continue;
    const isSame =
      pair.before &&
      pair.after &&
      JSON.stringify(await partsOf(directory, pair.before, context)) ===
        JSON.stringify(await partsOf(directory, pair.after, context));
    if (!isSame) touched.push(pair);
  }
  return touched;
}

/** A touched document as it is now, and the parts in which it is not as it was before the command. */
export interface CurrentDocument extends TouchedDocument {
  /** Undefined if it does not exist. */
  readonly current: DocumentState | undefined;
  readonly differs: readonly DocumentPart[];
  /** The parts that are neither as the command left them nor as they were before it. */
  readonly changed: readonly DocumentPart[];
}

/**
 * The documents that were made again from deleted ones, by the ID of those: of the same name and content, and
 * each for one only, as documents can share a name.
 */
export async function madeAgain(
  dataset_id: string,
  deleted: readonly BundledDocument[],
  others: readonly DocumentState[],
  context: Context,
): Promise<ReadonlyMap<string, DocumentState>> {
  const names = new Set(deleted.map(({ name }) => name));
  const free = others.filter(({ name }) => names.has(name));
  const hashes = await contentHashes(dataset_id, free, context);
  const found = new Map<string, DocumentState>();
  for (const { id, name, sha256: content } of deleted) {
    const isSame = (each: DocumentState) =>
      content !== null && each.name === name && hashes.get(each.id) === content;
    const same = free.find(isSame);
    if (!same) continue;
    found.set(id, same);
    free.splice(free.indexOf(same), 1);
  }
  return found;
}

const partNames: readonly DocumentPart[] = ["content", "metadata", "status", "chunks"];

/** Reads the documents that a command touched as they are now. */
export async function currentDocuments(
  directory: string,
  touched: readonly TouchedDocument[],
  {
    id: dataset_id,
    state,
    after,
  }: { readonly id: string; readonly state: KbState; readonly after: Manifest },
  context: Context,
): Promise<readonly CurrentDocument[]> {
  const byId = new Map(state.documents.map((each) => [each.id, each]));
  const known = new Set(after.state.documents.map(({ id }) => id));
  // Deleted by the command, and made again by an undo that was interrupted.
  const deleted = touched.flatMap(({ before, after }) => (before && !after ? [before] : []));
  const others = state.documents.filter(({ id }) => !known.has(id));
  const again = await madeAgain(dataset_id, deleted, others, context);
  const pairs = touched.map((each) => {
    const id = (each.before ?? each.after)?.id ?? "";
    return { ...each, current: byId.get(id) ?? again.get(id) };
  });
  const { doc_form } = state.settings;
  /** Chunks are compared only where the snapshot has them. */
  const chunksNow = async (document_id: string, stored: BundledDocument | undefined) =>
    stored?.chunks === undefined
      ? ""
      : chunksText(await collect(readChunks({ dataset_id, document_id, doc_form }, context)));
  const existing = pairs.flatMap(({ current }) => current ?? []);
  const hashes = await contentHashes(dataset_id, existing, context);
  const found: CurrentDocument[] = [];
  for (const pair of pairs) {
    const { before, current } = pair;
    const now = current && {
      content: JSON.stringify([current.name, hashes.get(current.id) ?? null]),
      metadata: metadataText(current),
      status: statusText(current),
      chunks: await chunksNow(current.id, before ?? pair.after),
    };
    const was = before && (await partsOf(directory, before, context));
    const left = pair.after && (await partsOf(directory, pair.after, context));
    const unlike = (parts: DocumentParts | undefined) =>
      partNames.filter((part) => now?.[part] !== parts?.[part]);
    const differs = unlike(was);
    const changed = differs.filter((part) => unlike(left).includes(part));
    found.push({ ...pair, differs, changed });
  }
  return found;
}

/** The changes of settings, tags and fields that lead back, and those that others made meanwhile. */
export function settingsBack(
  before: KbProperties,
  after: Manifest["state"],
  current: KbState,
): { readonly back: readonly Change[]; readonly conflicts: readonly Change[] } {
  const made = planBack(before, after);
  const now = planBack(before, current);
  const keyOf = ({ what, name }: Change) => `${what} ${name}`;
  const left = new Map(made.map((each) => [keyOf(each), JSON.stringify(each.from)]));
  const back = now.filter((each) => left.has(keyOf(each)));
  const documents = new Map(after.documents.map((each) => [each.id, each]));
  // With a field, the values go that others have set since.
  const isFilled = ({ what, action, name }: Change) =>
    what === "field" &&
    action === "delete" &&
    current.documents.some(
      ({ id, metadata }) =>
        (metadata[name] ?? null) !== (documents.get(id)?.metadata[name] ?? null),
    );
  const conflicts = back.filter(
    (each) => left.get(keyOf(each)) !== JSON.stringify(each.from) || isFilled(each),
  );
  return { back, conflicts };
}

function planBack(before: KbProperties, now: KbProperties): readonly Change[] {
  const { name } = before.settings;
  const renamed =
    name === now.settings.name
      ? []
      : [
          change({
            action: "change",
            what: "setting",
            name: "name",
            from: now.settings.name,
            to: name,
          }),
        ];
  return [...renamed, ...planSettings({ ...before, name }, now, true)];
}
