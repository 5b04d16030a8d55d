import {
  body,
  list as rows,
  withNamePath,
  noContent,
  kbOperation,
  path,
  withFields,
  record,
  success,
} from "./operation.ts";
import { dataset_id, listOf, required } from "./shared.ts";

const types = ["string", "number", "time"] as const;

/** A metadata field of a knowledge base, except built-in ones. */
export interface MetadataField {
  readonly id: string;
  readonly name: string;
  readonly type: (typeof types)[number];
}

const metadata_id = path.ref("field", "Metadata field name or ID", { mustExist: true });
const fields = { id: "id", name: "text", type: "text" } as const;

export const listMetadataFields = kbOperation({
  id: "listMetadataFields",
  command: "kb metadata list <kb>",
  action: "list metadata fields of knowledge base {kb}",
  summary: "List the metadata fields of a knowledge base",
  route: "GET /datasets/{dataset_id}/metadata",
  params: { dataset_id },
  returns: withFields(
    fields,
    rows<MetadataField>("doc_metadata", "name type documents=count:count id:id"),
  ),
  examples: ["kb metadata list Handbook", "kb metadata list Handbook --jq '.[].name'"],
});

/** The whole response: the list, and whether built-in fields are enabled. */
export const getMetadataOverview = kbOperation({
  id: "listMetadataFields",
  action: "get metadata settings of knowledge base {kb}",
  route: "GET /datasets/{dataset_id}/metadata",
  params: { dataset_id },
  returns: withFields(
    { doc_metadata: [fields], built_in_field_enabled: "flag" },
    record<{
      readonly doc_metadata: readonly MetadataField[];
      readonly built_in_field_enabled: boolean;
    }>("built_in_field_enabled doc_metadata"),
  ),
});

export const createMetadataField = kbOperation({
  id: "createMetadataField",
  command: "kb metadata create <kb> <name>",
  action: "create metadata field {name} in knowledge base {kb}",
  summary: "Create a metadata field",
  creates: "field",
  route: "POST /datasets/{dataset_id}/metadata",
  params: {
    dataset_id,
    type: body.choice(types, "Data type", { required }),
    name: body.text("Name, unique in the knowledge base", { length: [1, 255], required }),
  },
  returns: record<MetadataField>("name type id:id"),
  examples: [
    "kb metadata create Handbook team --type string",
    "kb metadata create Handbook reviewed --type time",
  ],
});

export const renameMetadataField = kbOperation({
  id: "updateMetadataField",
  command: "kb metadata rename <kb> <field> <name>",
  action: "rename metadata field {field} to {name}",
  summary: "Rename a metadata field",
  route: "PATCH /datasets/{dataset_id}/metadata/{metadata_id}",
  params: {
    dataset_id,
    metadata_id,
    name: body.text("New name, unique in the knowledge base", { length: [1, 255], required }),
  },
  returns: record<MetadataField>("name type id:id"),
  examples: [
    "kb metadata rename Handbook team department",
    "kb metadata rename Handbook --each fields.csv",
  ],
});

export const deleteMetadataField = kbOperation({
  id: "deleteMetadataField",
  command: "kb metadata delete <kb> <field>",
  action: "delete metadata field {field}",
  summary: "Delete a metadata field and its values",
  route: "DELETE /datasets/{dataset_id}/metadata/{metadata_id}",
  params: { dataset_id, metadata_id },
  returns: noContent,
  destructive: true,
  examples: [
    "kb metadata delete Handbook team --yes",
    "kb metadata delete Handbook team --dry-run",
  ],
});

const namedText = { id: { kind: "text", required }, name: { kind: "text", required } } as const;

export const setDocumentMetadata = kbOperation({
  id: "batchUpdateDocumentMetadata",
  action: "set metadata of documents {doc} in knowledge base {kb}",
  route: "POST /datasets/{dataset_id}/documents/metadata",
  params: {
    dataset_id,
    // Without partial_update, all other values of the document are removed (server §11).
    operation_data: body.json("Values by document", {
      required,
      shape: listOf({
        document_id: { kind: "text", required },
        metadata_list: { ...listOf({ ...namedText, value: { kind: "any" } }), required },
        partial_update: { kind: "flag" },
      }),
    }),
  },
  returns: success,
  retry: "idempotent",
});

export const listBuiltInFields = kbOperation({
  id: "getBuiltInMetadataFields",
  command: "kb metadata built-in list <kb>",
  action: "list built-in metadata fields of knowledge base {kb}",
  summary: "List the metadata fields that the server can fill automatically",
  route: "GET /datasets/{dataset_id}/metadata/built-in",
  params: { dataset_id },
  returns: withNamePath("name", rows<Omit<MetadataField, "id">>("fields", "name type")),
  examples: ["kb metadata built-in list Handbook", "kb metadata built-in list Handbook -o json"],
});

// Reports success for any action: only reading the setting shows its effect (server §11).
const builtInSwitch = {
  id: "toggleBuiltInMetadataField",
  route: "POST /datasets/{dataset_id}/metadata/built-in/{action}",
  params: { dataset_id },
  returns: success,
  retry: "idempotent",
} as const;

export const enableBuiltInFields = kbOperation({
  ...builtInSwitch,
  action: "enable built-in metadata fields of knowledge base {kb}",
  fixed: { action: "enable" },
});

export const disableBuiltInFields = kbOperation({
  ...builtInSwitch,
  action: "disable built-in metadata fields of knowledge base {kb}",
  fixed: { action: "disable" },
});
