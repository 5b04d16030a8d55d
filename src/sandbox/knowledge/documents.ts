import {
  createDocumentByFile,
  createDocumentByText,
  getDownloadLink,
  downloadDocumentsZip,
  enableDocuments,
  getIndexingStatus,
  listDocuments,
  deleteDocument,
  replaceDocument,
  getDocument,
  updateDocumentByFile,
  updateDocumentByText,
} from "../../operations/documents.ts";
import { createDocument, type ProcessingOptions, updateDocument } from "./document-changes.ts";
import {
  type DetailPart,
  displayStatus,
  documentResponse,
  documentDetail,
  indexingResponse,
} from "./document-responses.ts";
import {
  type Call,
  type Handler,
  on,
  HttpError,
  type Reply,
  type ReceivedFile,
} from "../http/handler.ts";
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
import { invalidParam, notFound, notFoundAt, internalServerError } from "../http/errors.ts";
import { atLeast } from "../http/router.ts";
import { validationError } from "../http/validation.ts";
import { addText, addUpload, getFile, downloadUrl } from "./knowledge-files.ts";
import { uniqueNames, createZip } from "./zip.ts";

/** Documents: lists, creation by text and file, changes, state and download. */
export function documentHandlers(room: KnowledgeContext): readonly Handler[] {
  const { store } = room;

  const inBatch = ({ plainMetadata }: Call, dataset: DatasetRow, id: string): Reply => {
    const document = getDocumentRow(room, { dataset_id: dataset.id, document_id: id });
    const answer = documentResponse(room, getDataset(room, dataset.id), document, plainMetadata);
    return { json: { document: answer, batch: document.batch } };
  };

  return [
    on(listDocuments, ({ dataset_id, keyword, status }, call) => {
      const dataset = getDataset(room, dataset_id);
      const page = parsePage(call, "DocumentListQuery");
      const wanted = shownStatuses.get(status ?? "") ?? null;
      // `%` and `_` of the keyword work as wildcards on the server, too (server §5).
      const where = `dataset_id = ?1 AND (?2 IS NULL OR name LIKE '%' || ?2 || '%')
        AND (?3 IS NULL OR ${displayStatus} = ?3)`;
      const values = [dataset_id, keyword ?? null, wanted] as const;
      const rows = store.all<DocumentRow>(
        `SELECT * FROM documents WHERE ${where}
         ORDER BY created_at / 1000 DESC, position DESC LIMIT ?4 OFFSET ?5`,
        ...values,
        page.rows,
        page.offset,
      );
      const counted = store.get<{ readonly total: number }>(
        `SELECT count(*) AS total FROM documents WHERE ${where}`,
        ...values,
      );
      const data = rows.map((document) =>
        documentResponse(room, dataset, document, call.plainMetadata),
      );
      return { json: { data, ...pageFields(page, rows.length, counted?.total ?? 0) } };
    }),

    on(getDocument, (input, call) => {
      const document = getDocumentRow(room, input);
      const part = call.query.get("metadata") ?? "all";
      if (!isPart(part)) {
        throw new HttpError(400, "invalid_metadata", `Invalid metadata value: ${part}`);
      }
      return { json: documentDetail(room, getDataset(room, input.dataset_id), document, part) };
    }),

    on(createDocumentByText, (input, call) => {
      const dataset = getDataset(room, input.dataset_id);
      if (input.indexing_technique === undefined) throw techniqueMissing(dataset, call);
      const content = () => addText(room, input.name, input.text);
      return inBatch(call, dataset, createDocument(room, dataset, content, input, automaticRule));
    }),

    on(createDocumentByFile, (input, call) => {
      const dataset = getDataset(room, input.dataset_id);
      const file = onlyFile(call);
      if (!file) throw noFile();
      // On this route a refused file is told without a word (server §3).
      const content = () => addUpload(room, file, () => invalidParam(""));
      const doc_form = input.doc_form ?? dataset.doc_form ?? "text_model";
      return inBatch(
        call,
        dataset,
        createDocument(room, dataset, content, { ...input, doc_form }, undefined),
      );
    }),

    on(updateDocumentByText, (input, call) => {
      if (input.text && input.name === undefined) {
        throw validationError("DocumentTextUpdate", {
          field: "",
          reason: "Value error, name is required when text is provided",
          type: "value_error",
          value: call.body,
        });
      }
      const { name = "" } = input;
      const content = input.text ? () => addText(room, name, input.text ?? "") : undefined;
      return inBatch(call, ...updateDocument(room, input, content));
    }),

    on(replaceDocument, (input, call) => inBatch(call, ...updatedByFile(room, input, call))),
    on(updateDocumentByFile, (input, call) => inBatch(call, ...updatedByFile(room, input, call))),

    on(deleteDocument, (input) => {
      const document = getDocumentRow(room, input, () => notFound("Document Not Exists."));
      if (document.archived === 1) {
        const text = "The archived document is not editable.";
        throw new HttpError(403, "archived_document_immutable", text);
      }
      deleteDocumentRow(room, document);
      return { status: 204 };
    }),

    on(enableDocuments, ({ dataset_id, document_ids = [] }, call) => {
      const action = call.path["action"] ?? "";
      const change = statusChanges[action];
      if (!change) {
        const words = Object.keys(statusChanges).map((word) => `'${word}'`);
        const text = `Invalid action: ${action}. Must be one of [${words.join(", ")}]`;
        throw new HttpError(400, "invalid_action", text);
      }
      for (const id of document_ids) {
        const document = findDocument(room, dataset_id, id);
        if (!document) continue;
        if (document.indexing_status !== "completed" && action === "disable") {
          const text = `Document: ${document.name} is not completed.`;
          throw new HttpError(400, "invalid_action", text);
        }
        store.run(`UPDATE documents SET ${change}, updated_at = ?1 WHERE id = ?2`, room.now(), id);
      }
      return { json: { result: "success" } };
    }),

    on(getIndexingStatus, ({ dataset_id, batch }) => {
      const documents = store.all<DocumentRow>(
        "SELECT * FROM documents WHERE batch = ? AND dataset_id = ? ORDER BY key",
        batch,
        dataset_id,
      );
      if (documents.length === 0) throw notFound("Documents not found.");
      return { json: { data: documents.map((document) => indexingResponse(room, document)) } };
    }),

    on(getDownloadLink, (input, call) => {
      const document = getDocumentRow(room, input);
      return { json: { url: downloadUrl(room, document.file_id, call.origin) } };
    }),

    on(downloadDocumentsZip, ({ dataset_id, document_ids }) => {
      const path = `/v1/datasets/${dataset_id}/documents/download-zip`;
      const missing = () =>
        notFoundAt("Document not found.", path, [
          "/v1/datasets/<uuid:dataset_id>/documents/download-zip",
        ]);
      const documents = document_ids.map((document_id) =>
        getDocumentRow(room, { dataset_id, document_id }, missing),
      );
      const names = uniqueNames(documents.map(({ name }) => name));
      const now = new Date(room.now());
      const bytes = createZip(
        documents.map(({ file_id }, index) => ({
          name: names[index] ?? "",
          bytes: getFile(room, file_id)?.bytes ?? new Uint8Array(),
        })),
        now,
      );
      const zip = `${room.newId().replaceAll("-", "")}.zip`;
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
    }),
  ];
}

