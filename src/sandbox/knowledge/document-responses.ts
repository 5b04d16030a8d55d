import { stageStart } from "./indexing.ts";
import {
  account,
  type DatasetRow,
  type DocumentRow,
  type UploadRow,
  type KnowledgeContext,
  latestRule,
  getProcessRule,
} from "../storage/knowledge-store.ts";
import { type DocumentField, documentMetadata } from "./metadata-values.ts";
import { ruleResponse, type ProcessRule } from "./process-rules.ts";
import { toSeconds, toSecondsOrNull } from "../storage/ids.ts";

/** SQL for the display status of a document (server §7). */
export const DISPLAY_STATUS = `CASE
  WHEN indexing_status = 'waiting' THEN 'queuing'
  WHEN indexing_status = 'error' THEN 'error'
  WHEN indexing_status <> 'completed' THEN 'indexing'
  WHEN archived THEN 'archived'
  WHEN enabled THEN 'available'
  ELSE 'disabled' END`;

export function getDisplayStatus({ store }: KnowledgeContext, { id }: DocumentRow): string {
  const row = store.get<{ readonly status: string }>(
    `SELECT ${DISPLAY_STATUS} AS status FROM documents WHERE id = ?`,
    id,
  );
  return row?.status ?? "queuing";
}

function fileFields({ store }: KnowledgeContext, id: string): object {
  const file = store.get<UploadRow>(
    "SELECT id, name, size, extension, mime_type, is_text, created_at FROM files WHERE id = ?",
    id,
  );
  return {
    id,
    name: file?.name,
    size: file?.size,
    extension: file?.extension,
    mime_type: file?.mime_type,
    created_by: account.id,
    created_at: (file?.created_at ?? 0) / 1000,
  };
}

/** A document in lists, creates and updates; `plain` formats the metadata as some builds do. */
export const documentResponse = (
  context: KnowledgeContext,
  dataset: DatasetRow,
  document: DocumentRow,
  plain: boolean,
): object => ({
  id: document.id,
  position: document.position,
  data_source_type: "upload_file",
  data_source_info: { upload_file_id: document.file_id },
  data_source_detail_dict: { upload_file: fileFields(context, document.file_id) },
  dataset_process_rule_id: document.rule_id,
  name: document.name,
  ...originFields(document),
  tokens: document.tokens,
  indexing_status: document.indexing_status,
  error: document.error,
  ...availabilityFields(document),
  display_status: getDisplayStatus(context, document),
  word_count: document.word_count,
  hit_count: 0,
  doc_form: document.doc_form,
  doc_metadata: metadataResponse(documentMetadata(context, dataset, document), plain),
  summary_index_status: null,
  need_summary: false,
});

function metadataResponse(fields: readonly DocumentField[], plain: boolean) {
  if (!plain) return fields;
  if (fields.length === 0) return null;
  return fields.map((field) => ({
    ...field,
    value: field.value === null ? null : String(field.value),
  }));
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
  const values = documentMetadata(context, dataset, document);
  const metadata = { doc_type: null, doc_metadata: values.length === 0 ? null : values };
  if (part === "only") return { id: document.id, ...metadata };
  const rule = getProcessRule(context, document.rule_id);
  const latest = latestRule(context, dataset.id);
  const segments = context.store.get<{ readonly count: number; readonly words: number | null }>(
    "SELECT count(*) AS count, sum(word_count) AS words FROM segments WHERE document_id = ?",
    document.id,
  );
  const count = segments?.count ?? 0;
  return {
    id: document.id,
    position: document.position,
    data_source_type: "upload_file",
    data_source_info: { upload_file: fileFields(context, document.file_id) },
    dataset_process_rule_id: document.rule_id,
    // The newest rule of the knowledge base, which may come from another document.
    dataset_process_rule: ruleResponse(latest ? (JSON.parse(latest.rule) as ProcessRule) : rule),
    document_process_rule: {
      id: document.rule_id,
      dataset_id: dataset.id,
      ...ruleResponse(rule),
    },
    name: document.name,
    ...originFields(document),
    tokens: document.tokens,
    indexing_status: document.indexing_status,
    completed_at: toSecondsOrNull(document.completed_at),
    updated_at: toSeconds(document.updated_at),
    indexing_latency: indexingLatency(document),
    error: document.error,
    ...availabilityFields(document),
    ...(part === "all" && metadata),
    segment_count: count,
    average_segment_length: count === 0 ? 0 : Math.floor((segments?.words ?? 0) / count),
    hit_count: 0,
    display_status: getDisplayStatus(context, document),
    doc_form: document.doc_form,
    doc_language: document.doc_language,
    summary_index_status: null,
    need_summary: false,
  };
}

/** The indexing status of a document. */
export function indexingResponse(context: KnowledgeContext, document: DocumentRow): object {
  const segments = context.store.get<{ readonly total: number; readonly done: number | null }>(
    `SELECT count(*) AS total, sum(status = 'completed') AS done FROM segments
     WHERE document_id = ?`,
    document.id,
  );
  const completed = document.indexing_status === "completed";
  const order = ["waiting", "parsing", "cleaning", "splitting", "indexing"] as const;
  const index = order.findIndex((stage) => stage === document.indexing_status);
  /** The start of a stage, or null. */
  const startOf = (stage: (typeof order)[number]) =>
    completed || document.indexing_status === "error" || order.indexOf(stage) <= index
      ? toSeconds(stageStart(context, document, stage))
      : null;
  return {
    id: document.id,
    indexing_status: document.indexing_status,
    processing_started_at: startOf("parsing"),
    parsing_completed_at: startOf("cleaning"),
    cleaning_completed_at: startOf("splitting"),
    splitting_completed_at: document.indexing_status === "error" ? null : startOf("indexing"),
    completed_at: toSecondsOrNull(document.completed_at),
    paused_at: null,
    error: document.error,
    stopped_at: toSecondsOrNull(document.stopped_at),
    completed_segments: completed ? (segments?.done ?? 0) : 0,
    total_segments: segments?.total ?? 0,
  };
}

/** Seconds from the upload to the end of the indexing. */
function indexingLatency({ queued_at, completed_at, stopped_at }: DocumentRow): number | null {
  const end = completed_at ?? stopped_at;
  return end === null ? null : (end - queued_at) / 1000;
}

const originFields = (document: DocumentRow) => ({
  created_from: document.created_from,
  created_by: account.id,
  created_at: toSeconds(document.created_at),
});

const availabilityFields = (document: DocumentRow) => ({
  enabled: document.enabled === 1,
  disabled_at: toSecondsOrNull(document.disabled_at),
  disabled_by: document.disabled_at === null ? null : account.id,
  archived: document.archived === 1,
});
