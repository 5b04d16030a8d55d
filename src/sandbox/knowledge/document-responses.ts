import { stageStart } from "./indexing.ts";
import {
  account,
  type DatasetRow,
  type DocumentRow,
  type FileRow,
  type KnowledgeContext,
  latestRule,
  getProcessRule,
} from "../storage/knowledge-store.ts";
import { type DocumentField, documentMetadata } from "./metadata-values.ts";
import { ruleResponse, type ProcessRule } from "./process-rules.ts";
import { toSeconds } from "../storage/ids.ts";

/** What people are shown of a document's state; SQL so that lists can ask for it (server §7). */
export const displayStatus = `CASE
  WHEN indexing_status = 'waiting' THEN 'queuing'
  WHEN indexing_status = 'error' THEN 'error'
  WHEN indexing_status <> 'completed' THEN 'indexing'
  WHEN archived THEN 'archived'
  WHEN enabled THEN 'available'
  ELSE 'disabled' END`;

/** The same for one document. */
export function displayStatusOf({ store }: KnowledgeContext, { id }: DocumentRow): string {
  const row = store.get<{ readonly shown: string }>(
    `SELECT ${displayStatus} AS shown FROM documents WHERE id = ?`,
    id,
  );
  return row?.shown ?? "queuing";
}

const secondsOrNull = (ms: number | null) => (ms === null ? null : toSeconds(ms));

function fileAnswer({ store }: KnowledgeContext, id: string): object {
  const file = store.get<FileRow>(
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

/** A document as lists, creates and updates answer it; `plain` as some builds show its values. */
export const documentResponse = (
  room: KnowledgeContext,
  dataset: DatasetRow,
  document: DocumentRow,
  plain: boolean,
): object => ({
  id: document.id,
  position: document.position,
  data_source_type: "upload_file",
  data_source_info: { upload_file_id: document.file_id },
  data_source_detail_dict: { upload_file: fileAnswer(room, document.file_id) },
  dataset_process_rule_id: document.rule_id,
  name: document.name,
  ...origin(document),
  tokens: document.tokens,
  indexing_status: document.indexing_status,
  error: document.error,
  ...availability(document),
  display_status: displayStatusOf(room, document),
  word_count: document.word_count,
  hit_count: 0,
  doc_form: document.doc_form,
  doc_metadata: listedMetadata(documentMetadata(room, dataset, document), plain),
  summary_index_status: null,
  need_summary: false,
});

function listedMetadata(fields: readonly DocumentField[], plain: boolean) {
  if (!plain) return fields;
  if (fields.length === 0) return null;
  return fields.map((field) => ({
    ...field,
    value: field.value === null ? null : String(field.value),
  }));
}

/** Which part of a document's detail is wanted. */
export type DetailPart = "all" | "only" | "without";

/** A document as it is shown alone: other fields than in lists (server §9). */
export function documentDetail(
  room: KnowledgeContext,
  dataset: DatasetRow,
  document: DocumentRow,
  part: DetailPart,
): object {
  const values = documentMetadata(room, dataset, document);
  const metadata = { doc_type: null, doc_metadata: values.length === 0 ? null : values };
  if (part === "only") return { id: document.id, ...metadata };
  const rule = getProcessRule(room, document.rule_id);
  const latest = latestRule(room, dataset.id);
  const segments = room.store.get<{ readonly count: number; readonly words: number | null }>(
    "SELECT count(*) AS count, sum(word_count) AS words FROM segments WHERE document_id = ?",
    document.id,
  );
  const count = segments?.count ?? 0;
  return {
    id: document.id,
    position: document.position,
    data_source_type: "upload_file",
    data_source_info: { upload_file: fileAnswer(room, document.file_id) },
    dataset_process_rule_id: document.rule_id,
    // The first is the knowledge base's newest, which another document may have brought.
    dataset_process_rule: ruleResponse(latest ? (JSON.parse(latest.rule) as ProcessRule) : rule),
    document_process_rule: {
      id: document.rule_id,
      dataset_id: dataset.id,
      ...ruleResponse(rule),
    },
    name: document.name,
    ...origin(document),
    tokens: document.tokens,
    indexing_status: document.indexing_status,
    completed_at: secondsOrNull(document.completed_at),
    updated_at: toSeconds(document.updated_at),
    indexing_latency: latency(document),
    error: document.error,
    ...availability(document),
    ...(part === "all" && metadata),
    segment_count: count,
    average_segment_length: count === 0 ? 0 : Math.floor((segments?.words ?? 0) / count),
    hit_count: 0,
    display_status: displayStatusOf(room, document),
    doc_form: document.doc_form,
    doc_language: document.doc_language,
    summary_index_status: null,
    need_summary: false,
  };
}

/** How far one document of a batch is. */
export function indexingResponse(room: KnowledgeContext, document: DocumentRow): object {
  const segments = room.store.get<{ readonly total: number; readonly done: number | null }>(
    `SELECT count(*) AS total, sum(status = 'completed') AS done FROM segments
     WHERE document_id = ?`,
    document.id,
  );
  const completed = document.indexing_status === "completed";
  const order = ["waiting", "parsing", "cleaning", "splitting", "indexing"] as const;
  const at = order.findIndex((stage) => stage === document.indexing_status);
  /** When the stage began, if it has. */
  const began = (stage: (typeof order)[number]) =>
    completed || document.indexing_status === "error" || order.indexOf(stage) <= at
      ? toSeconds(stageStart(room, document, stage))
      : null;
  return {
    id: document.id,
    indexing_status: document.indexing_status,
    processing_started_at: began("parsing"),
    parsing_completed_at: began("cleaning"),
    cleaning_completed_at: began("splitting"),
    splitting_completed_at: document.indexing_status === "error" ? null : began("indexing"),
    completed_at: secondsOrNull(document.completed_at),
    paused_at: null,
    error: document.error,
    stopped_at: secondsOrNull(document.stopped_at),
    completed_segments: completed ? (segments?.done ?? 0) : 0,
    total_segments: segments?.total ?? 0,
  };
}

/** Seconds from the arrival of the text to the end of its indexing. */
function latency({ queued_at, completed_at, stopped_at }: DocumentRow): number | null {
  const end = completed_at ?? stopped_at;
  return end === null ? null : (end - queued_at) / 1000;
}

const origin = (document: DocumentRow) => ({
  created_from: document.created_from,
  created_by: account.id,
  created_at: toSeconds(document.created_at),
});

const availability = (document: DocumentRow) => ({
  enabled: document.enabled === 1,
  disabled_at: secondsOrNull(document.disabled_at),
  disabled_by: document.disabled_at === null ? null : account.id,
  archived: document.archived === 1,
});
