import { isSameValue } from "../../../lib/exact-number.ts";
import { groupBy } from "../../../lib/collect.ts";
import { own } from "../../../lib/json.ts";
import { joinedNotes } from "../../../lib/text.ts";
import {
  isAddress,
  isIndexed,
  isKnownToHold,
  isTouched,
  mayHold,
  pendingHash,
  syncFields,
} from "../documents/index.ts";
import type { ContentHashes, DocumentState } from "../documents/index.ts";
import { documentRow, sendsContent } from "./change.ts";
import type { Action, DocumentChange, SourceDocument } from "./change.ts";

/** The documents of a knowledge base. */
export interface RemoteDocuments {
  readonly documents: readonly DocumentState[];
  /** Hashes of downloaded contents, by document ID; null for a document without content. */
  readonly hashes: ContentHashes;
}

/** What a plan may do with existing documents. */
export interface DocumentRules {
  /** Marks of this source identify documents; without it, their name and content do. */
  readonly source?: string;
  /** Delete documents of this source that have no file any more. */
  readonly prune?: boolean;
  /** Replace documents that no sync created and that have the name of a file. */
  readonly adopt?: boolean;
  /** Update documents whose content is the same, too. */
  readonly rewrite?: boolean;
  /** Without marks: make no second document of a name that a disabled one has. */
  readonly single?: boolean;
  /** May the file of this path exist? Its document is not deleted then. */
  readonly mayExist?: (path: string) => boolean;
}

/** Note of a document that is updated only because the plan rewrites. */
export const indexedAgain = "indexed again";

type Matches = ReadonlyMap<SourceDocument, readonly DocumentState[]>;

/** Note of a document whose path another document has, too. */
export const duplicatePath = "another document has the same path";

/**
 * Plans the changes that make the documents of a knowledge base match their sources; pure. With marks, a
 * document belongs to a file by its path field. A document without one belongs to the file of its name:
 * if the content is the same, an interrupted sync created it; otherwise someone else did, and only
 * `adopt` replaces it. Documents of other sources are not touched. Without marks, a document belongs to
 * the source of its name and content.
 */
export function planDocuments(
  sources: readonly SourceDocument[],
  current: RemoteDocuments,
  rules: DocumentRules,
): readonly DocumentChange[] {
  const hasMarks = rules.source !== undefined;
  const matches = hasMarks
    ? matchMarks(sources, current.documents)
    : matchContents(sources, current);
  const changes: DocumentChange[] = [];
  const moved = rules.prune
    ? movedDocuments(sources, matches, current.documents, rules)
    : undefined;
  for (const source of sources) {
    const [document, ...duplicates] = matches.get(source) ?? [];
    const former = document ? undefined : moved?.get(source);
    if (former) {
      const note = `renamed from ${former.metadata[syncFields.path]}`;
      changes.push(documentChange("update", source.path, { source, document: former }, note));
      continue;
    }
    changes.push(
      hasMarks
        ? syncChange(source, document, current, rules)
        : copyChange(source, document, current, { matches, rules }),
    );
    for (const duplicate of duplicates) {
      const action = rules.prune ? "delete" : "skip";
      changes.push(documentChange(action, source.path, { document: duplicate }, duplicatePath));
    }
  }
  // Not as arguments of a call, of which V8 takes some 120,000.
  return rules.prune
    ? [...changes, ...pruneChanges(sources, current.documents, changes, rules)]
    : changes;
}

/** Documents whose content must be downloaded to compare it with that of their file. */
export function ambiguousContent(
  files: readonly SourceDocument[],
  documents: readonly DocumentState[],
): readonly DocumentState[] {
  return [...matchMarks(files, documents)].flatMap(([each, [document]]) => {
    const file = asStored(each, document);
    return document && !isKnownToHold(document, file) && mayHold(document, file) ? [document] : [];
  });
}

/** A text as its document has it: it is not sent again for the mark that an earlier version sent. */
function asStored(file: SourceDocument, document?: DocumentState, hashes?: ContentHashes) {
  const { markedHash: hash } = file;
  if (hash === undefined || !document) return file;
  const stored = hashes?.get(document.id) ?? document.metadata[syncFields.hash];
  return stored === hash || stored === pendingHash(hash) ? { ...file, hash } : file;
}

