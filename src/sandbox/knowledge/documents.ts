import { zipSync } from "fflate";
import { own } from "../../lib/json.ts";
import type * as operations from "../../operations/documents.ts";
import {
  ConnectionDropped,
  internalServerError,
  noFileUploaded,
  type HttpError,
} from "../protocol/response.ts";
import { atLeast } from "../../lib/version.ts";
import type { Call, Reply } from "../protocol/handler.ts";
import { pageFields, parsePage, validationError, valueError } from "../protocol/validation.ts";
import { getDataset, requireDocument } from "./records/knowledge-store.ts";
import type {
  DatasetRow,
  DocumentRow,
  KnowledgeContext,
  KnowledgeHandlers,
} from "./records/knowledge-store.ts";
import {
  createDocument,
  updateDocument,
  DISPLAY_STATUS,
  documentDetail,
  documentResponse,
  indexingResponse,
} from "./document-changes.ts";
import type { ProcessingOptions, DetailPart } from "./document-changes.ts";
import {
  addText,
  addUpload,
  downloadUrl,
  onlyFile,
  rejectedFile,
} from "./records/knowledge-files.ts";
import { requireCredentials } from "./indexing/segments.ts";
import { automaticRule } from "../../splitting/rule.ts";
import { knowledgeError } from "./records/responses.ts";

/** ms for which a change of its status can lock a document (server §9.7). */
const LOCK_MS = 600_000;
/** Documents: lists, creation, changes, status and downloads. */
export const documentHandlers: KnowledgeHandlers<typeof operations> = {
  listDocuments(context, { dataset_id, keyword, status }, call) {
    const dataset = getDataset(context, dataset_id);
    const page = parsePage(call, "DocumentListQuery");
    const wanted = FILTERS.find((each) => each === status) ?? null;
    const displayed = wanted === "active" || wanted === "enabled" ? "available" : wanted;
    // `%` and `_` in the keyword are wildcards on the server, too (server §5).
    const where = `dataset_id = ?1 AND (?2 IS NULL OR name LIKE '%' || ?2 || '%')
      AND (?3 IS NULL OR ${DISPLAY_STATUS} = ?3)`;
    const values = [dataset_id, keyword ?? null, displayed];
    const order = "created_at / 1000 DESC, position DESC";
    const { rows, total } = context.documents.page(where, order, values, page);
    const data = rows.map((document) =>
      documentResponse(context, dataset, document, call.plainMetadata),
    );
    return { json: { data, ...pageFields(page, rows.length, total) } };
  },

  getDocument(context, input, call) {
    const document = requireDocument(context, input);
    const part = call.query.get("metadata") ?? "all";
    if (!isPart(part)) throw knowledgeError("document part invalid", { part });
    return { json: documentDetail(context, getDataset(context, input.dataset_id), document, part) };
  },

  createDocumentByText(context, input, call) {
    const dataset = getDataset(context, input.dataset_id);
    if (input.indexing_technique === undefined) throw missingTechnique(dataset, call);
    const storeContent = () => addText(context, input.name, input.text);
    const id = createDocument(context, input, storeContent, automaticRule);
    return batchResponse(context, call, input, id);
  },

  createDocumentByFile(context, input, call) {
    const dataset = getDataset(context, input.dataset_id);
    const file = onlyFile(call.files);
    if (!file) throw noFileUploaded();
    const storeContent = () => addUpload(context, file, (reason) => rejectedFile(reason, call));
    const doc_form = input.doc_form ?? dataset.doc_form ?? "text_model";
    const id = createDocument(context, { ...input, doc_form }, storeContent);
    return batchResponse(context, call, input, id);
  },

  updateDocumentByText(context, input, call) {
    const { name = "", text } = input;
    if (text && input.name === undefined) {
      const reason = "name is required when text is provided";
      throw valueError("DocumentTextUpdate", "", call.body, reason);
    }
    const content = text ? () => addText(context, name, text) : undefined;
    return batchResponse(context, call, input, updateDocument(context, input, content));
  },

  replaceDocument: (context, input, call) => updateByFile(context, input, call),
  updateDocumentByFile: (context, input, call) => updateByFile(context, input, call),

  deleteDocument(context, input) {
    const document = requireDocument(context, input, "document to delete missing");
    if (document.archived) throw knowledgeError("document archived");
    context.documents.delete({ id: document.id });
    return { status: 204 };
  },

  enableDocuments(context, { dataset_id, document_ids = [] }, call) {
    requireCredentials(context, getDataset(context, dataset_id), "dataset unavailable");
    const { documents, locks, now } = context;
    const action = call.path["action"] ?? "";
    const change = own(STATUS_CHANGES, action);
    const actions = Object.keys(STATUS_CHANGES).map((word) => `'${word}'`);
    if (!change)
      throw knowledgeError("document action invalid", { action, actions: actions.join(", ") });
    const locksDisabled = atLeast(call.version, "1.16.0"); // nearly always (server §9.7)
    for (const id of document_ids) {
      const document = documents.find({ dataset_id, id });
      if (!document) continue;
      const { name, indexing_status } = document;
      if (indexing_status !== "completed" && action === "disable")
        throw knowledgeError("document not indexed", { name });
      if ((locks.get(id) ?? 0) > now()) throw knowledgeError("document locked", { name });
      if (call.plan["stays-locked"] || (action === "disable" && locksDisabled)) {
        locks.set(id, now() + LOCK_MS);
      }
      documents.update({ id }, { ...change(document, now()), updated_at: now() });
    }
    return { json: { result: "success" } };
  },

  getIndexingStatus(context, { dataset_id, batch }) {
    const documents = context.documents.list({ batch, dataset_id });
    if (documents.length === 0) throw knowledgeError("documents missing");
    return { json: { data: documents.map((document) => indexingResponse(context, document)) } };
  },

  getDownloadLink(context, input, call) {
    const { file_id, source } = requireDocument(context, input);
    if (source) throw knowledgeError("document not uploaded");
    return { json: { url: downloadUrl(context, file_id, call.origin) } };
  },

  downloadDocumentsZip(context, { dataset_id, document_ids }) {
    const documents = document_ids.map((document_id) =>
      requireDocument(context, { dataset_id, document_id }, "document of archive missing"),
    );
    if (documents.some(({ source }) => source))
      throw knowledgeError("document of archive not uploaded");
    // A ZIP with a file that is gone from the storage never arrives (server §9.7).
    if (documents.some(({ file_id }) => context.lostFiles.has(file_id)))
      throw new ConnectionDropped();
    const names = uniqueNames(documents.map(({ name }) => name));
    const now = new Date(context.now());
    const contents = documents.map(({ file_id: id }) => context.files.find({ id })?.bytes);
    const entries = names.map((name, at) => [keyOf(name), contents[at] ?? new Uint8Array()]);
    // Without compression, and in order.
    const zipped = Object.fromEntries(entries) as Record<string, Uint8Array>;
    const bytes = zipSync(zipped, { level: 0, mtime: now });
    const file = `${context.newId().replaceAll("-", "")}.zip`;
    const headers = {
      "Content-Disposition": `attachment; filename=${file}`,
      "Content-Type": "application/zip",
      "Content-Length": String(bytes.byteLength),
      "Last-Modified": now.toUTCString(),
      "Cache-Control": "no-cache",
    };
    return { bytes, headers };
  },
};

