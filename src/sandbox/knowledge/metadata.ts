import { countCharacters } from "./characters.ts";
import * as operations from "../../operations/metadata.ts";
import { bindHandlers, type Handlers, type Reply } from "../http/handler.ts";
import {
  getDataset,
  type DocumentRow,
  type FieldRow,
  findDocument,
  type KnowledgeContext,
} from "../storage/knowledge-store.ts";
import {
  builtInFields,
  listFields,
  type MetadataValue,
  documentValues,
} from "./metadata-values.ts";
import { invalidParam } from "../http/errors.ts";
import { atLeast } from "../http/router.ts";
import { isObject } from "../../lib/json.ts";
import { validationError } from "../http/pydantic.ts";

const success: Reply = { json: { result: "success" } };

/** Metadata fields and the values of documents. */
const handlers: Handlers<typeof operations, KnowledgeContext> = {
  listMetadataFields(context, { dataset_id }) {
    const dataset = getDataset(context, dataset_id);
    const doc_metadata = context.store.all(
      `SELECT id, name, type,
         (SELECT count(*) FROM metadata_bindings WHERE field_id = id) AS count
       FROM metadata_fields WHERE dataset_id = ? ORDER BY key`,
      dataset_id,
    );
    return { json: { doc_metadata, built_in_field_enabled: dataset.built_in === 1 } };
  },

  createMetadataField(context, { dataset_id, type, name }) {
    checkName(context, dataset_id, name);
    const id = context.newId();
    context.store.insert("metadata_fields", { id, dataset_id, name, type });
    return { status: 201, json: { id, type, name } };
  },

  renameMetadataField(context, { dataset_id, metadata_id, name }, call) {
    checkName(context, dataset_id, name);
    const field = listFields(context, dataset_id).find(({ id }) => id === metadata_id);
    if (!field) {
      // The server fails to validate its own response; older ones do not notice (server §11).
      if (!atLeast(call.version, "1.13.0")) {
        return { json: { id: null, type: null, name: null } };
      }
      throw validationError("DatasetMetadataResponse", {
        field: "",
        type: "model_attributes_type",
        value: null,
      });
    }
    context.store.update("metadata_fields", field.id, { name });
    changeValues(context, field, (value, others) => ({ ...others, [name]: value }));
    return { json: { id: field.id, type: field.type, name } };
  },

  deleteMetadataField(context, { dataset_id, metadata_id }) {
    const field = listFields(context, dataset_id).find(({ id }) => id === metadata_id);
    if (field) {
      changeValues(context, field, (_value, others) => others);
      context.store.run("DELETE FROM metadata_bindings WHERE field_id = ?", field.id);
      context.store.run("DELETE FROM metadata_fields WHERE id = ?", field.id);
    }
    return { status: 204 };
  },

  listBuiltInFields: () => ({ json: { fields: builtInFields } }),

  enableBuiltInFields(context, { dataset_id }, call) {
    // Other actions succeed, too, and change nothing (server §11).
    const built_in = { enable: 1, disable: 0 }[call.path["action"] ?? ""];
    if (built_in !== undefined) context.store.update("datasets", dataset_id, { built_in });
    return success;
  },

  setDocumentMetadata(context, { dataset_id, operation_data }) {
    for (const operation of operationsIn(operation_data)) {
      const document = findDocument(context, dataset_id, operation.document_id);
      // The values of earlier documents stay.
      if (!document) throw invalidParam("Document not found.");
      setValues(context, document, operation);
    }
    return success;
  },
};

export const metadataHandlers = bindHandlers(operations, handlers);

/** The values to set for one document. */
interface SetOperation {
  readonly document_id: string;
  readonly metadata_list: readonly {
    readonly id: string;
    readonly name: string;
    readonly value?: unknown;
  }[];
  readonly partial_update?: boolean;
}

// The body was validated against the row.
const operationsIn = (sent: unknown) => sent as readonly SetOperation[];

function setValues(
  { store }: KnowledgeContext,
  document: DocumentRow,
  { metadata_list, partial_update = false }: SetOperation,
): void {
  const entries = metadata_list.map(({ name, value }) => [name, toStoredValue(value)] as const);
  const known = partial_update ? documentValues(document) : {};
  const metadata = JSON.stringify({ ...known, ...Object.fromEntries(entries) });
  store.update("documents", document.id, { metadata });
  if (!partial_update) {
    store.run("DELETE FROM metadata_bindings WHERE document_id = ?", document.id);
  }
  for (const { id } of metadata_list) {
    store.run("INSERT OR IGNORE INTO metadata_bindings VALUES (?, ?)", id, document.id);
  }
}

/** Booleans are stored as numbers (server §11). */
function toStoredValue(value: unknown): MetadataValue {
  if (typeof value === "boolean") return Number(value);
  if (typeof value === "string" || typeof value === "number") return value;
  return isObject(value) || Array.isArray(value) ? JSON.stringify(value) : null;
}

type Values = Readonly<Record<string, MetadataValue>>;

/** Changes the stored values of each document that has a value for the field. */
function changeValues(
  { store }: KnowledgeContext,
  field: FieldRow,
  change: (value: MetadataValue, others: Values) => Values,
): void {
  const bound = store.all<Pick<DocumentRow, "id" | "metadata">>(
    `SELECT id, metadata FROM documents JOIN metadata_bindings ON document_id = id
     WHERE field_id = ?`,
    field.id,
  );
  for (const document of bound) {
    const { [field.name]: value, ...others } = documentValues(document);
    if (value === undefined) continue;
    store.update("documents", document.id, { metadata: JSON.stringify(change(value, others)) });
  }
}

/** Throws HttpError if a field name is invalid or in use, even by the same field. */
function checkName(context: KnowledgeContext, datasetId: string, name: string): void {
  if (countCharacters(name) > 255)
    throw invalidParam("Metadata name cannot exceed 255 characters.");
  if (listFields(context, datasetId).some((field) => field.name === name)) {
    throw invalidParam("Metadata name already exists.");
  }
  if (builtInFields.some((field) => field.name === name)) {
    throw invalidParam("Metadata name already exists in Built-in fields.");
  }
}
