import { CliError } from "../../errors.ts";
import { getDocument } from "../../operations/documents.ts";
import { listMetadataFields, setDocumentMetadata } from "../../operations/metadata.ts";
import type { CountedMetadataField } from "../../operations/metadata.ts";
import { fieldValue, shownValues, unfitValue } from "./documents/field-values.ts";
import type { Context } from "../command-spec.ts";

/** Input of `kb metadata set`. */
export interface MetadataInput {
  readonly dataset_id: string;
  readonly document_id: readonly string[];
  readonly set?: readonly string[] | undefined;
  readonly unset?: readonly string[] | undefined;
  readonly replace?: boolean | undefined;
}

/** A value as it is sent, bound by id and stored under the name exactly as given (server §11). */
interface Bound {
  readonly id: string;
  readonly name: string;
  readonly value: unknown;
}

/**
 * Sets metadata values of documents, one operation a document. Other values stay, unless all are
 * replaced; a value is taken away by sending the others without it.
 */
export async function* run(
  input: MetadataInput,
  context: Context,
): AsyncGenerator<{ result: string }> {
  const { dataset_id, set = [], unset = [], replace = false } = input;
  if (set.length + unset.length === 0 && !replace) {
    throw new CliError("usage", "--set, --unset or --replace is required", {
      sideEffect: "none",
      hint: "--set team=people",
    });
  }
  const fields = await context.call(listMetadataFields, { dataset_id });
  const values = set.map((assignment) => boundValue(assignment, fields));
  const away = new Set(unset.map((name) => fieldNamed(name, fields).id));
  const operation_data: unknown[] = [];
  for (const document_id of input.document_id) {
    if (away.size === 0) {
      const kept = replace ? {} : { partial_update: true };
      operation_data.push({ document_id, metadata_list: values, ...kept });
      continue;
    }
    const before = replace ? [] : await valuesOf(dataset_id, document_id, context);
    const changed = new Set(values.map(({ id }) => id));
    const metadata_list = [
      ...before.filter(({ id }) => !away.has(id) && !changed.has(id)),
      ...values.filter(({ id }) => !away.has(id)),
    ];
    operation_data.push({ document_id, metadata_list });
  }
  yield await context.call(setDocumentMetadata, { dataset_id, operation_data });
}

/** The document's own values; built-in ones are not ours to send. */
async function valuesOf(
  dataset_id: string,
  document_id: string,
  context: Context,
): Promise<Bound[]> {
  const document = await context.call(getDocument, {
    dataset_id,
    document_id,
    metadata: "only",
  });
  return [...shownValues(document.doc_metadata)];
}

function fieldNamed(name: string, fields: readonly CountedMetadataField[]): CountedMetadataField {
  const field = fields.find((candidate) => candidate.name === name || candidate.id === name);
  if (field) return field;
  throw new CliError("not-found", `there is no metadata field called ${JSON.stringify(name)}`, {
    sideEffect: "none",
    hint:
      fields.length > 0
        ? `there are: ${fields.map((each) => each.name).join(", ")}`
        : `create it first: \`kb metadata create --help\` shows how`,
  });
}

/** `team=people` as a value of the field's own type; `team=null` empties it. */
function boundValue(assignment: string, fields: readonly CountedMetadataField[]): Bound {
  const at = assignment.indexOf("=");
  if (at < 1) throw new CliError("usage", `--set ${JSON.stringify(assignment)} is no field=value`);
  const text = assignment.slice(at + 1);
  const { id, name, type } = fieldNamed(assignment.slice(0, at), fields);
  if (text === "null" && type !== "string") return { id, name, value: null };
  const value = fieldValue(type, text);
  if (value === undefined) throw unfitValue("--set", { name, type }, text);
  return { id, name, value };
}