/** Words of the list's filter → what is shown; other words do not filter (server §7). */
const shownStatuses = new Map([
  ...["queuing", "indexing", "paused", "error", "available", "disabled", "archived"].map(
    (word) => [word, word] as const,
  ),
  ["active", "available"],
  ["enabled", "available"],
]);

/** What each action sets; ?1 is the time. */
const statusChanges: Readonly<Record<string, string>> = {
  enable: "enabled = 1, disabled_at = NULL",
  disable: "disabled_at = iif(enabled, ?1, disabled_at), enabled = 0",
  archive: "archived = 1",
  un_archive: "archived = 0",
};

const isPart = (text: string): text is DetailPart => ["all", "only", "without"].includes(text);

const noFile = () => new HttpError(400, "no_file_uploaded", "Please upload your file.");

/** The one file of a form; a part without a file name is none. */
function onlyFile({ files }: Call): ReceivedFile | undefined {
  if (files.size > 1) throw new HttpError(400, "too_many_files", "Only one file is allowed.");
  const file = files.get("file");
  return file?.name ? file : undefined;
}

/** The server has three ways to miss a technique: by its age, and by what the base has. */
function techniqueMissing(dataset: DatasetRow, call: Call): HttpError {
  if (!atLeast(call.version, "1.14.1")) return internalServerError();
  if (dataset.indexing_technique === null) return invalidParam("indexing_technique is required.");
  return validationError("KnowledgeConfig", {
    field: "indexing_technique",
    reason: "Field required",
    type: "missing",
    value: call.body,
  });
}

function updatedByFile(
  room: KnowledgeContext,
  input: ProcessingOptions & { readonly dataset_id: string; readonly document_id: string },
  call: Call,
): [dataset: DatasetRow, id: string] {
  const file = onlyFile(call);
  const refused = (reason: "size" | "kind") =>
    reason === "size"
      ? new HttpError(413, "file_too_large", "")
      : new HttpError(415, "unsupported_file_type", "File type not allowed.");
  return updateDocument(room, input, file && (() => addUpload(room, file, refused)));
}
