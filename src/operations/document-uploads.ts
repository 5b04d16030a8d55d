import type { Checked } from "./operation.ts";
import { body, data, form, kbOperation, withFields, record, within } from "./operation.ts";
import {
  content_type,
  dataset_id,
  docForms,
  document_id,
  encodingParam,
  inData,
  namedFileParam,
  process_rule,
  required,
  retrieval_model,
  indexingTechniques,
} from "./shared.ts";
import { commandLine } from "../lib/command-line.ts";

/** Values of metadata fields; all built-in fields have the ID `built-in` (server §6.3). */
export const doc_metadata = [{ id: "text", name: "text", "value?": "scalar" }] as const;

/** Fields of a document in lists, creates and updates. */
export const documentFields = {
  id: "id",
  name: "text",
  "position?": "number",
  "created_at?": "time",
  "indexing_status?": "id",
  "display_status?": "text",
  "error?": "text",
  "enabled?": "flag",
  "archived?": "flag",
  "doc_form?": "text",
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

/** Response of a create or update. An update has the batch of the last create (server §9.4). */
export interface DocumentInBatch {
  readonly document: Document;
}

const inBatch = withFields(
  { document: { id: "id", name: "text" } },
  record<DocumentInBatch>(
    ...within("document", "name status=display_status"),
    "batch",
    ...within(
      "document",
      "id:id ... doc_form",
      "size=data_source_detail_dict.upload_file.size:bytes created=created_at:time",
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
    encoding: encodingParam,
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
  meant: ["add", "upload"],
  summary: "Add documents from files, or replace enabled ones with their names",
  knownErrors: [
    {
      message: "the file was rejected",
      hint: "every server takes md, txt, html, csv, pdf, docx and xlsx files, up to a size of its own",
    },
  ],
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
    encoding: encodingParam,
    ...reindexing,
  },
  // A name alone is rejected (server §9.4).
  anyOf: ["text", "process_rule"],
  alone: { name: "kb doc rename" },
  knownErrors: [
    {
      message: "Document is not available",
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
