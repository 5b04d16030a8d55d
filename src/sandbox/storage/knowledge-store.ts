import type { Clock, HttpError } from "../http/handler.ts";
import { automaticRule, type ProcessRule } from "../knowledge/process-rules.ts";
import { notFound } from "../http/errors.ts";
import { fixedId, newId } from "./ids.ts";
import type { Store } from "./sqlite.ts";
import { column, defineTable, openTables, type RowOf } from "./table.ts";

/** Tables of the knowledge bases. Times are ms since 1970, JSON is text, flags are 0 and 1. */
export const knowledgeSchema = `
CREATE TABLE IF NOT EXISTS datasets (
  key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, description TEXT,
  provider TEXT NOT NULL, permission TEXT NOT NULL, members TEXT NOT NULL,
  indexing_technique TEXT, doc_form TEXT, retrieval_model TEXT,
  summary_index_setting TEXT, built_in INTEGER NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS process_rules (
  key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, dataset_id TEXT NOT NULL, rule TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS rules_by_dataset ON process_rules (dataset_id, key);
CREATE TABLE IF NOT EXISTS files (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, size INTEGER NOT NULL, extension TEXT NOT NULL,
  mime_type TEXT NOT NULL, is_text INTEGER NOT NULL, bytes BLOB NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS documents (
  key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, dataset_id TEXT NOT NULL,
  position INTEGER NOT NULL, batch TEXT NOT NULL, name TEXT NOT NULL, file_id TEXT NOT NULL,
  rule_id TEXT NOT NULL, doc_form TEXT NOT NULL, doc_language TEXT NOT NULL,
  created_from TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  indexing_status TEXT NOT NULL, queued_at INTEGER NOT NULL, completed_at INTEGER,
  stopped_at INTEGER, error TEXT, tokens INTEGER, word_count INTEGER,
  enabled INTEGER NOT NULL, disabled_at INTEGER, archived INTEGER NOT NULL, metadata TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS documents_by_dataset ON documents (dataset_id, key);
CREATE INDEX IF NOT EXISTS documents_by_batch ON documents (batch);
CREATE INDEX IF NOT EXISTS documents_by_stage ON documents (indexing_status, queued_at);
CREATE TABLE IF NOT EXISTS segments (
  key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, dataset_id TEXT NOT NULL,
  document_id TEXT NOT NULL, position INTEGER NOT NULL, content TEXT NOT NULL, answer TEXT,
  word_count INTEGER NOT NULL, keywords TEXT, index_node_id TEXT NOT NULL,
  status TEXT NOT NULL, enabled INTEGER NOT NULL, disabled_at INTEGER,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, updated_by TEXT,
  indexing_at INTEGER NOT NULL, completed_at INTEGER, summary TEXT
);
CREATE INDEX IF NOT EXISTS segments_by_document ON segments (document_id, position);
CREATE INDEX IF NOT EXISTS segments_by_dataset ON segments (dataset_id);
CREATE VIRTUAL TABLE IF NOT EXISTS segment_words USING fts5(words, tokenize = 'unicode61');
CREATE TABLE IF NOT EXISTS child_chunks (
  key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, segment_id TEXT NOT NULL,
  position INTEGER NOT NULL, content TEXT NOT NULL, type TEXT NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS child_chunks_by_segment ON child_chunks (segment_id, position);
CREATE TABLE IF NOT EXISTS metadata_fields (
  key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, dataset_id TEXT NOT NULL,
  name TEXT NOT NULL, type TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS fields_by_dataset ON metadata_fields (dataset_id, key);
CREATE TABLE IF NOT EXISTS metadata_bindings (
  field_id TEXT NOT NULL, document_id TEXT NOT NULL, PRIMARY KEY (field_id, document_id)
);
CREATE INDEX IF NOT EXISTS bindings_by_document ON metadata_bindings (document_id);`;
const { key, text } = column;

const tables = {
  tags: defineTable({ id: key, name: text }),
  tag_bindings: defineTable(
    { tag_id: text, dataset_id: text },
    { constraint: "PRIMARY KEY (tag_id, dataset_id)" },
  ),
};

/** The account of a knowledge key (server §2). */
export const account = { id: fixedId("account"), name: "admin" } as const;

export interface DatasetRow {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly provider: string;
  readonly permission: string;
  readonly members: string;
  readonly indexing_technique: string | null;
  readonly doc_form: string | null;
  readonly retrieval_model: string | null;
  readonly summary_index_setting: string | null;
  readonly built_in: number;
  readonly created_at: number;
  readonly updated_at: number;
}

export interface UploadRow {
  readonly id: string;
  readonly name: string;
  /** Characters of a text, bytes of an upload (server §9.1). */
  readonly size: number;
  readonly extension: string;
  readonly mime_type: string;
  readonly is_text: number;
  readonly created_at: number;
}

