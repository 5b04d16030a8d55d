import * as operations from "../../operations/documents.ts";
import { createDocument, type ProcessingOptions, updateDocument } from "./document-changes.ts";
import {
  type DetailPart,
  DISPLAY_STATUS,
  documentResponse,
  documentDetail,
  indexingResponse,
} from "./document-responses.ts";
import { bindHandlers, type Call, type Handlers, HttpError, type Reply } from "../http/handler.ts";
import {
  getDataset,
  type DatasetRow,
  type DocumentRow,
  findDocument,
  getDocumentRow,
  type KnowledgeContext,
  deleteDocumentRow,
} from "../storage/knowledge-store.ts";
import { pageFields, parsePage } from "../http/pages.ts";
import { automaticRule } from "./process-rules.ts";
import {
  internalServerError,
  invalidParam,
  noFileUploaded,
  notFound,
  notFoundAt,
} from "../http/errors.ts";
import { atLeast } from "../http/router.ts";
import { validationError } from "../http/pydantic.ts";
import { addText, addUpload, downloadUrl, getFile, onlyFile } from "./knowledge-files.ts";
import { uniqueNames, createZip } from "./zip.ts";

/** Documents: lists, creation, changes, status and downloads. */
const handlers: Handlers<typeof operations, KnowledgeContext> = {
  listDocuments(context, { dataset_id, keyword, status }, call) {
    const dataset = getDataset(context, dataset_id);
    const page = parsePage(call, "DocumentListQuery");
    const displayed = DISPLAY_STATUSES.get(status ?? "") ?? null;
    // `%` and `_` in the keyword are wildcards on the server, too (server §5).
    const from = `documents WHERE dataset_id = ?1 AND (?2 IS NULL OR name LIKE '%' || ?2 || '%')
      AND (?3 IS NULL OR ${DISPLAY_STATUS} = ?3)`;
    const values = [dataset_id, keyword ?? null, displayed];
    const order = "created_at / 1000 DESC, position DESC";
    const { rows, total } = context.store.page<DocumentRow>(from, order, values, page);
    const data = rows.map((document) =>
      documentResponse(context, dataset, document, call.plainMetadata),
    );
    return { json: { data, ...pageFields(page, rows.length, total) } };
  },

  getDocument(context, input, call) {
    const document = getDocumentRow(context, input);
    const part = call.query.get("metadata") ?? "all";
    if (!isPart(part)) {
      throw new HttpError(400, "invalid_metadata", `Invalid metadata value: ${part}`);
    }
    return { json: documentDetail(context, getDataset(context, input.dataset_id), document, part) };
  },

  createDocumentByText(context, input, call) {
    const dataset = getDataset(context, input.dataset_id);
    if (input.indexing_technique === undefined) throw missingTechnique(dataset, call);
    const content = () => addText(context, input.name, input.text);
    return batchResponse(
      context,
      call,
      dataset,
      createDocument(context, dataset, content, input, automaticRule),
    );
  },

  createDocumentByFile(context, input, call) {
    const dataset = getDataset(context, input.dataset_id);
    const file = onlyFile(call.files);
    if (!file) throw noFileUploaded();
    // On this route, the error of a rejected file has no text (server §3).
    const content = () => addUpload(context, file, () => invalidParam(""));
    const doc_form = input.doc_form ?? dataset.doc_form ?? "text_model";
    return batchResponse(
      context,
      call,
      dataset,
      createDocument(context, dataset, content, { ...input, doc_form }, undefined),
    );
  },

  updateDocumentByText(context, input, call) {
    if (input.text && input.name === undefined) {
      throw validationError("DocumentTextUpdate", {
        field: "",
        reason: "Value error, name is required when text is provided",
        type: "value_error",
        value: call.body,
      });
    }
    const { name = "" } = input;
    const content = input.text ? () => addText(context, name, input.text ?? "") : undefined;
    return batchResponse(context, call, ...updateDocument(context, input, content));
  },

  replaceDocument: (context, input, call) =>
    batchResponse(context, call, ...updatedByFile(context, input, call)),
  updateDocumentByFile: (context, input, call) =>
    batchResponse(context, call, ...updatedByFile(context, input, call)),

  deleteDocument(context, input) {
    const document = getDocumentRow(context, input, () => notFound("Document Not Exists."));
    if (document.archived === 1) {
      const text = "The archived document is not editable.";
      throw new HttpError(403, "archived_document_immutable", text);
    }
    deleteDocumentRow(context, document);
    return { status: 204 };
  },

  enableDocuments(context, { dataset_id, document_ids = [] }, call) {
    const action = call.path["action"] ?? "";
    const change = STATUS_CHANGES[action];
    if (!change) {
      const words = Object.keys(STATUS_CHANGES).map((word) => `'${word}'`);
      const text = `Invalid action: ${action}. Must be one of [${words.join(", ")}]`;
      throw new HttpError(400, "invalid_action", text);
    }
    for (const id of document_ids) {
      const document = findDocument(context, dataset_id, id);
      if (!document) continue;
      if (document.indexing_status !== "completed" && action === "disable") {
        const text = `Document: ${document.name} is not completed.`;
        throw new HttpError(400, "invalid_action", text);
      }
      context.store.run(
        `UPDATE documents SET ${change}, updated_at = ?1 WHERE id = ?2`,
        context.now(),
        id,
      );
    }
    return { json: { result: "success" } };
  },

  getIndexingStatus(context, { dataset_id, batch }) {
    const documents = context.store.all<DocumentRow>(
      "SELECT * FROM documents WHERE batch = ? AND dataset_id = ? ORDER BY key",
      batch,
      dataset_id,
    );
    if (documents.length === 0) throw notFound("Documents not found.");
    return { json: { data: documents.map((document) => indexingResponse(context, document)) } };
  },

  getDownloadLink(context, input, call) {
    const document = getDocumentRow(context, input);
    return { json: { url: downloadUrl(context, document.file_id, call.origin) } };
  },

  downloadDocumentsZip(context, { dataset_id, document_ids }) {
    const path = `/v1/datasets/${dataset_id}/documents/download-zip`;
    const missing = () =>
      notFoundAt("Document not found.", path, [
        "/v1/datasets/<uuid:dataset_id>/documents/download-zip",
      ]);
    const documents = document_ids.map((document_id) =>
      getDocumentRow(context, { dataset_id, document_id }, missing),
    );
    const names = uniqueNames(documents.map(({ name }) => name));
    const now = new Date(context.now());
    const bytes = createZip(
      documents.map(({ file_id }, index) => ({
        name: names[index] ?? "",
        bytes: getFile(context, file_id)?.bytes ?? new Uint8Array(),
      })),
      now,
    );
    const zip = `${context.newId().replaceAll("-", "")}.zip`;
    return {
      bytes,
      headers: {
        "Content-Disposition": `attachment; filename=${zip}`,
        "Content-Type": "application/zip",
        "Content-Length": String(bytes.byteLength),
        "Last-Modified": now.toUTCString(),
        "Cache-Control": "no-cache",
      },
    };
  },
};

