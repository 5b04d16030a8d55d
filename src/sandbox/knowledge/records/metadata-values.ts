import { own } from "../../../lib/json.ts";
import { account, toSeconds } from "../../protocol/ids.ts";
import type { DatasetRow, DocumentRow, FieldRow, KnowledgeContext } from "./knowledge-store.ts";

/** The fields that the server fills in. */
export const builtInFields = [
  { name: "document_name", type: "string" },
  { name: "uploader", type: "string" },
  { name: "upload_date", type: "time" },
  { name: "last_update_date", type: "time" },
  { name: "source", type: "string" },
] as const;

/** A metadata field without its knowledge base. */
export const fieldResponse = ({ id, name, type }: FieldRow) => ({ id, name, type });

/** All values of a document; with any other value, also the built-in ones, even disabled (server §6). */
export function documentMetadata(
  { metadata_fields }: KnowledgeContext,
  { built_in }: DatasetRow,
  document: DocumentRow,
) {
  const bound = "JOIN metadata_bindings ON field_id = id WHERE document_id = ?";
  const fields = metadata_fields.select(`${bound} ORDER BY metadata_fields.rowid`, document.id);
  const custom = fields.map((field) => {
    return { ...fieldResponse(field), value: own(document.metadata, field.name) ?? null };
  });
  if (custom.length === 0 && !built_in) return [];
  const values = {
    document_name: document.name,
    uploader: account.name,
    upload_date: floatText(toSeconds(document.created_at)),
    last_update_date: floatText(document.updated_at / 1000),
    source: "file_upload",
  };
  const builtIn = builtInFields.map((field) => {
    return { id: "built-in", ...field, value: values[field.name] };
  });
  return [...custom, ...builtIn];
}

/** Formats seconds as the server does in text: always with a fraction. */
const floatText = (number: number) => (Number.isInteger(number) ? `${number}.0` : String(number));