const documentChange = (
  action: Action,
  name: string,
  { source, document }: Partial<Pick<DocumentChange, "source" | "document">>,
  note?: string,
): DocumentChange => {
  const recoded = sendsContent({ action }) && source?.encoding;
  const notes = joinedNotes(note, recoded && `${recoded}, sent as UTF-8`);
  return { ...documentRow(action, { name, id: document?.id ?? null }, notes), source, document };
};

/** The change for a file and the document with its marks or its name. */
function syncChange(
  local: SourceDocument,
  document: DocumentState | undefined,
  { hashes }: RemoteDocuments,
  { adopt, rewrite, source }: DocumentRules,
): DocumentChange {
  const file = asStored(local, document, hashes);
  const plan = (action: Action, note?: string) =>
    documentChange(action, file.path, { source: file, document }, note);
  if (!document) return plan("create");
  const isKnown = isKnownToHold(document, file);
  const hasContent = isKnown || hashes.get(document.id) === file.hash;
  const owner = otherOwner(document, source);
  if (owner !== undefined && !adopt) return plan("conflict", `synced from ${owner}`);
  if (!hasContent && !adopt && document.metadata[syncFields.path] === undefined)
    return plan(
      "conflict",
      document.from_api
        ? "probably left by an interrupted sync"
        : "no sync created the document of this name",
    );
  if (!document.enabled || document.archived) {
    const state = document.archived ? "archived" : "disabled";
    if (hasContent) return plan("unchanged", state);
    return plan("skip", `the document is ${state} and its content differs`);
  }
  if (document.indexing_status === "error") return plan("update", failedBefore);
  const touched = isTouched(document, file)
    ? "changed on the server since the last sync"
    : undefined;
  if (!hasContent) return plan("update", touched);
  if (rewrite) return plan("update", indexedAgain);
  if (!isKnown || owner !== undefined)
    return plan("adopt", "same content: taken over without an upload");
  const { fingerprint = document.metadata[syncFields.fingerprint] } = file;
  const isMarked = document.metadata[syncFields.fingerprint] === fingerprint;
  return plan(isMarked && hasValues(document, file) ? "unchanged" : "metadata");
}

/** The other source that synced a document; directories with a path in common are one. */
function otherOwner({ metadata }: DocumentState, source: string | undefined): string | undefined {
  const owner = metadata[syncFields.source];
  if (owner === undefined || owner === source) return undefined;
  if (!isAddress(owner) && !isAddress(source)) return undefined;
  return owner === "." ? "a directory" : String(owner);
}

/** Documents of this source whose file has another path now, with the same content. */
function movedDocuments(
  files: readonly SourceDocument[],
  matches: Matches,
  documents: readonly DocumentState[],
  { source, mayExist }: DocumentRules,
): ReadonlyMap<SourceDocument, DocumentState> {
  const paths = new Set(files.map(({ path }) => path));
  const left = documents.filter((each) => {
    const path = String(each.metadata[syncFields.path] ?? "");
    const isOwn = each.metadata[syncFields.source] === source && path !== "";
    const isEditable = each.enabled && !each.archived && each.indexing_status === "completed";
    return isOwn && isEditable && !paths.has(path) && !mayExist?.(path);
  });
  const moved = new Map<SourceDocument, DocumentState>();
  if (left.length === 0) return moved;
  const byHash = groupBy(left, ({ metadata }) => metadata[syncFields.hash]);
  for (const file of files) {
    if (file.hash === null || matches.get(file)?.length) continue;
    const end = /(?:\.[^./]*)?$/.exec(file.path)?.[0] ?? "";
    const same = byHash.get(file.hash) ?? byHash.get(file.markedHash ?? "") ?? [];
    const isSame = (each: DocumentState) => isKnownToHold(each, asStored(file, each));
    const at = same.findIndex((each) => isSame(each) && each.name.endsWith(end));
    const [document] = at < 0 ? [] : same.splice(at, 1);
    if (document) moved.set(file, document);
  }
  return moved;
}

const failedBefore = "indexing failed before";
const disabledBefore = "the document is disabled and its content differs";

