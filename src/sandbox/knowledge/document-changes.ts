import {
  type DatasetRow,
  type DocumentRow,
  getDataset,
  requireDocument,
  type KnowledgeContext,
  latestRule,
} from "./records/knowledge-store.ts";
import type { Changes, NewRow } from "../storage/table.ts";
import { getDisplayStatus } from "./document-responses.ts";
import { chooseEmbedding, type EmbeddingChoice } from "./indexing/embedding.ts";
import type { FileContent } from "./records/knowledge-files.ts";
import { parseProcessRule, type SearchSettings } from "./records/settings.ts";
import { automaticRule, type ProcessRule } from "../../splitting/rule.ts";
import { knowledgeError } from "./records/responses.ts";

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
    const original = requireDocument(
      context,
      { dataset_id, document_id },
      "document to change missing",
    );
    return requeue(context, original, content, { ...change, created_from: "web" });
  }
  const batch = newBatch(context);
  const name = [...content.name].slice(0, 200).join("");
  const same = documents.find({ dataset_id, name, enabled: true });
  if (same && processing.duplicate !== false) {
    return requeue(context, same, content, { ...change, created_from: "api", batch });
  }
  return addDocument(context, {
    dataset_id,
    batch,
    name,
    file_id: content.file_id,
    rule_id,
    doc_form,
    doc_language: processing.doc_language ?? "English",
    created_from: "api",
  });
}

/** A document that was not added yet; `source` of one that a pipeline makes. */
type NewDocument = Pick<
  NewRow<DocumentRow>,
  | "dataset_id"
  | "batch"
  | "name"
  | "source"
  | "file_id"
  | "rule_id"
  | "doc_form"
  | "doc_language"
  | "created_from"
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
  if (!storeContent && !input.process_rule) {
    throw knowledgeError("document content missing");
  }
  const doc_form = documentForm(dataset, input);
  const document = requireDocument(context, input, "document to change missing");
  if (getDisplayStatus(context, document) !== "available") {
    throw knowledgeError("document unavailable");
  }
  const rule_id =
    input.process_rule || document.rule_id === ""
      ? storeRule(context, dataset, input.process_rule, automaticRule)
      : document.rule_id;
  const changes = { name: input.name, rule_id, doc_form, created_from: "web" };
  return requeue(context, document, storeContent?.(), changes);
}

/** Returns the form of the document; all documents of a knowledge base have the same (server §9). */
function documentForm(dataset: DatasetRow, { doc_form = "text_model" }: ProcessingOptions): string {
  if (dataset.doc_form !== null && dataset.doc_form !== doc_form) {
    throw knowledgeError("document form differs");
  }
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
