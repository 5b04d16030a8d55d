import type { LanguageModel } from "../../models/language-model.ts";
import type { ModelAccess } from "../../models/catalog.ts";
import { raise } from "../../protocol/response.ts";
import type { Handlers } from "../../protocol/handler.ts";
import type { ProcessRule } from "../../../splitting/rule.ts";
import { type SearchSettings, knowledgeError } from "./responses.ts";
import type { FileText } from "../../readers/read-file.ts";
import type { Basics } from "../../storage/sqlite.ts";
import { column, defineTable, columnsAs, openTables, type RecordOf } from "../../storage/table.ts";
import type { Numeric } from "../../../lib/exact-number.ts";

const { key, text, oneOf, integer, flag, bytes, json, optional } = column;

/** The stages of indexing, in order. */
export type ProcessingStage = "waiting" | "parsing" | "cleaning" | "splitting" | "indexing";

/** The time at which a document was queued that no worker takes any more. */
export const ABANDONED = Number.MAX_SAFE_INTEGER;

/** What a pipeline reads for one document, as it was sent. */
export interface DocumentSource {
  readonly datasource_type: string;
  /** An uploaded file, or a page. */
  readonly datasource_info: Readonly<Record<string, unknown>>;
  readonly start_node_id: string;
  /** Inputs of the pipeline. */
  readonly inputs: Readonly<Record<string, unknown>>;
}

/** Tables of the knowledge bases. Times (`…_at`) are ms since 1970. */
const tables = {
  datasets: defineTable({
    id: key,
    ...columnsAs(text, "name", "provider", "permission"),
    ...columnsAs(optional(text), "description", "indexing_technique", "doc_form"),
    ...columnsAs(optional(text), "embedding_model", "embedding_model_provider"),
    members: json<readonly string[]>(),
    retrieval_model: optional(json<SearchSettings>()),
    summary_index_setting: optional(json<{ readonly enable?: unknown }>()),
    built_in: flag,
    ...columnsAs(integer, "created_at", "updated_at"),
  }),
  process_rules: defineTable(
    { id: key, dataset_id: text, rule: json<ProcessRule>() },
    { indexes: ["dataset_id"] },
  ),
  files: defineTable({
    id: key,
    ...columnsAs(text, "name", "extension", "mime_type"),
    size: integer, // characters of a text, bytes of an upload (server §9.1)
    is_text: flag,
    bytes,
    /** The text of a file that is not plain text; null for others. */
    text: optional(json<FileText>()),
    created_at: integer,
  }),
  documents: defineTable(
    {
      id: key,
      ...columnsAs(text, "dataset_id", "batch", "name", "doc_form", "doc_language", "created_from"),
      position: integer,
      /** Of a document that a pipeline makes; it has neither file nor rule (their IDs are empty). */
      source: optional(json<DocumentSource>()),
      ...columnsAs(text, "file_id", "rule_id"),
      ...columnsAs(integer, "created_at", "updated_at", "queued_at"),
      indexing_status: oneOf<ProcessingStage | "paused" | "completed" | "error">(),
      ...columnsAs(optional(integer), "completed_at", "stopped_at", "disabled_at"),
      error: optional(text),
      ...columnsAs(optional(integer), "tokens", "word_count"),
      /** Whether its chunks have, or are to have, summaries; 1 or null. */
      need_summary: optional(integer),
      /** When the summaries are made; null before and after. */
      summary_due: optional(integer),
      ...columnsAs(flag, "enabled", "archived"),
      metadata: json<Readonly<Record<string, MetadataValue>>>(),
    },
    {
      indexes: [
        "dataset_id",
        // Each new document looks for its name and the last position.
        "dataset_id, name",
        "dataset_id, position",
        "batch",
        "indexing_status, queued_at",
        "summary_due",
      ],
    },
  ),
  segments: defineTable(
    {
      id: key,
      ...columnsAs(text, "dataset_id", "document_id", "content", "index_node_id", "status"),
      ...columnsAs(integer, "position", "word_count", "created_at", "updated_at", "indexing_at"),
      ...columnsAs(optional(text), "answer", "updated_by", "summary", "error"),
      ...columnsAs(optional(integer), "disabled_at", "completed_at"),
      keywords: optional(json<readonly string[]>()),
      enabled: flag,
      /** Counted only where a model embeds the content. */
      tokens: optional(integer),
      /** The embedded content: 32-bit floats. */
      vector: optional(bytes),
    },
    { indexes: ["document_id, position", "dataset_id"] },
  ),
  child_chunks: defineTable(
    {
      id: key,
      ...columnsAs(text, "segment_id", "content"),
      ...columnsAs(integer, "position", "created_at", "updated_at"),
      type: oneOf<"automatic" | "customized">(),
      vector: optional(bytes),
    },
    { indexes: ["segment_id, position"] },
  ),
  metadata_fields: defineTable(
    { id: key, ...columnsAs(text, "dataset_id", "name", "type") },
    { indexes: ["dataset_id"] },
  ),
  metadata_bindings: defineTable(
    { field_id: text, document_id: text },
    { constraint: "PRIMARY KEY (field_id, document_id)", indexes: ["document_id"] },
  ),
  tags: defineTable({ id: key, name: text }),
  tag_bindings: defineTable(
    { tag_id: text, dataset_id: text },
    { constraint: "PRIMARY KEY (tag_id, dataset_id)" },
  ),
};