/** The change for a document of an export and the one of its name and content. */
function copyChange(
  source: SourceDocument,
  document: DocumentState | undefined,
  { documents }: RemoteDocuments,
  { matches, rules }: { readonly matches: Matches; readonly rules: DocumentRules },
): DocumentChange {
  const plan = (action: Action, note?: string) =>
    documentChange(action, source.path, { source, document }, note);
  if (source.hash === null) return plan("failed", "the export has no content for it");
  if (!document) {
    // A create takes over the document of its name (server §9.1), unless it is sent to stand beside it.
    const { exported, name } = source;
    const isNeeded = (each: DocumentState) =>
      [...matches.values()].some(([match]) => match === each);
    const other = documents.find((each) => each.enabled && each.name === name);
    const isFree = (each: DocumentState) => each.name === name && !isNeeded(each);
    const disabled = rules.single && !other && documents.find(isFree);
    if (disabled)
      return documentChange("skip", source.path, { source, document: disabled }, disabledBefore);
    if (!other || !exported || exported.isLater) return plan("create");
    const beside = { ...source, kind: "file", exported: { ...exported, isLater: true } } as const;
    if (isNeeded(other)) return documentChange("create", source.path, { source: beside });
    const replaced = { source, document: { ...other, indexing_status: "error" } };
    return documentChange("update", source.path, replaced, "replaces another content");
  }
  if (document.indexing_status === "error") {
    // Beside another one of its name, a new document would not replace it, but that one or none.
    const isOnly = documents.filter(({ name }) => name === document.name).length === 1;
    return document.enabled && isOnly
      ? plan("update", failedBefore)
      : plan("failed", "exists with an indexing error: delete it, then import again");
  }
  if (!isIndexed(document)) return plan("adopt");
  return plan(
    hasValues(document, source) && hasStatus(document, source) ? "unchanged" : "metadata",
  );
}

const hasValues = (document: DocumentState, { metadata }: SourceDocument): boolean =>
  Object.entries(metadata).every(([name, value]) =>
    isSameValue(own(document.metadata, name) ?? "", value),
  );

/** Is the document disabled and archived if its source is? */
const hasStatus = ({ enabled, archived }: DocumentState, { exported }: SourceDocument): boolean =>
  (!enabled || exported?.enabled !== false) && (archived || exported?.archived !== true);

/** Deletes documents of this source without a file; the server keeps archived ones (server §9.7). */
function pruneChanges(
  files: readonly SourceDocument[],
  documents: readonly DocumentState[],
  changes: readonly DocumentChange[],
  { source, mayExist }: DocumentRules,
): DocumentChange[] {
  const paths = new Set(files.map(({ path }) => path));
  const updated = new Set(changes.map(({ document }) => document));
  // A new document can take over an existing one of its name (server §9.1), which must stay then.
  const createdNames = new Set(
    changes.flatMap((each) => (each.action === "create" && each.source ? [each.source.name] : [])),
  );
  return documents.flatMap((document): DocumentChange[] => {
    const path = String(document.metadata[syncFields.path] ?? "");
    if (document.metadata[syncFields.source] !== source || path === "") return [];
    if (paths.has(path) || createdNames.has(document.name)) return [];
    if (updated.has(document)) return []; // renamed
    if (document.archived) {
      const note = "an archived document cannot be deleted; unarchive it first";
      return [documentChange("skip", path, { document }, note)];
    }
    return mayExist?.(path) ? [] : [documentChange("delete", path, { document })];
  });
}

/** Finds the documents of each file: by path, enabled ones first, or else the one of its name. */
function matchMarks(files: readonly SourceDocument[], documents: readonly DocumentState[]) {
  const byPath = groupBy(documents, ({ metadata }) => metadata[syncFields.path]);
  const withoutPath = documents.filter(
    ({ metadata }) => typeof metadata[syncFields.path] !== "string",
  );
  const byName = new Map(withoutPath.map((document) => [document.name, document]));
  return new Map(
    files.map((file) => {
      const withPath = byPath.get(file.path)?.sort((a, b) => Number(b.enabled) - Number(a.enabled));
      const withName = byName.get(file.name);
      return [file, withPath ?? (withName ? [withName] : [])];
    }),
  );
}

/** Finds one document for each source: of its name, or of the name that an upload gives it. */
function matchContents(sources: readonly SourceDocument[], { documents, hashes }: RemoteDocuments) {
  const unused = groupBy(documents, ({ id }) => hashes.get(id));
  const matches = new Map<SourceDocument, readonly DocumentState[]>();
  for (const source of sources) {
    const same = (source.hash !== null && unused.get(source.hash)) || [];
    const match =
      same.find(({ name }) => name === source.path) ??
      same.find(({ name }) => name === source.name);
    if (!match) continue;
    same.splice(same.indexOf(match), 1);
    matches.set(source, [match]);
  }
  return matches;
}