export const documentHandlers = bindHandlers(operations, handlers);

/** Response of a create or update: the document and its batch. */
function batchResponse(
  context: KnowledgeContext,
  { plainMetadata }: Call,
  { id: dataset_id }: DatasetRow,
  document_id: string,
): Reply {
  const document = getDocumentRow(context, { dataset_id, document_id });
  const dataset = getDataset(context, dataset_id); // the first document changes it
  const response = documentResponse(context, dataset, document, plainMetadata);
  return { json: { document: response, batch: document.batch } };
}

/** Display status by filter of the list; other filters match everything (server §7). */
const DISPLAY_STATUSES = new Map([
  ...["queuing", "indexing", "paused", "error", "available", "disabled", "archived"].map(
    (word) => [word, word] as const,
  ),
  ["active", "available"],
  ["enabled", "available"],
]);

/** Changes of each action; ?1 is the time. */
const STATUS_CHANGES: Readonly<Record<string, string>> = {
  enable: "enabled = 1, disabled_at = NULL",
  disable: "disabled_at = iif(enabled, ?1, disabled_at), enabled = 0",
  archive: "archived = 1",
  un_archive: "archived = 0",
};

const isPart = (text: string): text is DetailPart => ["all", "only", "without"].includes(text);

/** The error depends on the version and on the settings of the knowledge base. */
function missingTechnique(dataset: DatasetRow, call: Call): HttpError {
  if (!atLeast(call.version, "1.14.1")) return internalServerError();
  if (dataset.indexing_technique === null) return invalidParam("indexing_technique is required.");
  return validationError("KnowledgeConfig", {
    field: "indexing_technique",
    type: "missing",
    value: call.body,
  });
}

function updatedByFile(
  context: KnowledgeContext,
  input: ProcessingOptions & { readonly dataset_id: string; readonly document_id: string },
  call: Call,
): [dataset: DatasetRow, id: string] {
  const file = onlyFile(call.files);
  const rejected = (reason: "size" | "kind") =>
    reason === "size"
      ? new HttpError(413, "file_too_large", "")
      : new HttpError(415, "unsupported_file_type", "File type not allowed.");
  return updateDocument(context, input, file && (() => addUpload(context, file, rejected)));
}
