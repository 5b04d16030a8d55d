import type { Checked } from "./operation.ts";
import {
  body,
  data,
  fileContent as bytes,
  form,
  list as rows,
  withNamePath,
  kbOperation,
  page,
  path,
  query,
  withFields,
  record,
  success,
  within,
} from "./operation.ts";
import {
  content_type,
  dataset_id,
  deletes,
  docForms,
  document_id,
  inData,
  namedFileParam,
  process_rule,
  required,
  retrieval_model,
  indexingTechniques,
} from "./shared.ts";
import { commandLine } from "../lib/command-line.ts";

const displayStatuses = [
  "queuing",
  "indexing",
  "paused",
  "error",
  "available",
  "disabled",
  "archived",
] as const;

/** Values of metadata fields; all built-in fields have the ID `built-in` (server §6.3). */
const doc_metadata = [{ id: "text", name: "text", "value?": "scalar" }] as const;

const documentFields = {
  id: "id",
  name: "text",
  "position?": "number",
  "created_at?": "time",
  "indexing_status?": "id",
  "display_status?": "text",
  "error?": "text",
  "enabled?": "flag",
  "archived?": "flag",
  "dataset_process_rule_id?": "text",
  "data_source_info?": { "upload_file_id?": "text" },
  // The stored file; its size is in characters for documents created from text.
  "data_source_detail_dict?": { "upload_file?": { extension: "text", size: "number" } },
  "word_count?": "number",
  // Null on some servers if the document has no values (server §9.5).
  "doc_metadata?": doc_metadata,
} as const;

/** A document in lists, creates and updates; times are in Unix seconds (server §9.5). */
export type Document = Checked<typeof documentFields>;

/** Chunking rules as stored by the server (server §6.2). */
export interface StoredProcessRule {
  readonly mode: "automatic" | "custom" | "hierarchical";
  readonly rules: {
    readonly parent_mode?: "full-doc" | "paragraph" | null;
    readonly subchunk_segmentation?: object | null;
  } | null;
}

/** Response of a create or update. An update has the batch of the last create (server §9.4). */
export interface DocumentInBatch {
  readonly document: Document;
}

const inBatch = withFields(
  { document: { id: "id", name: "text" } },
  withNamePath(
    "document.id",
    record<DocumentInBatch>(
      ...within("document", "name status=display_status"),
      "batch",
      ...within("document", "id:id"),
      "...",
      ...within(
        "document",
        "doc_form size=data_source_detail_dict.upload_file.size:bytes created=created_at:time",
      ),
    ),
  ),
);

const doc_language = body.text("Language of the text", { serverDefault: "English" });

/** How a new document is indexed. */
const indexing = {
  doc_language,
  process_rule,
  retrieval_model,
  embedding_model: body.model("Embedding model, if none is set yet"),
  embedding_model_provider: body.text("Provider of a model given without one"),
} as const;
const original_document_id = body.ref("document", "Name or ID of a document to update instead");

/** How a changed document is indexed. */
const reindexing = {
  process_rule,
  doc_form: body.choice(docForms, "Chunk structure", { serverDefault: "text_model" }),
  doc_language,
  retrieval_model,
} as const;

export const listDocuments = kbOperation({
  id: "listDocuments",
  command: "kb doc list <kb>",
  action: "list documents in knowledge base {kb}",
  summary: "List the documents of a knowledge base, newest first",
  route: "GET /datasets/{dataset_id}/documents",
  params: {
    dataset_id,
    keyword: query.text("Only names that contain this text; % and _ are wildcards"),
    status: query.choice(displayStatuses, "Only documents with this display status"),
  },
  returns: withFields(
    documentFields,
    page(
      "name status=display_status error:sparse words=word_count:count hits=hit_count:count",
      "created=created_at:time id:id ... indexing_status doc_form tokens:count",
      "size=data_source_detail_dict.upload_file.size:bytes data_source_type created_from",
      "position",
    ),
  ),
  examples: [
    "kb doc list Handbook",
    "kb doc list Handbook --status error --all",
    "kb doc list Handbook --keyword leave -o name",
  ],
});

