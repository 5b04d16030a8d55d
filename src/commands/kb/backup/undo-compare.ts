/** What a command changed, and whether that is still as it left it. */
import { collect } from "../../../lib/collect.ts";
import { sha256 } from "../../../lib/sha256.ts";
import type { Context } from "../../task/command-spec.ts";
import { change, planSettings, type Change } from "../changes/index.ts";
import { chunkHash, readChunks, readChunksOf } from "../chunk-lists/index.ts";
import type { ChunkPlace, ExistingChunk, StoredChunk } from "../chunk-lists/index.ts";
import { arrivedHashes, contentHashes, lossesOf, syncFields } from "../documents/index.ts";
import type { DocumentState, KbProperties, KbState } from "../documents/index.ts";
import { requireUndamaged, type BundledDocument, type Manifest } from "../snapshot/index.ts";
import { stringifyJson } from "../../../lib/json.ts";

const partNames = ["content", "metadata", "status", "chunks"] as const;
type DocumentPart = (typeof partNames)[number];

/** The parts of a document that an undo restores, as texts that are equal if the parts are. */
type DocumentParts = Readonly<Record<DocumentPart, string>>;

/** A document that a command changed: undefined where it does not exist. */
interface TouchedDocument {
  readonly before: BundledDocument | undefined;
  readonly after: BundledDocument | undefined;
  /** What it was before, and as the command left it. */
  readonly parts: readonly [DocumentParts | undefined, DocumentParts | undefined];
}

