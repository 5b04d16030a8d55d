import { own as ownValue } from "../json.ts";
import type { DocumentState } from "./kb-state.ts";
import type { LocalFile } from "./sync-files.ts";

/** Metadata fields that tell which file a document is, and which content it holds. */
export const fields = { path: "kb_path", hash: "kb_hash", source: "kb_source" } as const;

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
export interface Step {
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
    | "skip";
  readonly path: string;
  readonly file: LocalFile | undefined;
  readonly document: DocumentState | undefined;
  readonly note: string | null;
}

/** Documents of the server as a sync sees them. */
export interface There {
  readonly documents: readonly DocumentState[];
  /** Sums of the contents of documents whose own hash says nothing, by id. */
  readonly sums: ReadonlyMap<string, string | null>;
}

/** Documents of which only the content itself can tell whether it is right. */
export function doubtful(
  files: readonly LocalFile[],
  documents: readonly DocumentState[],
): readonly DocumentState[] {
  const known = matched(files, documents);
  return files.flatMap((file) => {
    const document = known.get(file.path)?.[0];
    return document && document.metadata[fields.hash] !== file.hash && mayHold(document, file)
      ? [document]
      : [];
  });
}

/** May it hold the content already: not known to hold another, and was it to become this one? */
function mayHold({ metadata }: DocumentState, { hash }: LocalFile): boolean {
  const own = metadata[fields.hash];
  return own === undefined || own === pendingHash(hash);
}

/**
 * What makes the documents hold what the files hold. Pure: a document belongs to a file by its path
 * field, one that has none by its name. Documents of other sources are not touched.
 */
export function plan(
  files: readonly LocalFile[],
  { documents, sums }: There,
  { source, prune }: { readonly source: string; readonly prune: boolean },
): readonly Step[] {
  const known = matched(files, documents);
  const steps: Step[] = [];
  for (const file of files) {
    const [document, ...others] = known.get(file.path) ?? [];
    steps.push(stepFor(file, document, sums));
    for (const other of others) {
      const note = "a second document of this path";
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
  for (const document of documents) {
    const path = String(document.metadata[fields.path] ?? "");
    if (document.metadata[fields.source] !== source || path === "" || wanted.has(path)) continue;
    if (prune) steps.push({ action: "delete", path, file: undefined, document, note: null });
  }
  return steps;
}

function stepFor(file: LocalFile, document: DocumentState | undefined, sums: There["sums"]): Step {
  const step = (action: Step["action"], note: string | null = null): Step => ({
    action,
    path: file.path,
    file,
    document,
    note,
  });
  if (!document) return step("create");
  const own = document.metadata[fields.hash];
  const holds = own === file.hash || sums.get(document.id) === file.hash;
  const failed = document.indexing_status === "error";
  if (!document.enabled || document.archived) {
    const how = document.archived ? "archived" : "disabled";
    return holds ? step("unchanged", how) : step("skip", `it is ${how} and holds other content`);
  }
  if (failed) return step("update", "it was not indexed");
  if (!holds) return step("update");
  if (own !== file.hash) return step("adopt");
  const other = Object.entries(file.metadata).some(
    ([name, value]) => String(ownValue(document.metadata, name) ?? "") !== String(value),
  );
  return step(other ? "metadata" : "unchanged");
}

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
