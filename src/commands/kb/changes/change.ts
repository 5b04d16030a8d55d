import type { DocumentState, FieldValues } from "../documents/index.ts";

/** What a change does. */
export type Action =
  | "create"
  | "update"
  /** The content is right; only the marks, values or status that belong to it are missing. */
  | "adopt"
  /** Only metadata values or the status differ. */
  | "metadata"
  /** Only chunks differ. */
  | "chunks"
  | "unchanged"
  | "delete"
  /** A disabled, archived or duplicate document, which is not changed. */
  | "skip"
  /** A document that no sync created has the same name. */
  | "conflict"
  | "failed"
  /** Not made because of a rate limit. */
  | "left"
  /** For settings, tags, fields and the built-in fields. */
  | "change"
  | "bind"
  | "unbind"
  | "switch";

type ContentPart = "document" | "chunk";

/** One change of a knowledge base, planned or made: a row of the result. */
export interface Change {
  readonly action: Action;
  readonly what: "knowledge base" | "setting" | "tag" | "field" | "built-in fields" | ContentPart;
  /** For a document, its path or name in the source. */
  readonly name: string;
  readonly id: string | null;
  readonly from: unknown;
  readonly to: unknown;
  readonly note: string | null;
}

/** A document as it should be: a file of a directory or of an export. */
export interface SourceDocument {
  /** Path of the file, or name in the export; it identifies the document. */
  readonly path: string;
  /** Name to send. */
  readonly name: string;
  /** Sent as text, or uploaded. */
  readonly kind: "text" | "file";
  /** Path to open it. */
  readonly location: string;
  /** Reads it, if it is not a file of this machine. */
  readonly read?: () => Promise<Uint8Array>;
  /** Mark of the fingerprint that its source has for this content. */
  readonly fingerprint?: string;
  /** Hash of its content as it is sent; null if an export has no content for it. */
  readonly hash: string | null;
  /** The same with its byte order mark, which earlier versions sent, too. */
  readonly markedHash?: string;
  /** Size to index: characters of a text, bytes of a file or in an export. */
  readonly size: number;
  readonly metadata: FieldValues;
  /** The encoding that its byte order mark names, if that is not UTF-8. */
  readonly encoding?: string;
  /** What only an export knows of a document. */
  readonly exported?: ExportedDocument;
}

interface ExportedDocument {
  /** Chunking rule, as create takes it. */
  readonly rule: unknown;
  readonly enabled: boolean;
  readonly archived: boolean;
  /** Has another document its name? */
  readonly sharesName: boolean;
  /** Does another document of its name come before it? */
  readonly isLater: boolean;
  /** File with its chunks, in the export. */
  readonly chunks?: string | undefined;
}

/** A change of a document, with what it takes to make it. */
export interface DocumentChange extends Change {
  readonly source: SourceDocument | undefined;
  /** The document as it is. */
  readonly document: DocumentState | undefined;
  /** What it loses of the chunks of the document, once that was read; none if its chunks are put back. */
  readonly losses?: readonly string[];
}

/** A change with defaults for what it does not need. */
export const change = (
  given: Pick<Change, "action" | "what" | "name"> & Partial<Change>,
): Change => ({ id: null, from: null, to: null, note: null, ...given });

/** The row of a document. */
export const documentRow = (
  action: Action,
  { name, id }: { readonly name: string; readonly id: string | null },
  note: string | null = null,
): Change => change({ action, what: "document", name, id, note });

/** The row of a change, without what it takes to make it. */
export const rowOf = (
  { action, what, name, id, from, to, note }: Change,
  result: Partial<Change> = {},
): Change => ({ action, what, name, id, from, to, note, ...result });

/** Does it send a content? */
export const sendsContent = ({ action }: Pick<Change, "action">): boolean =>
  action === "create" || action === "update";

/** Is the content of the document known to be indexed? */
export const isContentIndexed = ({ action, document }: DocumentChange): boolean =>
  action === "metadata" ||
  action === "chunks" ||
  (action === "adopt" && document?.indexing_status === "completed");
