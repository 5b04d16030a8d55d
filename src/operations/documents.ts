import { doc_metadata, documentFields } from "./document-uploads.ts";
import {
  body,
  fileContent as bytes,
  list as rows,
  withNamePath,
  kbOperation,
  page,
  path,
  query,
  withFields,
  withValues,
  record,
  success,
} from "./operation.ts";
import { dataset_id, deletes, document_id, required } from "./shared.ts";

export {
  createDocumentByFile,
  createDocumentByText,
  replaceDocument,
  updateDocumentByFile,
  updateDocumentByText,
} from "./document-uploads.ts";
export type { Document, DocumentInBatch } from "./document-uploads.ts";

const displayStatuses = [
  "queuing",
  "indexing",
  "paused",
  "error",
  "available",
  "disabled",
  "archived",
] as const;

/** Chunking rules as stored by the server (server §6.2). */
export interface StoredProcessRule {
  readonly mode: "automatic" | "custom" | "hierarchical";
  readonly rules: {
    readonly parent_mode?: "full-doc" | "paragraph" | null;
    readonly subchunk_segmentation?: object | null;
  } | null;
}

export const listDocuments = kbOperation({
  id: "listDocuments",
  action: "list documents in knowledge base {kb}",
  route: "GET /datasets/{dataset_id}/documents",
  params: {
    dataset_id,
    keyword: query.text("Only names that contain this text; % and _ are wildcards", {
      meant: ["--filter", "--grep"],
    }),
    status: query.choice(displayStatuses, "Only documents with this display status"),
  },
  returns: withFields(
    documentFields,
    withValues(
      "doc_metadata",
      page(
        "name status=display_status error:sparse words=word_count:count hits=hit_count:count",
        "created=created_at:time id:id ... indexing_status doc_form tokens:count",
        "size=data_source_detail_dict.upload_file.size:bytes data_source_type created_from",
        "position:count",
      ),
    ),
  ),
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
    record<{
      readonly document_process_rule?: Partial<StoredProcessRule>;
      /** The newest rule of the knowledge base. */
      readonly dataset_process_rule?: Partial<StoredProcessRule>;
    }>(
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
    "kb doc delete Handbook --where 'words = 0' --yes",
  ],
});

const document_ids = body.ref("document", "Document name or ID", {
  many: true,
  placeholder: "doc",
  required,
  mustExist: true,
});

/** A command that changes the status of documents; `action` is the word of the API. */
const statusChange = (verb: string, action: string, summary: string, examples: readonly string[]) =>
  kbOperation({
    id: "batchUpdateDocumentStatus",
    command: `kb doc ${verb} <kb> <doc...>`,
    action: `${verb} document {doc} in knowledge base {kb}`,
    summary,
    route: "PATCH /datasets/{dataset_id}/documents/status/{action}",
    params: { dataset_id, document_ids },
    returns: success,
    fixed: { action },
    examples,
  });

export const enableDocuments = statusChange(
  "enable",
  "enable",
  "Make disabled documents searchable again",
  [
    "kb doc enable Handbook welcome.md",
    "kb doc enable Handbook $(kb doc list Handbook --status disabled --all -o name)",
  ],
);

export const disableDocuments = statusChange(
  "disable",
  "disable",
  "Hide indexed documents from search",
  [
    "kb doc disable Handbook welcome.md",
    "kb doc disable Handbook $(kb doc list Handbook --keyword leave -o name)",
  ],
);

export const archiveDocuments = statusChange(
  "archive",
  "archive",
  "Hide documents from search and protect them from changes",
  ["kb doc archive Handbook welcome.md", "kb doc archive Handbook welcome.md leave.md"],
);

export const unarchiveDocuments = statusChange(
  "unarchive",
  "un_archive",
  "Restore archived documents",
  ["kb doc unarchive Handbook welcome.md", "kb doc unarchive Handbook welcome.md leave.md"],
);

export const getIndexingStatus = kbOperation({
  id: "getDocumentIndexingStatus",
  command: "kb doc status <kb> <batch>",
  action: "get indexing status of batch {batch}",
  meant: ["indexing-status"],
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
