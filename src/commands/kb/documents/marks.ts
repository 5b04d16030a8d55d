import type { DocumentState } from "./state.ts";

/**
 * Metadata fields with which a sync marks a document: its file, its content (a hash, and the ID of the
 * stored file that had it, which changes with every other write, server §9.5) and its source, with the fingerprint that a source other than a directory
 * has for this content.
 */
export const syncFields = {
  path: "kb_path",
  hash: "kb_hash",
  source: "kb_source",
  stored: "kb_file",
  fingerprint: "kb_fingerprint",
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

/** A file or text, by its SHA-256; null if it is not known. */
interface Content {
  readonly hash: string | null;
}

/** Marks a hash whose content is not indexed yet. */
export const pendingHash = (hash: string): string => `pending:${hash}`;

/** Do the marks prove that a document has the content of a file? */
export const isKnownToHold = (document: DocumentState, { hash }: Content): boolean =>
  document.metadata[syncFields.hash] === hash && isUntouched(document);

/** Is the stored file that of the last sync? Without its ID, only the hash counts. */
const isUntouched = ({ stored, metadata }: DocumentState): boolean =>
  stored === null || metadata[syncFields.stored] === stored;

/** Can a document already have the content of a file? */
export function mayHold({ metadata }: DocumentState, { hash }: Content): boolean {
  const current = metadata[syncFields.hash];
  return current === undefined || current === hash || current === pendingHash(hash ?? "");
}

/** Did something other than a sync write the content of a document? */
export const isTouched = (document: DocumentState, { hash }: Content): boolean =>
  document.metadata[syncFields.hash] === hash ||
  (document.metadata[syncFields.stored] !== undefined && !isUntouched(document));

/** Is it the address of a source that is not a directory: `exec:PROGRAM`, `git+URL`? */
export const isAddress = (source: unknown): boolean =>
  /^(?:(?:git|web)\+\w+|rclone|exec):/.test(String(source));