/** The values of a document in a fixed order; the mark of its own stored file has no value of its own. */
function metadataText({ metadata, stored }: Pick<DocumentState, "metadata" | "stored">): string {
  const mark = metadata[syncFields.stored] === stored && { [syncFields.stored]: "own" };
  const entries = Object.entries({ ...metadata, ...mark });
  return stringifyJson(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Positions and statuses of chunks do not count, as the server gives them. */
const partsOf = (
  document: Pick<DocumentState, "name" | "metadata" | "stored" | "enabled" | "archived">,
  content: string | null,
  chunks: readonly StoredChunk[] | undefined,
): DocumentParts => ({
  content: stringifyJson([document.name, content]),
  metadata: metadataText(document),
  status: JSON.stringify([document.enabled, document.archived]),
  chunks: chunks ? sha256(chunks.map(chunkHash).join()) : "",
});

/** The documents that differ between two snapshots, by ID. Throws usage if something stored of them is damaged. */
export async function touchedDocuments(
  directory: string,
  before: Manifest,
  after: Manifest,
  context: Context,
): Promise<readonly TouchedDocument[]> {
  const [left, right] = [before, after].map(
    ({ state }) => new Map(state.documents.map((each) => [each.id, each])),
  );
  const stored = async (each: BundledDocument | undefined) =>
    each && partsOf(each, each.sha256, await readChunksOf(directory, each, context));
  const touched: TouchedDocument[] = [];
  const ids = [...new Set([...(left?.keys() ?? []), ...(right?.keys() ?? [])])];
  const pairs = ids
    .map((id) => ({ before: left?.get(id), after: right?.get(id) }))
    .filter((pair) => stringifyJson(pair.before) !== stringifyJson(pair.after));
  const documents = pairs.flatMap((pair) => [pair.before ?? [], pair.after ?? []].flat());
  await requireUndamaged(directory, { state: { documents } }, context);
  for (const pair of pairs) {
    const parts = [await stored(pair.before), await stored(pair.after)] as const;
    if (stringifyJson(parts[0]) !== stringifyJson(parts[1])) touched.push({ ...pair, parts });
  }
  return touched;
}

/** A touched document as it is now, and the parts in which it is not as it was before the command. */
export interface CurrentDocument extends TouchedDocument {
  /** Undefined if it does not exist. */
  readonly current: DocumentState | undefined;
  readonly differs: readonly DocumentPart[];
  /** What others changed since: parts that are neither as the command left them nor as before it, or chunks. */
  readonly changed: readonly string[];
}

/**
 * Deleted documents that were made again, by ID: of the same name and content, each for one, as names can be shared.
 * Throws network if a content does not arrive: the document may be one of them.
 */
export async function madeAgain(
  dataset_id: string,
  deleted: readonly BundledDocument[],
  others: readonly DocumentState[],
  context: Context,
): Promise<ReadonlyMap<string, DocumentState>> {
  const names = new Set(deleted.map(({ name }) => name));
  const free = others.filter(({ name }) => names.has(name));
  const hashes = await arrivedHashes(dataset_id, free, context);
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

/** Reads the documents that a command touched as they are now. */
export async function currentDocuments(
  dataset_id: string,
  touched: readonly TouchedDocument[],
  given: {
    readonly directory: string;
    readonly state: KbState;
    readonly after: Manifest;
    /** Is an undo continued, which has left parts in between? */
    readonly undoing?: true;
  },
  context: Context,
): Promise<readonly CurrentDocument[]> {
  const { directory, state, after, undoing = false } = given;
  const byId = new Map(state.documents.map((each) => [each.id, each]));
  const known = new Set(after.state.documents.map(({ id }) => id));
  // Deleted by the command, and made again by an undo that was interrupted.
  const deleted = touched.flatMap((each) => (each.before && !each.after ? [each.before] : []));
  const others = state.documents.filter(({ id }) => !known.has(id));
  const again = await madeAgain(dataset_id, deleted, others, context);
  const pairs = touched.map((each) => {
    const id = (each.before ?? each.after)?.id ?? "";
    return { ...each, current: byId.get(id) ?? again.get(id) };
  });
  const existing = pairs.flatMap(({ current }) => current ?? []);
  const hashes = await contentHashes(dataset_id, existing, context);
  const { doc_form } = state.settings;
  const found: CurrentDocument[] = [];
  for (const pair of pairs) {
    const { current } = pair;
    const [was, left] = pair.parts;
    const place = { dataset_id, document_id: current?.id ?? "", doc_form };
    const chunks = current ? await collect(readChunks(place, context)) : [];
    const now = current && partsOf(current, hashes.get(current.id) ?? null, chunks);
    const differs = partNames.filter((part) => now?.[part] !== was?.[part]);
    // The snapshot lacks the chunks of a document that was being indexed.
    const isUnread = pair.after !== undefined && !pair.after.chunks;
    const isComparable = (part: DocumentPart) => !undoing && !(isUnread && part === "chunks");
    const changed = differs.filter((part) => isComparable(part) && now?.[part] !== left?.[part]);
    const isDoubtful = current && (undoing || isUnread);
    const made = isDoubtful ? await madeByHand(pair, { chunks, place }, directory, context) : [];
    found.push({ ...pair, differs, changed: [...changed, ...made] });
  }
  return found;
}

const textsOf = ({ content, answer, children }: StoredChunk): string[] => [
  content,
  answer ?? "",
  ...children.map((child) => child.content),
];

/**
 * Chunks that others added or edited, with a text that no snapshot has: so an undo that was interrupted, whose
 * other changes look like those of others, did not make them.
 */
async function madeByHand(
  { before, after }: Pick<TouchedDocument, "before" | "after">,
  { chunks, place }: { readonly chunks: readonly ExistingChunk[]; readonly place: ChunkPlace },
  directory: string,
  context: Context,
): Promise<readonly string[]> {
  const stored = [before ?? {}, after ?? {}].map((each) => readChunksOf(directory, each, context));
  const known = new Set((await Promise.all(stored)).flatMap((list = []) => list.flatMap(textsOf)));
  const unknown = chunks.filter((chunk) => {
    const children = chunk.children.filter(({ type }) => type === "customized");
    return textsOf({ ...chunk, children }).some((text) => !known.has(text));
  });
  if (unknown.length === 0) return [];
  const of = { id: place.document_id, doc_form: null };
  const { lost } = await lossesOf(place.dataset_id, of, context);
  return unknown.flatMap(({ position, isEdited }) => {
    const named = lost.find((each) => each.startsWith(`chunk ${position} (`));
    // Lists show no child chunks of whole documents (server §9.8).
    return named ?? (isEdited ? `chunk ${position} (edited)` : []);
  });
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
  const left = new Map(made.map((each) => [keyOf(each), stringifyJson(each.from)]));
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
    (each) => left.get(keyOf(each)) !== stringifyJson(each.from) || isFilled(each),
  );
  return { back, conflicts };
}

function planBack(before: KbProperties, now: KbProperties): readonly Change[] {
  const { name } = before.settings;
  const from = now.settings.name;
  const renamed = change({ action: "change", what: "setting", name: "name", from, to: name });
  return [name === from ? [] : renamed, planSettings({ ...before, name }, now, true)].flat();
}