/** Response of a create or update: the document and its batch. */
function batchResponse(
  context: KnowledgeContext,
  { plainMetadata }: Call,
  { dataset_id }: ProcessingOptions,
  document_id: string,
): Reply {
  const document = requireDocument(context, { dataset_id, document_id });
  const dataset = getDataset(context, dataset_id); // the first document changes it
  const response = documentResponse(context, dataset, document, plainMetadata);
  return { json: { document: response, batch: document.batch } };
}

/** The filters of the list; others match everything (server §7). */
const FILTERS = "queuing indexing paused error available active enabled disabled archived".split(
  " ",
);

const STATUS_CHANGES: Readonly<
  Record<string, (document: DocumentRow, now: number) => Partial<DocumentRow>>
> = {
  enable: () => ({ enabled: true, disabled_at: null }),
  disable: ({ enabled, disabled_at }, now) => ({
    enabled: false,
    disabled_at: enabled ? now : disabled_at,
  }),
  archive: () => ({ archived: true }),
  un_archive: () => ({ archived: false }),
};

const isPart = (text: string): text is DetailPart => ["all", "only", "without"].includes(text);

/** The error depends on the version and on the settings of the knowledge base. */
function missingTechnique(dataset: DatasetRow, call: Call): HttpError {
  if (!atLeast(call.version, "1.14.1")) return internalServerError();
  if (dataset.indexing_technique === null) return knowledgeError("technique missing");
  const problem = { field: "indexing_technique", type: "missing", value: call.body } as const;
  return validationError("KnowledgeConfig", problem);
}

function updateByFile(
  context: KnowledgeContext,
  input: ProcessingOptions & { readonly document_id: string },
  call: Call,
): Reply {
  const file = onlyFile(call.files);
  const rejected = (reason: "size" | "kind") =>
    knowledgeError(reason === "size" ? "file too large" : "file of another kind");
  const content = file && (() => addUpload(context, file, rejected));
  return batchResponse(context, call, input, updateDocument(context, input, content));
}

/** A name as the key of an object: as such, numbers would come first, and `__proto__` would be lost. */
const keyOf = (name: string): string => (/^(\d+|__proto__)$/.test(name) ? `./${name}` : name);

/** Names in the server's archives: the last path part, made unique by a number (server §9.7). */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((each) => {
    const base = each.trim().split(/[/\\]/).pop() || "file";
    const dot = base.lastIndexOf(".");
    const [stem, extension] = dot > 0 ? [base.slice(0, dot), base.slice(dot)] : [base, ""];
    let name = base;
    for (let number = 1; taken.has(name); number++) name = `${stem} (${number})${extension}`;
    taken.add(name);
    return name;
  });
}
