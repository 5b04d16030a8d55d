import {
  type DatasetRow,
  type DocumentRow,
  type KnowledgeContext,
  latestRule,
} from "./records/knowledge-store.ts";
import { stageStarts } from "./indexing/indexing.ts";
import { documentMetadata } from "./records/metadata-values.ts";
import { ruleResponse } from "./records/settings.ts";
import { toResponse, withDefaults } from "./records/responses.ts";

/** SQL for the display status of a document (server §7). */
export const DISPLAY_STATUS = `CASE
  WHEN indexing_status = 'waiting' THEN 'queuing'
  WHEN indexing_status = 'error' THEN 'error'
  WHEN indexing_status <> 'completed' THEN 'indexing'
  WHEN archived THEN 'archived'
  WHEN enabled THEN 'available'
  ELSE 'disabled' END`;

export function getDisplayStatus({ store }: KnowledgeContext, { id }: DocumentRow): string {
  const sql = `SELECT ${DISPLAY_STATUS} AS status FROM documents WHERE id = ?`;
  return store.get<{ readonly status: string }>(sql, id)?.status ?? "queuing";
}

/** The fields of a document that lists and details share, besides those of its row. */
function documentFields(context: KnowledgeContext, document: DocumentRow) {
  const file = context.store.get<object>(
    "SELECT id, name, size, extension, mime_type, created_at FROM files WHERE id = ?",
    document.file_id,
  );
  return {
    ...sourceFields(document, file),
    // Documents of pipelines have none.
    stored_rule_id: document.rule_id || null,
    stored_language: document.doc_language || null,
    display_status: getDisplayStatus(context, document),
    need_summary: document.need_summary === 1,
    // Null again when the summaries are made, and when that failed (server §9.8).
    summary_index_status: document.summary_due === null ? null : "SUMMARIZING",
  };
}

/** Where a document comes from: an upload, or what a pipeline read (server §18). */
function sourceFields({ source, file_id }: DocumentRow, file: object | undefined): object {
  if (!source) {
    const values = { file_id, file: file && toResponse("document_file", file) };
    return toResponse("document_upload", values);
  }
  const { datasource_type: data_source_type, datasource_info: data_source_info } = source;
  const data_source_detail = data_source_type === "local_file" ? {} : data_source_info;
  return { data_source_type, data_source_info, data_source_detail };
}

/** A document in lists, creates and updates; `plain` formats the metadata as some builds do. */
export function documentResponse(
  context: KnowledgeContext,
  dataset: DatasetRow,
  document: DocumentRow,
  plain: boolean,
): object {
  const metadata = documentMetadata(context, dataset, document);
  const texts = metadata.map((field) => ({
    ...field,
    value: field.value === null ? null : String(field.value),
  }));
  const plainMetadata = texts.length === 0 ? null : texts;
  return toResponse("document", document, {
    ...documentFields(context, document),
    doc_metadata: plain ? plainMetadata : metadata,
  });
}

/** Part of a document's detail: with or without the metadata, or only that. */
export type DetailPart = "all" | "only" | "without";

/** A document on its own, with other fields than in lists (server §9). */
export function documentDetail(
  context: KnowledgeContext,
  dataset: DatasetRow,
  document: DocumentRow,
  part: DetailPart,
): object {
  const metadata = documentMetadata(context, dataset, document);
  const rule = context.process_rules.find({ id: document.rule_id })?.rule;
  const newest = latestRule(context, dataset.id)?.rule ?? rule;
  const { count, words } = countSegments(context, document);
  const end = document.completed_at ?? document.stopped_at;
  const all = toResponse("document_detail", document, {
    ...documentFields(context, document),
    // The newest rule of the knowledge base, which may come from another document.
    dataset_process_rule: newest ? ruleResponse(newest) : withDefaults("no_rule", null),
    document_process_rule: rule
      ? { id: document.rule_id, dataset_id: dataset.id, ...ruleResponse(rule) }
      : {},
    indexing_latency:
      end === null || failedToEmbed(document) ? null : (end - document.queued_at) / 1000,
    doc_metadata: metadata.length === 0 ? null : metadata,
    segment_count: count,
    average_segment_length: count === 0 ? 0 : Math.floor(words / count),
  });
  const { doc_type, doc_metadata, ...others } = all;
  if (part === "only") return { id: document.id, doc_type, doc_metadata };
  return part === "without" ? others : all;
}

/** Whether a document was split before its indexing failed. */
const failedToEmbed = ({ indexing_status, word_count, tokens }: DocumentRow): boolean =>
  indexing_status === "error" && word_count !== null && tokens === null;

/** The indexing status of a document. */
export function indexingResponse(context: KnowledgeContext, document: DocumentRow): object {
  const { count, completed } = countSegments(context, document);
  const [, parsing_at, cleaning_at, splitting_at, indexing_at] = stageStarts(context, document);
  const { indexing_status } = document;
  return toResponse("indexing_status", document, {
    version: context.version,
    parsing_at,
    cleaning_at,
    splitting_at,
    indexing_at: indexing_status === "error" && !failedToEmbed(document) ? null : indexing_at,
    completed_segments: indexing_status === "completed" ? completed : 0,
    total_segments: count,
  });
}

/** The segments of a document and their words; `completed` counts the completed ones. */
function countSegments({ store }: KnowledgeContext, { id }: DocumentRow) {
  const sql = `SELECT count(*) AS count, ifnull(sum(word_count), 0) AS words,
      ifnull(sum(status = 'completed'), 0) AS completed
    FROM segments WHERE document_id = ?`;
  const counts = store.get<Record<"count" | "words" | "completed", number>>(sql, id);
  return counts ?? { count: 0, words: 0, completed: 0 };
}
