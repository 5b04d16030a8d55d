import { own } from "../../../lib/json.ts";
import type { DocumentState } from "../documents/index.ts";
import type { LocalFile } from "./local-files.ts";

/**
 * Metadata fields with which a sync marks a document: its file, its content (a hash, and the ID of the
 * stored file that had it, which changes with every other write, server §9.5) and its source.
 */
export const syncFields = {
  path: "kb_path",
  hash: "kb_hash",
  source: "kb_source",
  stored: "kb_file",
} as const;

/** Built-in fields of every server (server §7). */
const builtInFields = ["document_name", "uploader", "upload_date", "last_update_date", "source"];
/** Limit for the name of a field (server §11). */
const MAX_FIELD_LENGTH = 255;

/** Can users set a field of this name? */
export const isCustomField = (name: string): boolean =>
  name !== "" &&
  [...name].length <= MAX_FIELD_LENGTH &&
  !builtInFields.includes(name) &&
  !Object.values<string>(syncFields).includes(name);

/** Marks a hash whose content is not indexed yet. */
export const pendingHash = (hash: string): string => `pending:${hash}`;

/** One action on a file or document. */
export interface SyncStep {
  readonly action:
    | "create"
    | "update"
    /** The content is right; only the sync fields are missing. */
    | "adopt"
    /** Only metadata values differ. */
    | "metadata"
    | "unchanged"
    | "delete"
    /** A disabled, archived or duplicate document, which is not changed. */
    | "skip"
    /** A document that no sync created has the same name. */
    | "conflict";
  readonly path: string;
  readonly file: LocalFile | undefined;
  readonly document: DocumentState | undefined;
  readonly note: string | null;
}

/** The documents of a knowledge base. */
export interface RemoteDocuments {
  readonly documents: readonly DocumentState[];
  /** Hashes of downloaded contents, by document ID, for documents with ambiguous sync fields. */
  readonly hashes: ReadonlyMap<string, string | null>;
}

/** What a sync may do. */
export interface SyncRules {
  readonly source: string;
  /** Delete documents of this source whose file is gone. */
  readonly prune: boolean;
  /** Replace documents that no sync created and that have the name of a file. */
  readonly adopt: boolean;
  /** May the file of this path exist? Its document is not deleted then. */
  readonly mayExist: (path: string) => boolean;
}

/** Documents whose content must be downloaded to compare it with that of their file. */
export function ambiguousContent(
  files: readonly LocalFile[],
  documents: readonly DocumentState[],
): readonly DocumentState[] {
  const matches = matchDocuments(files, documents);
  return files.flatMap((file) => {
    const document = matches.get(file.path)?.[0];
    return document && !isKnownToHold(document, file) && mayHold(document, file) ? [document] : [];
  });
}

/** Do the sync fields prove that a document has the content of a file? */
const isKnownToHold = (document: DocumentState, { hash }: Pick<LocalFile, "hash">) =>
  document.metadata[syncFields.hash] === hash && isUntouched(document);

/** Do the sync fields prove which content a document has? */
export const isSynced = (document: DocumentState): boolean =>
  /^[0-9a-f]{64}$/.test(String(document.metadata[syncFields.hash] ?? "")) && isUntouched(document);

/** Is the stored file that of the last sync? Without its ID, only the hash counts. */
const isUntouched = ({ stored, metadata }: DocumentState): boolean =>
  stored === null || metadata[syncFields.stored] === stored;

/** Can a document already have the content of a file? */
function mayHold({ metadata }: DocumentState, { hash }: LocalFile): boolean {
  const current = metadata[syncFields.hash];
  return current === undefined || current === hash || current === pendingHash(hash);
}

/**
 * Plans the steps that make the documents match the files; pure. A document belongs to a file by its
 * path field. A document without one belongs to the file of its name: if the content is the same, an
 * interrupted sync created it; otherwise someone else did, and only `adopt` replaces it. Documents of
 * other sources are not touched.
 */