/** The tables that a search can look into, with those of their words, by row ID. */
export const WORD_TABLES = { segments: "segment_words", child_chunks: "child_words" } as const;

export type DatasetRow = RecordOf<typeof tables.datasets>;
export type StoredFileRow = RecordOf<typeof tables.files>;
export type DocumentRow = RecordOf<typeof tables.documents>;
export type SegmentRow = RecordOf<typeof tables.segments>;
export type ChildChunkRow = RecordOf<typeof tables.child_chunks>;
export type FieldRow = RecordOf<typeof tables.metadata_fields>;
export type TagRow = RecordOf<typeof tables.tags>;

/** The rows of other tables that are deleted with one, which is `old` in their conditions. */
const belongings = [
  ["datasets", "documents", "dataset_id = old.id"],
  ["datasets", "process_rules", "dataset_id = old.id"],
  ["datasets", "metadata_fields", "dataset_id = old.id"],
  ["datasets", "tag_bindings", "dataset_id = old.id"],
  ["tags", "tag_bindings", "tag_id = old.id"],
  ["metadata_fields", "metadata_bindings", "field_id = old.id"],
  ["documents", "metadata_bindings", "document_id = old.id"],
  ["documents", "files", "id = old.file_id"],
  ["documents", "segments", "document_id = old.id"],
  ["segments", "child_chunks", "segment_id = old.id"],
  ["segments", WORD_TABLES.segments, "rowid = old.rowid"],
  ["child_chunks", WORD_TABLES.child_chunks, "rowid = old.rowid"],
] as const;

/** What the handlers of knowledge bases share. */
export type KnowledgeContext = ReturnType<typeof createContext>;

/** A handler for each of the rows. */
export type KnowledgeHandlers<Rows> = Handlers<Rows, KnowledgeContext>;

/** What the knowledge side of the sandbox needs. */
export interface KnowledgeDependencies extends Basics {
  /** The language model; undefined if the server has no models at all. */
  readonly model: LanguageModel | undefined;
  readonly models: ModelAccess;
  /** ms from an upload until it is indexed. */
  readonly indexingDelay: number;
  /** Server version to imitate. */
  readonly version: string;
}

/** Opens the tables of the knowledge bases. */
export function createContext(dependencies: KnowledgeDependencies) {
  const { store, clock } = dependencies;
  for (const name of Object.values(WORD_TABLES)) {
    const columns = "words, tokenize = 'unicode61'";
    store.run(`CREATE VIRTUAL TABLE IF NOT EXISTS ${name} USING fts5(${columns})`);
  }
  const opened = openTables(dependencies, tables);
  store.transaction(() => {
    for (const [owner, table, where] of belongings)
      store.run(`CREATE TRIGGER IF NOT EXISTS ${table}_of_${owner} AFTER DELETE ON ${owner}
        BEGIN DELETE FROM ${table} WHERE ${where}; END`);
  });
  return {
    ...dependencies,
    ...opened,
    /** ms since 1970. */
    now: () => clock.now().getTime(),
    /** When the locks of documents end, by document ID; the server does not store them either. */
    locks: new Map<string, number>(),
    /** Stored files whose bytes are gone, by ID, until the sandbox ends. */
    lostFiles: new Set<string>(),
  };
}

/** Returns the knowledge base; throws 404. */
export const getDataset = ({ datasets }: KnowledgeContext, id: string): DatasetRow =>
  datasets.find({ id }) ?? raise(knowledgeError("dataset missing"));

/** Returns the document of a knowledge base; throws 404, or the given error. */
export const requireDocument = (
  { documents }: KnowledgeContext,
  { dataset_id, document_id }: { readonly dataset_id: string; readonly document_id: string },
  missing: Parameters<typeof knowledgeError>[0] = "document missing",
): DocumentRow =>
  documents.find({ dataset_id, id: document_id }) ?? raise(knowledgeError(missing, { dataset_id }));

/** Returns the newest process rule of a knowledge base; it has none before its first document. */
export const latestRule = ({ process_rules }: KnowledgeContext, dataset_id: string) =>
  process_rules.list({ dataset_id }, "rowid DESC LIMIT 1")[0];

/** The value of a metadata field of a document. */
export type MetadataValue = string | Numeric | null;