export const getDocument = kbOperation({
  id: "getDocumentDetail",
  command: "kb doc show <kb> <doc>",
  action: "get document {kb}/{doc}",
  summary: "Show a document",
  route: "GET /datasets/{dataset_id}/documents/{document_id}",
  params: {
    dataset_id,
    document_id,
    metadata: query.choice(["all", "only", "without"], "Metadata to include", {
      serverDefault: "all",
    }),
  },
  returns: withFields(
    {
      id: "id",
      "name?": "text",
      "indexing_status?": "id",
      "display_status?": "text",
      "error?": "text",
      "enabled?": "flag",
      "archived?": "flag",
      "completed_at?": "time",
      "created_from?": "text",
      "doc_form?": "text",
      "doc_language?": "text",
      "segment_count?": "number",
      "data_source_type?": "text",
      "data_source_info?": {
        "upload_file?": { size: "number", "extension?": "text", "mime_type?": "text" },
      },
      "document_process_rule?": { "mode?": "text" },
      "doc_metadata?": doc_metadata,
    },
    // With the metadata "only", there is nothing else but the ID.
    record<{ readonly document_process_rule?: Partial<StoredProcessRule> }>(
      "name status=display_status error:sparse doc_form doc_language chunks=segment_count:count",
      "average_segment_length:count tokens:count hits=hit_count:count doc_metadata",
      "created=created_at:time updated=updated_at:time completed=completed_at:time id:id",
      "... indexing_status enabled archived position created_from data_source_type",
      "data_source_info document_process_rule indexing_latency:seconds",
    ),
  ),
  examples: [
    "kb doc show Handbook welcome.md",
    "kb doc show Handbook welcome.md --metadata only -o json",
  ],
});

export const createDocumentByText = kbOperation({
  id: "createDocumentFromText",
  command: "kb doc add <kb> <name>",
  action: "upload document {name} to knowledge base {kb}",
  summary: "Add a document from text, or replace the enabled one with that name",
  route: "POST /datasets/{dataset_id}/document/create-by-text",
  params: {
    dataset_id,
    // The server truncates a longer name, so the document could not be found by it.
    name: body.text("Name", { required, length: [1, 200] }),
    text: body.text("Content", { required, orFile: true }),
    indexing_technique: body.choice(indexingTechniques, "Indexing technique"),
    doc_form: body.choice(docForms, "Chunk structure", { serverDefault: "text_model" }),
    ...indexing,
    original_document_id,
  },
  returns: inBatch,
  retry: "upsert",
  examples: [
    "kb doc add Handbook welcome.md --text-file welcome.md",
    "kb doc add Handbook welcome.md --text Welcome! --indexing-technique economy",
    "date | kb doc add Handbook today.md --text-file -",
  ],
});

export const createDocumentByFile = kbOperation({
  id: "createDocumentFromFile",
  command: "kb doc upload <kb> <file...>",
  action: "upload document {file} to knowledge base {kb}",
  summary: "Add documents from files, or replace the enabled ones with their names",
  about:
    "A document has the base name of its file, so two files of one name cannot be uploaded together.\nA directory is synced by `kb sync`.",
  route: "POST /datasets/{dataset_id}/document/create-by-file",
  params: {
    dataset_id,
    file: namedFileParam,
    content_type,
    indexing_technique: data.choice(indexingTechniques, "Indexing technique", {
      serverDefault: "the knowledge base's",
    }),
    doc_form: data.choice(docForms, "Chunk structure", {
      serverDefault: "the knowledge base's, or text_model",
    }),
    ...inData(indexing),
    duplicate: data.flag("Replace a document with the same name", { serverDefault: "true" }),
    ...inData({ original_document_id }),
  },
  returns: inBatch,
  retry: "upsert",
  examples: [
    "kb doc upload Handbook welcome.md",
    "kb doc upload Handbook welcome.md leave.md",
    `kb doc upload Handbook welcome.md --process-rule '{"mode":"automatic"}'`,
    "kb doc upload Handbook --each files.csv --errors-to failed.csv",
  ],
});

export const updateDocumentByText = kbOperation({
  id: "updateDocumentByText",
  command: "kb doc update <kb> <doc>",
  action: "update document {kb}/{doc}",
  summary: "Update the text or chunking of a document and reindex it",
  route: "POST /datasets/{dataset_id}/documents/{document_id}/update-by-text",
  params: {
    dataset_id,
    document_id,
    name: body.text("New name, with new content", { length: [1, 255] }),
    text: body.text("New content", { orFile: true }),
    ...reindexing,
  },
  // A name alone is rejected (server §9.4).
  anyOf: ["text", "process_rule"],
  alone: { name: "kb doc rename" },
  knownErrors: [
    {
      message: "Document is not available",
      kind: "refused",
      hint: `only enabled, indexed documents can be changed: run ${commandLine("kb doc show", ["{dataset_id}", "{document_id}"])}`,
    },
  ],
  returns: inBatch,
  examples: [
    "kb doc update Handbook welcome.md --text-file welcome.md",
    "kb doc update Handbook leave.md --name holidays.md --text 'Thirty days a year.'",
  ],
});

const replacement = {
  dataset_id,
  document_id,
  file: form.file("New file, - for stdin", { length: [1, 200] }),
  content_type,
  ...inData(reindexing),
} as const;

export const replaceDocument = kbOperation({
  id: "updateDocument",
  action: "replace document {kb}/{doc}",
  route: "PATCH /datasets/{dataset_id}/documents/{document_id}",
  params: replacement,
  returns: inBatch,
  // A retry is rejected during indexing, and indexes again afterwards.
  retry: "never",
  since: "1.14.0",
});