export function planSync(
  files: readonly LocalFile[],
  { documents, hashes }: RemoteDocuments,
  rules: SyncRules,
): readonly SyncStep[] {
  const matches = matchDocuments(files, documents);
  const steps: SyncStep[] = [];
  for (const file of files) {
    const [document, ...duplicates] = matches.get(file.path) ?? [];
    steps.push(stepFor(file, document, hashes, rules.adopt));
    for (const duplicate of duplicates) {
      const action = rules.prune ? "delete" : "skip";
      const { path } = file;
      steps.push({ action, path, file: undefined, document: duplicate, note: duplicatePath });
    }
  }
  if (rules.prune) steps.push(...pruneSteps(files, documents, steps, rules));
  return steps;
}

/** Note of a document whose path another document has, too. */
export const duplicatePath = "another document has the same path";

/** Deletes documents of this source without a file; the server keeps archived ones (server §9.7). */
function pruneSteps(
  files: readonly LocalFile[],
  documents: readonly DocumentState[],
  steps: readonly SyncStep[],
  { source, mayExist }: SyncRules,
): SyncStep[] {
  const paths = new Set(files.map(({ path }) => path));
  // A new document can take over an existing one of its name (server §9.1), which must stay then.
  const createdNames = new Set(
    steps.flatMap(({ action, file }) => (action === "create" && file ? [file.name] : [])),
  );
  return documents.flatMap((document): SyncStep[] => {
    const path = String(document.metadata[syncFields.path] ?? "");
    if (document.metadata[syncFields.source] !== source || path === "") return [];
    if (paths.has(path) || createdNames.has(document.name)) return [];
    const step = { path, file: undefined, document };
    if (document.archived) return [{ ...step, action: "skip", note: archivedStays }];
    return mayExist(path) ? [] : [{ ...step, action: "delete", note: null }];
  });
}

const archivedStays = "an archived document cannot be deleted; unarchive it first";

function stepFor(
  file: LocalFile,
  document: DocumentState | undefined,
  hashes: RemoteDocuments["hashes"],
  adopt: boolean,
): SyncStep {
  const step = (action: SyncStep["action"], note: string | null = null): SyncStep => ({
    action,
    path: file.path,
    file,
    document,
    note,
  });
  if (!document) return step("create");
  const hasContent = isKnownToHold(document, file) || hashes.get(document.id) === file.hash;
  if (!hasContent && !adopt && document.metadata[syncFields.path] === undefined) {
    return step("conflict", "no sync created the document of this name; --adopt replaces it");
  }
  if (!document.enabled || document.archived) {
    const state = document.archived ? "archived" : "disabled";
    if (hasContent) return step("unchanged", state);
    return step("skip", `the document is ${state} and its content differs`);
  }
  if (document.indexing_status === "error") return step("update", "indexing failed before");
  if (!hasContent) return step("update", isTouched(document, file) ? touched : null);
  if (!isKnownToHold(document, file)) return step("adopt");
  const isOther = Object.entries(file.metadata).some(
    ([name, value]) => (own(document.metadata, name) ?? "") !== value,
  );
  return step(isOther ? "metadata" : "unchanged");
}

const touched = "changed on the server since the last sync";

/** Did something other than a sync write the content of a document? */
const isTouched = (document: DocumentState, { hash }: LocalFile): boolean =>
  document.metadata[syncFields.hash] === hash ||
  (document.metadata[syncFields.stored] !== undefined && !isUntouched(document));

/** Finds the documents of each file: by path, enabled ones first, or else the one of its name. */
function matchDocuments(
  files: readonly LocalFile[],
  documents: readonly DocumentState[],
): ReadonlyMap<string, readonly DocumentState[]> {
  const byPath = new Map<string, DocumentState[]>();
  const byName = new Map<string, DocumentState>();
  for (const document of documents) {
    const path = document.metadata[syncFields.path];
    if (typeof path === "string") byPath.set(path, [...(byPath.get(path) ?? []), document]);
    else byName.set(document.name, document);
  }
  const matches = new Map<string, readonly DocumentState[]>();
  for (const { path, name } of files) {
    const withPath = byPath.get(path)?.sort((a, b) => Number(b.enabled) - Number(a.enabled));
    const withName = byName.get(name);
    if (withPath) matches.set(path, withPath);
    else if (withName) matches.set(path, [withName]);
  }
  return matches;
}
