import { isObject, stringifyJson } from "../../lib/json.ts";
import { countCharacters, isUuid } from "../../lib/text.ts";
import type * as operations from "../../operations/metadata.ts";
import { raise } from "../protocol/response.ts";
import { atLeast } from "../../lib/version.ts";
import type { Reply } from "../protocol/handler.ts";
import { validationError, valueError } from "../protocol/validation.ts";
import {
  type DocumentRow,
  type FieldRow,
  getDataset,
  type KnowledgeContext,
  type MetadataValue,
  type KnowledgeHandlers,
} from "./records/knowledge-store.ts";
import { builtInFields, fieldResponse } from "./records/metadata-values.ts";
import { knowledgeError } from "./records/responses.ts";
import { ExactNumber, isNumeric } from "../../lib/exact-number.ts";

const success: Reply = { json: { result: "success" } };

/** Metadata fields and the values of documents. */
export const metadataHandlers: KnowledgeHandlers<typeof operations> = {
  listMetadataFields(context, { dataset_id }) {
    const { built_in } = getDataset(context, dataset_id);
    const doc_metadata = context.metadata_fields.list({ dataset_id }).map((field) => ({
      ...fieldResponse(field),
      count: context.metadata_bindings.count({ field_id: field.id }),
    }));
    return { json: { doc_metadata, built_in_field_enabled: built_in } };
  },

  createMetadataField(context, { dataset_id, type, name }) {
    checkName(context, dataset_id, name);
    const { id } = context.metadata_fields.insert({ dataset_id, name, type });
    return { status: 201, json: { id, type, name } };
  },

  renameMetadataField(context, { dataset_id, metadata_id, name }, call) {
    checkName(context, dataset_id, name);
    const field = context.metadata_fields.find({ dataset_id, id: metadata_id });
    if (!field) {
      // The server fails to validate its own response; older ones do not notice (server §11).
      if (!atLeast(call.version, "1.13.0")) return { json: { id: null, type: null, name: null } };
      const problem = { field: "", type: "model_attributes_type", value: null } as const;
      throw validationError("DatasetMetadataResponse", problem);
    }
    context.metadata_fields.update({ id: field.id }, { name });
    changeValues(context, field, (value, others) => ({ ...others, [name]: value }));
    return { json: { id: field.id, type: field.type, name } };
  },

  deleteMetadataField(context, { dataset_id, metadata_id }) {
    const field = context.metadata_fields.find({ dataset_id, id: metadata_id });
    if (field) {
      changeValues(context, field, (_value, others) => others);
      context.metadata_fields.delete({ id: field.id });
    }
    return { status: 204 };
  },

  listBuiltInFields: () => ({ json: { fields: builtInFields } }),

  enableBuiltInFields(context, { dataset_id }, call) {
    // Other actions succeed, too, and change nothing (server §11).
    const built_in = { enable: true, disable: false }[call.path["action"] ?? ""];
    context.datasets.update({ id: dataset_id }, { built_in });
    return success;
  },

  setDocumentMetadata(context, { dataset_id, operation_data }, call) {
    const operations = operation_data as readonly SetOperation[]; // validated with the request
    if (atLeast(call.version, "1.16.0"))
      for (const [index, each] of operations.entries())
        requireKnown(context, dataset_id, each, index);
    for (const operation of operations) {
      const found = context.documents.find({ dataset_id, id: operation.document_id });
      // The values of earlier documents stay.
      const document = found ?? raise(knowledgeError("document of metadata missing"));
      setValues(context, document, operation);
    }
    return success;
  },
};

interface SetOperation {
  readonly document_id: string;
  readonly metadata_list: readonly {
    readonly id: string;
    readonly name: string;
    readonly value?: unknown;
  }[];
  readonly partial_update?: boolean;
}

/** Throws 400 or 404 for an operation that cannot be applied, before anything is set (server §11). */
function requireKnown(
  { documents, metadata_fields }: KnowledgeContext,
  dataset_id: string,
  { document_id, metadata_list }: SetOperation,
  index: number,
): void {
  const ids = metadata_list.map(({ id }, at) => [`metadata_list.${at}.id`, id] as const);
  for (const [name, value] of [["document_id", document_id] as const, ...ids]) {
    if (isUuid(value)) continue;
    const field = `operation_data.${index}.${name}`;
    throw valueError("MetadataOperationData", field, value, "must be a valid UUID");
  }
  if (!documents.find({ dataset_id, id: document_id })) {
    throw knowledgeError("document of values missing", { dataset_id });
  }
  if (metadata_list.every(({ id }) => metadata_fields.find({ dataset_id, id }))) return;
  throw knowledgeError("field of values missing", { dataset_id });
}

function setValues(
  { store, documents, metadata_fields, metadata_bindings, version }: KnowledgeContext,
  { id: document_id, dataset_id, metadata: known }: DocumentRow,
  { metadata_list, partial_update = false }: SetOperation,
): void {
  // Which of ID and name counts where they differ depends on the version (server §11).
  const nameOf = ({ id, name }: { readonly id: string; readonly name: string }) =>
    (atLeast(version, "1.16.0") ? metadata_fields.find({ dataset_id, id })?.name : undefined) ??
    name;
  const entries = metadata_list.map((each) => [nameOf(each), toStoredValue(each.value)] as const);
  const metadata = { ...(partial_update && known), ...Object.fromEntries(entries) };
  documents.update({ id: document_id }, { metadata });
  if (!partial_update) metadata_bindings.delete({ document_id });
  for (const { id } of metadata_list) {
    store.run("INSERT OR IGNORE INTO metadata_bindings VALUES (?, ?)", id, document_id);
  }
}

/** Booleans are stored as numbers, fractions as doubles (server §11). */
function toStoredValue(value: unknown): MetadataValue {
  if (typeof value === "boolean") return Number(value);
  if (value instanceof ExactNumber) return Number(value.text);
  if (typeof value === "string" || isNumeric(value)) return value;
  return isObject(value) || Array.isArray(value) ? stringifyJson(value) : null;
}

type Values = DocumentRow["metadata"];

/** Changes the stored values of each document that has a value for the field. */
function changeValues(
  { documents }: KnowledgeContext,
  field: FieldRow,
  change: (value: MetadataValue, others: Values) => Values,
): void {
  const bound = "JOIN metadata_bindings ON document_id = id WHERE field_id = ?";
  for (const { id, metadata } of documents.select(bound, field.id)) {
    const { [field.name]: value, ...others } = metadata;
    if (value !== undefined) documents.update({ id }, { metadata: change(value, others) });
  }
}

/** Throws HttpError if a field name is invalid or in use, even by the same field. */
function checkName(context: KnowledgeContext, dataset_id: string, name: string): void {
  const { metadata_fields } = context;
  if (countCharacters(name) > 255) throw knowledgeError("field name too long");
  if (metadata_fields.find({ dataset_id, name })) throw knowledgeError("field name taken");
  const isBuiltIn = builtInFields.some((field) => field.name === name);
  if (isBuiltIn) throw knowledgeError("field name built in");
}