export const updateDocumentByFile = kbOperation({
  id: "updateDocumentByFile",
  action: "replace document {kb}/{doc}",
  route: "POST /datasets/{dataset_id}/documents/{document_id}/update-by-file",
  params: replacement,
  returns: inBatch,
});

export const deleteDocument = kbOperation({
  id: "deleteDocument",
  command: "kb doc delete <kb> <doc...>",
  action: "delete document {doc} from knowledge base {kb}",
  summary: "Delete documents and their chunks",
  route: "DELETE /datasets/{dataset_id}/documents/{document_id}",
  params: { dataset_id, document_id },
  ...deletes,
  examples: [
    "kb doc delete Handbook welcome.md --yes",
    "kb doc delete Handbook welcome.md leave.md --yes --if-exists",
  ],
});

const document_ids = body.ref("document", "Document name or ID", {
  many: true,
  placeholder: "doc",
  required,
  mustExist: true,
});

const statusChange = {
  id: "batchUpdateDocumentStatus",
  route: "PATCH /datasets/{dataset_id}/documents/status/{action}",
  params: { dataset_id, document_ids },
  returns: success,
} as const;

export const enableDocuments = kbOperation({
  ...statusChange,
  command: "kb doc enable <kb> <doc...>",
  action: "enable document {doc} in knowledge base {kb}",
  summary: "Make disabled documents searchable again",
  fixed: { action: "enable" },
  examples: [
    "kb doc enable Handbook welcome.md",
    "kb doc enable Handbook $(kb doc list Handbook --status disabled --all -o name)",
  ],
});

export const disableDocuments = kbOperation({
  ...statusChange,
  command: "kb doc disable <kb> <doc...>",
  action: "disable document {doc} in knowledge base {kb}",
  summary: "Hide indexed documents from search",
  fixed: { action: "disable" },
  examples: [
    "kb doc disable Handbook welcome.md",
    "kb doc disable Handbook $(kb doc list Handbook --keyword leave -o name)",
  ],
});

export const archiveDocuments = kbOperation({
  ...statusChange,
  command: "kb doc archive <kb> <doc...>",
  action: "archive document {doc} in knowledge base {kb}",
  summary: "Hide documents from search and protect them from changes",
  fixed: { action: "archive" },
  examples: ["kb doc archive Handbook welcome.md", "kb doc archive Handbook welcome.md leave.md"],
});

export const unarchiveDocuments = kbOperation({
  ...statusChange,
  command: "kb doc unarchive <kb> <doc...>",
  action: "unarchive document {doc} in knowledge base {kb}",
  summary: "Restore archived documents",
  fixed: { action: "un_archive" },
  examples: [
    "kb doc unarchive Handbook welcome.md",
    "kb doc unarchive Handbook welcome.md leave.md",
  ],
});

export const getIndexingStatus = kbOperation({
  id: "getDocumentIndexingStatus",
  command: "kb doc status <kb> <batch>",
  action: "get indexing status of batch {batch}",
  summary: "Show the indexing status of a batch of documents",
  route: "GET /datasets/{dataset_id}/documents/{batch}/indexing-status",
  params: {
    dataset_id,
    batch: path.text("Batch ID from the response of an upload or update"),
  },
  returns: withFields(
    {
      id: "id",
      indexing_status: "id",
      "error?": "text",
      completed_segments: "number",
      total_segments: "number",
    },
    rows(
      "data",
      "status=indexing_status completed_segments:count total_segments:count error",
      "completed=completed_at:time id:id",
      "... started=processing_started_at:time parsed=parsing_completed_at:time",
      "cleaned=cleaning_completed_at:time split=splitting_completed_at:time",
      "paused=paused_at:time stopped=stopped_at:time",
    ),
  ),
  examples: [
    "kb doc status Handbook $BATCH",
    "kb doc status Handbook $BATCH --jq '.[].indexing_status'",
  ],
});

export const getDownloadLink = kbOperation({
  id: "downloadDocument",
  command: "kb doc link <kb> <doc>",
  action: "get download link of document {kb}/{doc}",
  summary: "Show a signed download URL for the file of a document",
  about: "The URL truncates text documents with non-ASCII characters; `kb doc download` does not.",
  route: "GET /datasets/{dataset_id}/documents/{document_id}/download",
  params: { dataset_id, document_id },
  returns: withNamePath("url", record<{}>("url")),
  since: "1.13.1",
  examples: ["kb doc link Handbook welcome.md", "kb doc link Handbook welcome.md --jq .url"],
});

export const downloadDocumentsZip = kbOperation({
  id: "downloadDocumentsZip",
  action: "download documents {doc} from knowledge base {kb}",
  route: "POST /datasets/{dataset_id}/documents/download-zip",
  params: {
    dataset_id,
    document_ids: body.ref("document", "Document name or ID", {
      many: true,
      placeholder: "doc",
      length: [1, 100],
      required,
    }),
  },
  returns: bytes,
  retry: "safe",
  since: "1.13.1",
});
