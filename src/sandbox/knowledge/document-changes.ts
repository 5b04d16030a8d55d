import { getDataset, requireDocument, latestRule } from "./records/knowledge-store.ts";
import type { DatasetRow, DocumentRow, KnowledgeContext } from "./records/knowledge-store.ts";
import type { Changes, NewRow } from "../storage/table.ts";
import { chooseEmbedding, type EmbeddingChoice } from "./indexing/segments.ts";
import type { FileContent } from "./records/knowledge-files.ts";
import {
  parseProcessRule,
  type SearchSettings,
  knowledgeError,
  ruleResponse,
  toResponse,
  withDefaults,
} from "./records/responses.ts";
import { automaticRule, type ProcessRule } from "../../splitting/rule.ts";
import { stageStarts } from "./indexing/indexing.ts";
import { documentMetadata } from "./records/metadata-values.ts";

/** Processing options of a create or update, by text or file. */
export interface ProcessingOptions extends EmbeddingChoice {
  readonly dataset_id: string;
  readonly indexing_technique?: string | undefined;
  readonly doc_form?: string | undefined;
  readonly doc_language?: string | undefined;
  readonly process_rule?: unknown;
  readonly retrieval_model?: unknown;
  readonly duplicate?: boolean | undefined;
  readonly original_document_id?: string | undefined;
}

/** Creates a document, or replaces the enabled one with the same name; returns its ID. */
export function createDocument(
  context: KnowledgeContext,
  processing: ProcessingOptions,
  storeContent: () => FileContent,
  /** Applies if neither the request nor the knowledge base has a rule. */
  defaultRule?: ProcessRule,
): string {
  const { documents } = context;
  const { dataset_id } = processing;
  const dataset = getDataset(context, dataset_id);
  const doc_form = documentForm(dataset, processing);
  completeDataset(context, dataset, processing, doc_form);
  const rule_id = storeRule(context, dataset, processing.process_rule, defaultRule);
  const content = storeContent();
  const change = { rule_id, doc_form };
  const { original_document_id: document_id } = processing;
  if (document_id) {
    const place = { dataset_id, document_id };
    const original = requireDocument(context, place, "document to change missing");
    return requeue(context, original, content, { ...change, created_from: "web" });
  }
  const batch = newBatch(context);
  const name = [...content.name].slice(0, 200).join("");
  const same = documents.find({ dataset_id, name, enabled: true });
  if (same && processing.duplicate !== false) {
    return requeue(context, same, content, { ...change, created_from: "api", batch });
  }
  const { file_id } = content;
  const { doc_language = "English" } = processing;
  const made = { dataset_id, batch, name, file_id, doc_language, created_from: "api" };
  return addDocument(context, { ...made, ...change });
}

/** A document that was not added yet; `source` of one that a pipeline makes. */
type NewDocument = Omit<
  NewRow<DocumentRow>,
  "position" | "indexing_status" | "queued_at" | "enabled" | "archived" | "metadata"
>;

/** Adds a document at the end of its knowledge base, where it waits to be indexed; returns its ID. */
export function addDocument(context: KnowledgeContext, document: NewDocument): string {
  const { documents } = context;
  const { dataset_id } = document;
  const now = context.now();
  const { id } = documents.insert({
    ...document,
    position: documents.max("position", { dataset_id }) + 1,
    created_at: now,
    updated_at: now,
    indexing_status: "waiting",
    queued_at: now,
    enabled: true,
    archived: false,
    metadata: {},
  });
  return id;
}

/** Updates an available document; returns its ID. */
export function updateDocument(
  context: KnowledgeContext,
  input: ProcessingOptions & { readonly document_id: string; readonly name?: string | undefined },
  storeContent: (() => FileContent) | undefined,
): string {
  const dataset = getDataset(context, input.dataset_id);
  if (!storeContent && !input.process_rule) throw knowledgeError("document content missing");
  const doc_form = documentForm(dataset, input);
  const document = requireDocument(context, input, "document to change missing");
  const status = getDisplayStatus(context, document);
  if (status !== "available") throw knowledgeError("document unavailable");
  const rule_id =
    input.process_rule || document.rule_id === ""
      ? storeRule(context, dataset, input.process_rule, automaticRule)
      : document.rule_id;
  const changes = { name: input.name, rule_id, doc_form, created_from: "web" };
  return requeue(context, document, storeContent?.(), changes);
}

/** Returns the form of the document; all documents of a knowledge base have the same (server §9). */
function documentForm(dataset: DatasetRow, { doc_form = "text_model" }: ProcessingOptions): string {
  if ((dataset.doc_form ?? doc_form) !== doc_form) throw knowledgeError("document form differs");
  return doc_form;
}

/** The first document determines the open settings of its knowledge base. */
function completeDataset(
  context: KnowledgeContext,
  { id, indexing_technique: known }: DatasetRow,
  { indexing_technique, retrieval_model, ...sent }: ProcessingOptions,
  doc_form: string,
): void {
  const { datasets } = context;
  if (known === null) {
    const embedding = chooseEmbedding(context, indexing_technique, sent);
    const settings = retrieval_model as SearchSettings | undefined; // validated
    datasets.update({ id }, { indexing_technique, ...embedding, retrieval_model: settings });
  }
  datasets.update({ id }, { doc_form });
}

/** Stores the rule of the request, or takes the newest of the knowledge base; returns its ID. */
function storeRule(
  context: KnowledgeContext,
  { id: dataset_id }: DatasetRow,
  sent: unknown,
  defaultRule: ProcessRule | undefined,
): string {
  const latest = latestRule(context, dataset_id);
  if (!sent && latest) return latest.id;
  const rule = sent ? parseProcessRule(sent) : defaultRule;
  if (!rule) throw knowledgeError("rule missing");
  return context.process_rules.insert({ dataset_id, rule }).id;
}

/** Queues a document for indexing again; its counts stay until that is done. Returns its ID. */
function requeue(
  context: KnowledgeContext,
  { id, file_id }: DocumentRow,
  content: FileContent | undefined,
  changes: Changes<DocumentRow>,
): string {
  const now = context.now();
  context.segments.delete({ document_id: id });
  if (content) context.files.delete({ id: file_id });
  const queued = { indexing_status: "waiting", queued_at: now, updated_at: now } as const;
  const ended = { completed_at: null, stopped_at: null };
  const source = content ? null : undefined;
  context.documents.update({ id }, { ...changes, ...content, source, ...queued, ...ended });
  return id;
}

/** The ID of a batch of documents: fourteen digits of time and six random ones. */
export function newBatch(context: KnowledgeContext): string {
  const time = new Date(context.now()).toISOString().replace(/\D/g, "").slice(0, 14);
  return time + String(100_000 + Math.floor(context.random() * 900_000));
}

/** SQL for the display status of a document (server §7). */
export const DISPLAY_STATUS = `CASE
  WHEN indexing_status = 'waiting' THEN 'queuing'
  WHEN indexing_status IN ('error', 'paused') THEN indexing_status
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
