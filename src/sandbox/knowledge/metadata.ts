import { countCharacters } from "./characters.ts";
import {
  listBuiltInFields,
  createMetadataField,
  enableBuiltInFields,
  listMetadataFields,
  deleteMetadataField,
  renameMetadataField,
  setDocumentMetadata,
} from "../../operations/metadata.ts";
import { type Handler, on, type Reply } from "../http/handler.ts";
import {
  getDataset,
  type DocumentRow,
  type FieldRow,
  findDocument,
  type KnowledgeContext,
} from "../storage/knowledge-store.ts";
import { builtInFields, listFields, type MetadataValue, storedValues } from "./metadata-values.ts";
import { invalidParam } from "../http/errors.ts";
import { atLeast } from "../http/router.ts";
import { isObject } from "../../lib/json.ts";
import { validationError } from "../http/validation.ts";

const success: Reply = { json: { result: "success" } };

/** Metadata fields and the values of documents. */
export function metadataHandlers(room: KnowledgeContext): readonly Handler[] {
  const { store } = room;
  return [
    on(listMetadataFields, ({ dataset_id }) => {
      const dataset = getDataset(room, dataset_id);
      const doc_metadata = store.all(
        `SELECT id, name, type,
           (SELECT count(*) FROM metadata_bindings WHERE field_id = id) AS count
         FROM metadata_fields WHERE dataset_id = ? ORDER BY key`,
        dataset_id,
      );
      return { json: { doc_metadata, built_in_field_enabled: dataset.built_in === 1 } };
    }),

    on(createMetadataField, ({ dataset_id, type, name }) => {
      checkName(room, dataset_id, name);
      const id = room.newId();
      store.run(
        "INSERT INTO metadata_fields (id, dataset_id, name, type) VALUES (?, ?, ?, ?)",
        id,
        dataset_id,
        name,
        type,
      );
      return { status: 201, json: { id, type, name } };
    }),

    on(renameMetadataField, ({ dataset_id, metadata_id, name }, call) => {
      checkName(room, dataset_id, name);
      const field = listFields(room, dataset_id).find(({ id }) => id === metadata_id);
      if (!field) {
        // The server fails over its own answer, older ones do not even notice (server §11).
        if (!atLeast(call.version, "1.13.0")) {
          return { json: { id: null, type: null, name: null } };
        }
        throw validationError("DatasetMetadataResponse", {
          field: "",
          reason: "Input should be a valid dictionary or object to extract fields from",
          type: "model_attributes_type",
          value: null,
        });
      }
      store.run("UPDATE metadata_fields SET name = ? WHERE id = ?", name, field.id);
      changeValues(room, field, (value, others) => ({ ...others, [name]: value }));
      return { json: { id: field.id, type: field.type, name } };
    }),

    on(deleteMetadataField, ({ dataset_id, metadata_id }) => {
      const field = listFields(room, dataset_id).find(({ id }) => id === metadata_id);
      if (field) {
        changeValues(room, field, (_value, others) => others);
        store.run("DELETE FROM metadata_bindings WHERE field_id = ?", field.id);
        store.run("DELETE FROM metadata_fields WHERE id = ?", field.id);
      }
      return { status: 204 };
    }),

    on(listBuiltInFields, () => ({ json: { fields: builtInFields } })),

    on(enableBuiltInFields, ({ dataset_id }, call) => {
      // Any other word succeeds as well and changes nothing (server §11).
      const wanted = { enable: 1, disable: 0 }[call.path["action"] ?? ""];
      if (wanted !== undefined) {
        store.run("UPDATE datasets SET built_in = ? WHERE id = ?", wanted, dataset_id);
      }
      return success;
    }),

    on(setDocumentMetadata, ({ dataset_id, operation_data }) => {
      for (const operation of operationsIn(operation_data)) {
        const document = findDocument(room, dataset_id, operation.document_id);
        // What was set for the documents before this one stays.
        if (!document) throw invalidParam("Document not found.");
        setValues(room, document, operation);
      }
      return success;
    }),
  ];
}

/** One document's part of a request that sets values. */
interface SetOperation {
  readonly document_id: string;
  readonly metadata_list: readonly {
    readonly id: string;
    readonly name: string;
    readonly value?: unknown;
  }[];
  readonly partial_update?: boolean;
}

// The body was checked against the row before it came here.
const operationsIn = (sent: unknown) => sent as readonly SetOperation[];

function setValues(
  { store }: KnowledgeContext,
  document: DocumentRow,
  { metadata_list, partial_update = false }: SetOperation,
): void {
  const given = Object.fromEntries(metadata_list.map(({ name, value }) => [name, storable(value)]));
  const values = partial_update ? { ...storedValues(document), ...given } : given;
  store.run("UPDATE documents SET metadata = ? WHERE id = ?", JSON.stringify(values), document.id);
  if (!partial_update) {
    store.run("DELETE FROM metadata_bindings WHERE document_id = ?", document.id);
  }
  for (const { id } of metadata_list) {
    store.run("INSERT OR IGNORE INTO metadata_bindings VALUES (?, ?)", id, document.id);
  }
}

/** Booleans are taken and kept as numbers (server §11). */
function storable(value: unknown): MetadataValue {
  if (typeof value === "boolean") return Number(value);
  if (typeof value === "string" || typeof value === "number") return value;
  return isObject(value) || Array.isArray(value) ? JSON.stringify(value) : null;
}

type Values = Readonly<Record<string, MetadataValue>>;

/** Changes the stored values of every document that has one for the field. */
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
    const { [field.name]: value, ...others } = storedValues(document);
    if (value === undefined) continue;
    const values = JSON.stringify(change(value, others));
    store.run("UPDATE documents SET metadata = ? WHERE id = ?", values, document.id);
  }
}

/** Throws Refused where a field may not have the name, its own present one included. */
function checkName(room: KnowledgeContext, datasetId: string, name: string): void {
  if (countCharacters(name) > 255)
    throw invalidParam("Metadata name cannot exceed 255 characters.");
  if (listFields(room, datasetId).some((field) => field.name === name)) {
    throw invalidParam("Metadata name already exists.");
  }
  if (builtInFields.some((field) => field.name === name)) {
    throw invalidParam("Metadata name already exists in Built-in fields.");
  }
}
