import { own as ownValue } from "../../../lib/json.ts";
import type { DocumentState } from "../snapshot/state.ts";
import type { LocalFile } from "./local-files.ts";

/**
 * Metadata fields that tell which file a document is, and which content it holds: its hash, and the
 * id of the stored file that had it. Every other write makes another file of it (server §9.5).
 */
export const fields = {
  path: "kb_path",
  hash: "kb_hash",
  source: "kb_source",
  stored: "kb_file",
} as const;

/** Fields that every server has of its own (server §7). */
const builtIn = ["document_name", "uploader", "upload_date", "last_update_date", "source"];
/** Characters that the name of a field may have (server §11). */
const longestField = 255;

/** May a field of one's own have this name? */
export const isOwnField = (name: string): boolean =>
  name !== "" &&
  [...name].length <= longestField &&
  !builtIn.includes(name) &&
  !Object.values<string>(fields).includes(name);

/** Before a hash that is only what the content is to become. */
const pending = "pending:";
export const pendingHash = (hash: string): string => `${pending}${hash}`;

/** What is to happen with one file or document. */
export interface SyncStep {
  readonly action:
    | "create"
    | "update"
    /** The content is right; only what says so is missing. */
    | "adopt"
    /** Only metadata values differ. */
    | "metadata"
    | "unchanged"
    | "delete"
    /** Disabled or archived, or a second one of its path: left as it is. */
    | "skip"
    /** Another document has its name. */
    | "conflict";
  readonly path: string;
  readonly file: LocalFile | undefined;
  readonly document: DocumentState | undefined;
  readonly note: string | null;
}

/** Documents of the server as a sync sees them. */
export interface RemoteState {
  readonly documents: readonly DocumentState[];
  /** Sums of the contents of documents whose own hash says nothing, by id. */
  readonly sums: ReadonlyMap<string, string | null>;
}

/** Documents of which only the content itself can tell whether it is right. */
export function ambiguousContent(
  files: readonly LocalFile[],
  documents: readonly DocumentState[],
): readonly DocumentState[] {
  const known = matched(files, documents);
  return files.flatMap((file) => {
    const document = known.get(file.path)?.[0];
    return document && !isKnownToHold(document, file) && mayHold(document, file) ? [document] : [];
  });
}

/** Does its hash say so, and is it still that of the stored file? */
export const isKnownToHold = (document: DocumentState, { hash }: Pick<LocalFile, "hash">) =>
  document.metadata[fields.hash] === hash && isUntouched(document);

/** Is it known what it holds, whatever that is? */
export const isSettled = (document: DocumentState): boolean =>
  /^[0-9a-f]{64}$/.test(String(document.metadata[fields.hash] ?? "")) && isUntouched(document);

/** Is the stored file the one of the last sync? A server that names none leaves only the hash. */
const isUntouched = ({ stored, metadata }: DocumentState): boolean =>
  stored === null || metadata[fields.stored] === stored;

/** May it hold the content already: not known to hold another, and was it to become this one? */
function mayHold({ metadata }: DocumentState, { hash }: LocalFile): boolean {
  const own = metadata[fields.hash];
  return own === undefined || own === hash || own === pendingHash(hash);
}

/**
 * What makes the documents hold what the files hold. Pure: a document belongs to a file by its path
 * field. One that has none and the file's name was made by a sync that was ended early, if it holds
 * what the file holds; else somebody made it, and only `adopt` takes it over. Documents of other
 * sources are not touched.
 */
export function planSync(
  files: readonly LocalFile[],
  { documents, sums }: RemoteState,
  { source, prune, adopt }: Rules,
): readonly SyncStep[] {
  const known = matched(files, documents);
  const steps: SyncStep[] = [];
  for (const file of files) {
    const [document, ...others] = known.get(file.path) ?? [];
    steps.push(stepFor(file, document, sums, adopt));
    for (const other of others) {
      const note = secondOne;
      steps.push({
        action: prune ? "delete" : "skip",
        path: file.path,
        file: undefined,
        document: other,
        note,
      });
    }
  }
  const wanted = new Set(files.map(({ path }) => path));
  // A new document of a taken name may become the one that has it (server §9.1), which stays then.
  const created = new Set(
    steps.flatMap(({ action, file }) => (action === "create" && file ? [file.name] : [])),
  );
  for (const document of documents) {
    const path = String(document.metadata[fields.path] ?? "");
    if (document.metadata[fields.source] !== source || path === "" || wanted.has(path)) continue;
    if (prune && !created.has(document.name)) steps.push(pruned(path, document));
  }
  return steps;
}

/** Why a document is left alone although its file has another one. */
export const secondOne = "a second document of this path";

/** What a sync is allowed to do. */
interface Rules {
  readonly source: string;
  /** Delete documents of this source whose file is gone. */
  readonly prune: boolean;
  /** Take over documents that somebody else made under the name of a file. */
  readonly adopt: boolean;
}

/** The end of a document without a file; the server keeps those that are archived (server §9.7). */
function pruned(path: string, document: DocumentState): SyncStep {
  const step = { path, file: undefined, document };
  if (!document.archived) return { ...step, action: "delete", note: null };
  return { ...step, action: "skip", note: archivedStays };
}

/** Why a document without a file stays. */
export const archivedStays = "an archived document cannot be deleted; unarchive it first";

function stepFor(
  file: LocalFile,
  document: DocumentState | undefined,
  sums: RemoteState["sums"],
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
  const holds = isKnownToHold(document, file) || sums.get(document.id) === file.hash;
  const failed = document.indexing_status === "error";
  if (!holds && !adopt && document.metadata[fields.path] === undefined) {
    return step("conflict", "a document of this name was not made by kb sync; --adopt replaces it");
  }
  if (!document.enabled || document.archived) {
    const how = document.archived ? "archived" : "disabled";
    return holds ? step("unchanged", how) : step("skip", `it is ${how} and holds other content`);
  }
  if (failed) return step("update", "it was not indexed");
  if (!holds) return step("update", isTouched(document, file) ? touched : null);
  if (!isKnownToHold(document, file)) return step("adopt");
  const other = Object.entries(file.metadata).some(
    ([name, value]) => (ownValue(document.metadata, name) ?? "") !== value,
  );
  return step(other ? "metadata" : "unchanged");
}

const touched = "it was changed on the server since the last sync";

/** Was its content changed by somebody else since the last sync? */
const isTouched = (document: DocumentState, { hash }: LocalFile): boolean =>
  document.metadata[fields.hash] === hash ||
  (document.metadata[fields.stored] !== undefined && !isUntouched(document));

/** Documents of each file's path: those that say so themselves, else one of its name. */
function matched(
  files: readonly LocalFile[],
  documents: readonly DocumentState[],
): ReadonlyMap<string, readonly DocumentState[]> {
  const byPath = new Map<string, DocumentState[]>();
  const byName = new Map<string, DocumentState>();
  for (const document of documents) {
    const path = document.metadata[fields.path];
    if (typeof path === "string") byPath.set(path, [...(byPath.get(path) ?? []), document]);
    else byName.set(document.name, document);
  }
  const found = new Map<string, readonly DocumentState[]>();
  for (const { path, name } of files) {
    const own = byPath.get(path);
    const named = byName.get(name);
    if (own)
      found.set(
        path,
        own.toSorted((a, b) => Number(b.enabled) - Number(a.enabled)),
      );
    else if (named) found.set(path, [named]);
  }
  return found;
}
