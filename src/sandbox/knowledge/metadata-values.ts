import {
  account,
  type DatasetRow,
  type DocumentRow,
  type FieldRow,
  type KnowledgeContext,
} from "../storage/knowledge-store.ts";
import { toSeconds } from "../storage/ids.ts";

export type MetadataValue = string | number | null;

/** One row of a document's `doc_metadata`. */
export interface DocumentField {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly value: MetadataValue;
}

/** The fields that the server fills by itself. */
export const builtInFields = [
  { name: "document_name", type: "string" },
  { name: "uploader", type: "string" },
  { name: "upload_date", type: "time" },
  { name: "last_update_date", type: "time" },
  { name: "source", type: "string" },
] as const;

/** The values that were set for a document, by the names they were sent with (server §11). */
export const storedValues = ({ metadata }: Pick<DocumentRow, "metadata">) =>
  JSON.parse(metadata) as Readonly<Record<string, MetadataValue>>; // written by us

/** Custom fields of a knowledge base in the order they were made. */
export const listFields = ({ store }: KnowledgeContext, datasetId: string) =>
  store.all<FieldRow>(
    "SELECT id, name, type FROM metadata_fields WHERE dataset_id = ? ORDER BY key",
    datasetId,
  );

/**
 * All values of a document. The built-in ones follow as soon as there is any other, even where
 * they are switched off (server §6).
 */
export function documentMetadata(
  { store }: KnowledgeContext,
  dataset: DatasetRow,
  document: DocumentRow,
): DocumentField[] {
  const values = storedValues(document);
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

/** Seconds as the server writes them into a text: always with a fraction. */
const floatText = (number: number) => (Number.isInteger(number) ? `${number}.0` : String(number));
