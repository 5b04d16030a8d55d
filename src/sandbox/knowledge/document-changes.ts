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
  const same =
    processing.duplicate === false
      ? undefined
      : store.get<Pick<DocumentRow, "id">>(
          "SELECT id FROM documents WHERE dataset_id = ? AND name = ? AND enabled ORDER BY key",
          dataset.id,
          name,
        );
  if (same) {
    requeue(context, same.id, { content, rule_id, doc_form, created_from: "api", batch });
    return same.id;
  }
  const id = context.newId();
  const now = context.now();
  store.run(
    `INSERT INTO documents (id, dataset_id, position, batch, name, file_id, rule_id, doc_form,
       doc_language, created_from, created_at, updated_at, indexing_status, queued_at,
       enabled, archived, metadata)
     SELECT ?, ?2, ifnull(max(position), 0) + 1, ?, ?, ?, ?, ?, ?, 'api', ?, ?, 'waiting', ?,
       1, 0, '{}' FROM documents WHERE dataset_id = ?2`,
    id,
    dataset.id,
    batch,
    name,
    content.file_id,
    rule_id,
    doc_form,
    processing.doc_language ?? "English",
    now,
    now,
    now,
  );
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
    store.run(
      "UPDATE datasets SET indexing_technique = ?, retrieval_model = ifnull(?, retrieval_model) WHERE id = ?",
      indexing_technique ?? null,
      retrieval_model === undefined ? null : JSON.stringify(retrieval_model),
      dataset.id,
    );
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
  store.run(
    `UPDATE documents SET name = ifnull(?, name), file_id = ifnull(?, file_id), rule_id = ?,
       doc_form = ?, created_from = ?, batch = ifnull(?, batch), indexing_status = 'waiting',
       queued_at = ?, updated_at = ?, completed_at = NULL, stopped_at = NULL WHERE id = ?`,
    change.content?.name ?? change.name ?? null,
    change.content?.file_id ?? null,
    change.rule_id,
    change.doc_form,
    change.created_from,
    change.batch ?? null,
    now,
    now,
    id,
  );
}

/** Fourteen digits of time and six random ones. */
function newBatch(context: KnowledgeContext): string {
  const time = new Date(context.now()).toISOString().replace(/\D/g, "").slice(0, 14);
  return time + String(100_000 + Math.floor(context.random() * 900_000));
}
