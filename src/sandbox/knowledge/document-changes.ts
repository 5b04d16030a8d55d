import { getDisplayStatus } from "./document-responses.ts";
import type { FileContent } from "./knowledge-files.ts";
import {
  type DatasetRow,
  getDataset,
  type DocumentRow,
  getDocumentRow,
  type KnowledgeContext,
  latestRule,
  deleteSegments,
} from "../storage/knowledge-store.ts";
import { automaticRule, parseProcessRule, type ProcessRule } from "./process-rules.ts";
import { invalidParam, notFound } from "../http/errors.ts";

/** Processing options of a create or update, by text or file. */
export interface ProcessingOptions {
  readonly indexing_technique?: string | undefined;
  readonly doc_form?: string | undefined;
  readonly doc_language?: string | undefined;
  readonly process_rule?: unknown;
  readonly retrieval_model?: unknown;
  readonly duplicate?: boolean | undefined;
  readonly original_document_id?: string | undefined;
}

/**
 * Creates a document from stored content, or replaces the enabled one with the same name; returns its
 * ID. `defaultRule` applies if neither the request nor the knowledge base has a rule.
 */
export function createDocument(
  context: KnowledgeContext,
  dataset: DatasetRow,
  storeContent: () => FileContent,
  processing: ProcessingOptions,
  defaultRule: ProcessRule | undefined,
): string {
  const { store } = context;
  const doc_form = documentForm(dataset, processing);
  completeDataset(context, dataset, processing, doc_form);
  const rule_id = storeRule(context, dataset, processing.process_rule, defaultRule);
  const content = storeContent();
  const { original_document_id: original } = processing;
  if (original) {
    getDocumentRow(context, { dataset_id: dataset.id, document_id: original }, () =>
      notFound("Document not found"),
    );
    requeue(context, original, { content, rule_id, doc_form, created_from: "web" });
    return original;
  }
  const batch = newBatch(context);
  const name = [...content.name].slice(0, 200).join("");
  const sql = "SELECT id FROM documents WHERE dataset_id = ? AND name = ? AND enabled ORDER BY key";
  const same = store.get<Pick<DocumentRow, "id">>(sql, dataset.id, name);
  if (same && processing.duplicate !== false) {
    requeue(context, same.id, { content, rule_id, doc_form, created_from: "api", batch });
    return same.id;
  }
  const id = context.newId();
  const now = context.now();
  store.insert("documents", {
    id,
    dataset_id: dataset.id,
    position: store.max("position", "documents WHERE dataset_id = ?", dataset.id) + 1,
    batch,
    name,
    file_id: content.file_id,
    rule_id,
    doc_form,
    doc_language: processing.doc_language ?? "English",
    created_from: "api",
    created_at: now,
    updated_at: now,
    indexing_status: "waiting",
    queued_at: now,
    enabled: 1,
    archived: 0,
    metadata: "{}",
  });
  return id;
}

/** Updates an available document; returns its knowledge base and ID. */
export function updateDocument(
  context: KnowledgeContext,
  input: ProcessingOptions & {
    readonly dataset_id: string;
    readonly document_id: string;
    readonly name?: string | undefined;
  },
  content: (() => FileContent) | undefined,
): [dataset: DatasetRow, id: string] {
  const dataset = getDataset(context, input.dataset_id);
  if (!content && !input.process_rule) {
    throw invalidParam("Data source or Process rule is required");
  }
  const doc_form = documentForm(dataset, input);
  const document = getDocumentRow(context, input, () => notFound("Document not found"));
  if (getDisplayStatus(context, document) !== "available") {
    throw invalidParam("Document is not available");
  }
  const rule_id = storeRule(context, dataset, input.process_rule, automaticRule);
  requeue(context, document.id, {
    content: content?.(),
    name: input.name,
    rule_id,
    doc_form,
    created_from: "web",
  });
  return [dataset, document.id];
}

/** Returns the form of the document; all documents of a knowledge base have the same (server §9). */
function documentForm(dataset: DatasetRow, { doc_form = "text_model" }: ProcessingOptions): string {
  if (dataset.doc_form !== null && dataset.doc_form !== doc_form) {
    throw invalidParam("doc_form is different from the dataset doc_form.");
  }
  return doc_form;
}

/** The first document determines the open settings of its knowledge base. */
function completeDataset(
  { store }: KnowledgeContext,
  dataset: DatasetRow,
  { indexing_technique, retrieval_model }: ProcessingOptions,
  doc_form: string,
): void {
  if (dataset.indexing_technique === null) {
    if (indexing_technique === "high_quality") {
      throw invalidParam("Default model not found for text-embedding");
    }
    store.update("datasets", dataset.id, {
      indexing_technique: indexing_technique ?? null,
      ...(retrieval_model !== undefined && { retrieval_model: JSON.stringify(retrieval_model) }),
    });
  }
  store.update("datasets", dataset.id, { doc_form });
}

/** Stores the rule of the request, or takes the newest of the knowledge base; returns its ID. */
function storeRule(
  context: KnowledgeContext,
  dataset: DatasetRow,
  sent: unknown,
  defaultRule: ProcessRule | undefined,
): string {
  const latest = latestRule(context, dataset.id);
  if (!sent && latest) return latest.id;
  const rule = sent ? parseProcessRule(sent) : defaultRule;
  if (!rule) throw invalidParam("process_rule is required.");
  const id = context.newId();
  context.store.insert("process_rules", { id, dataset_id: dataset.id, rule: JSON.stringify(rule) });
  return id;
}

/** Queues a document for indexing again; its counts stay until that is done. */
function requeue(
  context: KnowledgeContext,
  id: string,
  change: {
    readonly content: FileContent | undefined;
    readonly name?: string | undefined;
    readonly rule_id: string;
    readonly doc_form: string;
    readonly created_from: string;
    /** Only set by a create (server §9). */
    readonly batch?: string;
  },
): void {
  const { store } = context;
  const now = context.now();
  deleteSegments(context, "document_id", id);
  if (change.content) {
    store.run("DELETE FROM files WHERE id = (SELECT file_id FROM documents WHERE id = ?)", id);
  }
  const { content, name: newName, batch, ...fields } = change;
  const name = content?.name ?? newName;
  store.update("documents", id, {
    ...fields,
    ...(name !== undefined && { name }),
    ...(content && { file_id: content.file_id }),
    ...(batch !== undefined && { batch }),
    indexing_status: "waiting",
    queued_at: now,
    updated_at: now,
    completed_at: null,
    stopped_at: null,
  });
}

/** Fourteen digits of time and six random ones. */
function newBatch(context: KnowledgeContext): string {
  const time = new Date(context.now()).toISOString().replace(/\D/g, "").slice(0, 14);
  return time + String(100_000 + Math.floor(context.random() * 900_000));
}
