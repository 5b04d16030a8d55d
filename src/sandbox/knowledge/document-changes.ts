import { displayStatusOf } from "./document-responses.ts";
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
import { automaticRule, parseProcessRule } from "./process-rules.ts";
import { invalidParam, notFound } from "../http/errors.ts";

/** What both ways of creation and change may say about the processing. */
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
 * Makes a document of what `stored` gives, or replaces the enabled one of the same name, and gives its
 * id. `otherwise` is the rule where neither the request nor the knowledge base has one.
 */
export function createDocument(
  room: KnowledgeContext,
  dataset: DatasetRow,
  stored: () => FileContent,
  processing: ProcessingOptions,
  otherwise: typeof automaticRule | undefined,
): string {
  const { store } = room;
  const doc_form = checkedForm(dataset, processing);
  settleDataset(room, dataset, processing, doc_form);
  const rule_id = ruleFor(room, dataset, processing.process_rule, otherwise);
  const content = stored();
  const { original_document_id: original } = processing;
  if (original) {
    getDocumentRow(room, { dataset_id: dataset.id, document_id: original }, () =>
      notFound("Document not found"),
    );
    requeue(room, original, { content, rule_id, doc_form, created_from: "web" });
    return original;
  }
  const batch = newBatch(room);
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
    requeue(room, same.id, { content, rule_id, doc_form, created_from: "api", batch });
    return same.id;
  }
  const id = room.newId();
  const now = room.now();
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

/** Changes a document that is available; gives what its answer needs. */
export function updateDocument(
  room: KnowledgeContext,
  input: ProcessingOptions & {
    readonly dataset_id: string;
    readonly document_id: string;
    readonly name?: string | undefined;
  },
  content: (() => FileContent) | undefined,
): [dataset: DatasetRow, id: string] {
  const dataset = getDataset(room, input.dataset_id);
  if (!content && !input.process_rule) {
    throw invalidParam("Data source or Process rule is required");
  }
  const doc_form = checkedForm(dataset, input);
  const document = getDocumentRow(room, input, () => notFound("Document not found"));
  if (displayStatusOf(room, document) !== "available") {
    throw invalidParam("Document is not available");
  }
  const rule_id = ruleFor(room, dataset, input.process_rule, automaticRule);
  requeue(room, document.id, {
    content: content?.(),
    name: input.name,
    rule_id,
    doc_form,
    created_from: "web",
  });
  return [dataset, document.id];
}

/** The form of a knowledge base's documents is one for all (server §9). */
function checkedForm(dataset: DatasetRow, { doc_form = "text_model" }: ProcessingOptions): string {
  if (dataset.doc_form !== null && dataset.doc_form !== doc_form) {
    throw invalidParam("doc_form is different from the dataset doc_form.");
  }
  return doc_form;
}

/** The first document decides what its knowledge base had left open. */
function settleDataset(
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
  store.run("UPDATE datasets SET doc_form = ? WHERE id = ?", doc_form, dataset.id);
}

/** Stores the rule that was sent, or takes the knowledge base's newest; gives its id. */
function ruleFor(
  room: KnowledgeContext,
  dataset: DatasetRow,
  sent: unknown,
  otherwise: typeof automaticRule | undefined,
): string {
  const latest = latestRule(room, dataset.id);
  if (!sent && latest) return latest.id;
  const rule = sent ? parseProcessRule(sent) : otherwise;
  if (!rule) throw invalidParam("process_rule is required.");
  const id = room.newId();
  room.store.run(
    "INSERT INTO process_rules (id, dataset_id, rule) VALUES (?, ?, ?)",
    id,
    dataset.id,
    JSON.stringify(rule),
  );
  return id;
}

/** Sends a document through the indexing again; its counts stay until that is done. */
function requeue(
  room: KnowledgeContext,
  id: string,
  change: {
    readonly content: FileContent | undefined;
    readonly name?: string | undefined;
    readonly rule_id: string;
    readonly doc_form: string;
    readonly created_from: string;
    /** Only a create has a new one (server §9). */
    readonly batch?: string;
  },
): void {
  const { store } = room;
  const now = room.now();
  deleteSegments(room, "document_id", id);
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

/** Fourteen digits of time and six of chance. */
function newBatch(room: KnowledgeContext): string {
  const time = new Date(room.now()).toISOString().replace(/\D/g, "").slice(0, 14);
  return time + String(100_000 + Math.floor(room.random() * 900_000));
}
