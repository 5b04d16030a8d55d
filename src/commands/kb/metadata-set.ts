import { usage, notFound } from "../../errors.ts";
import { getDocument } from "../../operations/documents.ts";
import { listMetadataFields, setDocumentMetadata } from "../../operations/metadata.ts";
import type { MetadataField } from "../../operations/metadata.ts";
import type { Input } from "../../operations/operation.ts";
import { fieldValue, invalidFieldValue, responseValues } from "./documents/index.ts";
import type { Context } from "../command-spec.ts";
import type { metadataSetParams } from "./specs.ts";

/** A value in a request; the server finds the field by ID and stores the name as sent (server §11). */
interface SentValue {
  readonly id: string;
  readonly name: string;
  readonly value: unknown;
}

/**
 * Sets metadata values of documents. Other values stay unless `replace` is set. To unset a value, all
 * others are sent without it.
 */
export async function* run(
  input: Input<typeof metadataSetParams>,
  context: Context,
): AsyncGenerator<{ result: string }> {
  const { dataset_id, set = [], unset = [], replace = false } = input;
  if (set.length + unset.length === 0 && !replace) {
    throw usage("--set, --unset or --replace is required", "for example --set team=people");
  }
  const fields = await context.call(listMetadataFields, { dataset_id });
  const values = set.map((assignment) => parseAssignment(assignment, fields));
  const removed = new Set(unset.map((name) => fieldNamed(name, fields).id));
  const operation_data: unknown[] = [];
  for (const document_id of input.document_id) {
    if (removed.size === 0) {
      const mode = replace ? {} : { partial_update: true };
      operation_data.push({ document_id, metadata_list: values, ...mode });
      continue;
    }
    const before = replace ? [] : await currentValues(dataset_id, document_id, context);
    const changed = new Set(values.map(({ id }) => id));
    const metadata_list = [
      ...before.filter(({ id }) => !removed.has(id) && !changed.has(id)),
      ...values.filter(({ id }) => !removed.has(id)),
    ];
    operation_data.push({ document_id, metadata_list });
  }
  yield await context.call(setDocumentMetadata, { dataset_id, operation_data });
}

/** The values of a document, without built-in ones, which cannot be sent. */
async function currentValues(
  dataset_id: string,
  document_id: string,
  context: Context,
): Promise<SentValue[]> {
  const document = await context.call(getDocument, {
    dataset_id,
    document_id,
    metadata: "only",
  });
  return [...responseValues(document.doc_metadata)];
}

function fieldNamed(name: string, fields: readonly MetadataField[]): MetadataField {
  const field = fields.find((candidate) => candidate.name === name || candidate.id === name);
  if (field) return field;
  throw notFound(
    `metadata field ${JSON.stringify(name)} not found`,
    fields.length > 0
      ? `existing fields: ${fields.map((each) => each.name).join(", ")}`
      : "create it with kb metadata create",
  );
}

/** Parses `team=people` as a value of the type of the field; `pages=null` clears a number or time. */
function parseAssignment(assignment: string, fields: readonly MetadataField[]): SentValue {
  const at = assignment.indexOf("=");
  if (at < 1) {
    const message = `invalid --set ${JSON.stringify(assignment)}: expected field=value`;
    throw usage(message);
  }
  const text = assignment.slice(at + 1);
  const { id, name, type } = fieldNamed(assignment.slice(0, at), fields);
  if (text === "null" && type !== "string") return { id, name, value: null };
  const value = fieldValue(type, text);
  if (value === undefined) throw invalidFieldValue("--set", { name, type }, text);
  return { id, name, value };
}