export type Stage = "waiting" | "parsing" | "cleaning" | "splitting" | "indexing";

export interface DocumentRow {
  readonly key: number;
  readonly id: string;
  readonly dataset_id: string;
  readonly position: number;
  readonly batch: string;
  readonly name: string;
  readonly file_id: string;
  readonly rule_id: string;
  readonly doc_form: string;
  readonly doc_language: string;
  readonly created_from: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly indexing_status: Stage | "completed" | "error";
  readonly queued_at: number;
  readonly completed_at: number | null;
  readonly stopped_at: number | null;
  readonly error: string | null;
  readonly tokens: number | null;
  readonly word_count: number | null;
  readonly enabled: number;
  readonly disabled_at: number | null;
  readonly archived: number;
  readonly metadata: string;
}

export interface SegmentRow {
  readonly key: number;
  readonly id: string;
  readonly dataset_id: string;
  readonly document_id: string;
  readonly position: number;
  readonly content: string;
  readonly answer: string | null;
  readonly word_count: number;
  readonly keywords: string | null;
  readonly index_node_id: string;
  readonly status: string;
  readonly enabled: number;
  readonly disabled_at: number | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly updated_by: string | null;
  readonly indexing_at: number;
  readonly completed_at: number | null;
  readonly summary: string | null;
}

export interface ChildChunkRow {
  readonly id: string;
  readonly segment_id: string;
  readonly position: number;
  readonly content: string;
  readonly type: string;
  readonly created_at: number;
  readonly updated_at: number;
}

export interface FieldRow {
  readonly id: string;
  readonly name: string;
  readonly type: string;
}

export type TagRow = RowOf<typeof tables.tags>;

/** What the handlers of knowledge bases share. */
export type KnowledgeContext = ReturnType<typeof createContext>;

/** Opens the tables of the knowledge bases; `indexingDelay` is ms from an upload until it is indexed. */
export const createContext = (deps: {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  readonly indexingDelay: number;
}) => ({
  ...openTables(deps.store, tables),
  store: deps.store,
  random: deps.random,
  indexingDelay: deps.indexingDelay,
  /** ms since 1970. */
  now: () => deps.clock.now().getTime(),
  newId: () => newId(deps.random),
});

/** Returns the knowledge base; throws 404. */
export function getDataset({ store }: KnowledgeContext, id: string): DatasetRow {
  const dataset = store.get<DatasetRow>("SELECT * FROM datasets WHERE id = ?", id);
  if (!dataset) throw notFound("Dataset not found.");
  return dataset;
}

export const findDocument = ({ store }: KnowledgeContext, datasetId: string, id: string) =>
  store.get<DocumentRow>("SELECT * FROM documents WHERE dataset_id = ? AND id = ?", datasetId, id);

/** Returns the document of a knowledge base; throws `missing()`. */
export function getDocumentRow(
  context: KnowledgeContext,
  { dataset_id, document_id }: { readonly dataset_id: string; readonly document_id: string },
  missing: () => HttpError = () => notFound("Document not found."),
): DocumentRow {
  const document = findDocument(context, dataset_id, document_id);
  if (!document) throw missing();
  return document;
}

/** Returns the newest process rule of a knowledge base; it has none before its first document. */
export const latestRule = ({ store }: KnowledgeContext, datasetId: string) =>
  store.get<{ readonly id: string; readonly rule: string }>(
    "SELECT id, rule FROM process_rules WHERE dataset_id = ? ORDER BY key DESC",
    datasetId,
  );

/** Returns the process rule of a document. */
export function getProcessRule({ store }: KnowledgeContext, id: string): ProcessRule {
  const row = store.get<{ readonly rule: string }>(
    "SELECT rule FROM process_rules WHERE id = ?",
    id,
  );
  return row ? (JSON.parse(row.rule) as ProcessRule) : automaticRule; // as stored
}

/** Deletes segments with their child chunks and their words in the index. */
export function deleteSegments(
  { store }: KnowledgeContext,
  column: "dataset_id" | "document_id" | "id",
  value: string,
): void {
  const select = (name: "key" | "id") => `SELECT ${name} FROM segments WHERE ${column} = ?`;
  store.run(`DELETE FROM segment_words WHERE rowid IN (${select("key")})`, value);
  store.run(`DELETE FROM child_chunks WHERE segment_id IN (${select("id")})`, value);
  store.run(`DELETE FROM segments WHERE ${column} = ?`, value);
}

/** Deletes a document with its segments, bindings and file. */
export function deleteDocumentRow(context: KnowledgeContext, document: DocumentRow): void {
  deleteSegments(context, "document_id", document.id);
  context.store.run("DELETE FROM metadata_bindings WHERE document_id = ?", document.id);
  context.store.run("DELETE FROM files WHERE id = ?", document.file_id);
  context.store.run("DELETE FROM documents WHERE id = ?", document.id);
}
