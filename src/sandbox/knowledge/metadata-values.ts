import {
  account,
  type DatasetRow,
  type DocumentRow,
  type FieldRow,
  type KnowledgeContext,
} from "../storage/knowledge-store.ts";
import { toSeconds } from "../storage/ids.ts";

export type MetadataValue = string | number | null;

/** A row of a document's `doc_metadata`. */
export interface DocumentField {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly value: MetadataValue;
}

/** The fields that the server fills in. */
export const builtInFields = [
  { name: "document_name", type: "string" },
  { name: "uploader", type: "string" },
  { name: "upload_date", type: "time" },
  { name: "last_update_date", type: "time" },
  { name: "source", type: "string" },
] as const;

/** The values of a document, by the name that the request used (server §11). */
export const documentValues = ({ metadata }: Pick<DocumentRow, "metadata">) =>
  JSON.parse(metadata) as Readonly<Record<string, MetadataValue>>; // this file's own format

/** Custom fields of a knowledge base, oldest first. */
export const listFields = ({ store }: KnowledgeContext, datasetId: string) =>
  store.all<FieldRow>(
    "SELECT id, name, type FROM metadata_fields WHERE dataset_id = ? ORDER BY key",
    datasetId,
  );

/**
 * All values of a document. The built-in ones are added if there is any other value, even if they
 * are disabled (server §6).
 */
export function documentMetadata(
  { store }: KnowledgeContext,
  dataset: DatasetRow,
  document: DocumentRow,
): DocumentField[] {
  const values = documentValues(document);
  const custom = store
    .all<FieldRow>(
      `SELECT id, name, type FROM metadata_fields JOIN metadata_bindings ON field_id = id
       WHERE document_id = ? ORDER BY key`,
      document.id,
    )
    .map((field) => ({ ...field, value: values[field.name] ?? null }));
  if (custom.length === 0 && dataset.built_in === 0) return [];
  const own = builtInValues(document);
  const builtIn = builtInFields.map(({ name, type }) => ({
    id: "built-in",
    name,
    type,
    value: own[name],
  }));
  return [...custom, ...builtIn];
}

const builtInValues = (document: DocumentRow) => ({
  document_name: document.name,
  uploader: account.name,
  upload_date: floatText(toSeconds(document.created_at)),
  last_update_date: floatText(document.updated_at / 1000),
  source: "file_upload",
});

/** Formats seconds as the server does in text: always with a fraction. */
const floatText = (number: number) => (Number.isInteger(number) ? `${number}.0` : String(number));
