import { usage, notFound, CliError } from "../../../errors.ts";
import { isNumeric } from "../../../lib/exact-number.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { getDocument } from "../../../operations/documents.ts";
import {
  listMetadataFields,
  setDocumentMetadata,
  disableBuiltInFields,
  enableBuiltInFields,
  getMetadataOverview,
} from "../../../operations/metadata.ts";
import type { MetadataField } from "../../../operations/metadata.ts";
import type { Input } from "../../../operations/operation.ts";
import { invalidFieldValue, responseValues, writtenValue } from "../documents/index.ts";
import type { FieldValue } from "../documents/index.ts";
import type { Context, RowWork } from "../../task/command-spec.ts";
import type { metadataSetParams } from "./command.ts";
import { stringifyJson } from "../../../lib/json.ts";

type SetInput = Input<typeof metadataSetParams>;

/** A value in a request; the server finds the field by ID and stores the name as sent (server §11). */
interface SentValue {
  readonly id: string;
  readonly name: string;
  readonly value: unknown;
}

type Fields = Awaited<ReturnType<typeof readFields>>;

/** Checked changes of documents: the new values, and the IDs of the fields to clear. */
interface MetadataEdit {
  readonly input: SetInput;
  readonly values: readonly SentValue[];
  readonly removed: ReadonlySet<string>;
}

/** Sets metadata values of documents; others stay unless `replace` is set. To unset one, all others are sent. */
export async function* run(input: SetInput, context: Context): AsyncGenerator<{ result: string }> {
  const { dataset_id, set = [], unset = [], replace = false } = input;
  if (set.length + unset.length === 0 && !replace) {
    throw usage("--set, --unset or --replace is required", "for example --set team=people");
  }
  const fields = await readFields(dataset_id, context);
  yield await sendEdit(editOf(input, {}, fields), context);
}

/** The same for the rows of a file, whose further columns are fields; an empty cell changes nothing. */
export const rowWork = (context: Context): RowWork<SetInput, MetadataEdit> => {
  const known = new Map<string, Promise<Fields>>();
  const fieldsOf = (dataset_id: string) => {
    const fields = known.get(dataset_id) ?? readFields(dataset_id, context);
    known.set(dataset_id, fields);
    return fields;
  };
  return {
    checksAgain: true,
    async check(input, cells) {
      const edit = editOf(input, cells, await fieldsOf(input.dataset_id));
      const isChange = edit.values.length + edit.removed.size > 0 || input.replace === true;
      return isChange ? edit : undefined;
    },
    async send(edit) {
      await sendEdit(edit, context);
      return edit.input.document_id.join(" ");
    },
  };
};

const readFields = async (dataset_id: string, { api }: Context) => ({
  dataset_id,
  fields: await api.call(listMetadataFields, { dataset_id }),
});

/** Checks values against the types of their fields. Throws usage, and not-found for unknown fields. */
function editOf(input: SetInput, cells: Readonly<Record<string, unknown>>, fields: Fields) {
  const { set = [], unset = [] } = input;
  const values = [
    ...set.map((assignment) => parseAssignment(assignment, fields)),
    ...Object.entries(cells).flatMap(([name, cell]) => cellValue(name, cell, fields) ?? []),
  ];
  return { input, values, removed: new Set(unset.map((name) => fieldNamed(name, fields).id)) };
}

async function sendEdit({ input, values, removed }: MetadataEdit, context: Context) {
  const { dataset_id, replace = false } = input;
  const operation_data: unknown[] = [];
  for (const document_id of input.document_id) {
    if (removed.size === 0) {
      const mode = replace ? {} : { partial_update: true };
      operation_data.push({ document_id, metadata_list: values, ...mode });
      continue;
    }
    const now = { dataset_id, document_id, metadata: "only" } as const;
    const before = replace
      ? [] // built-in ones cannot be sent
      : responseValues((await context.api.call(getDocument, now)).doc_metadata);
    const changed = new Set(values.map(({ id }) => id));
    const metadata_list = [
      ...before.filter(({ id }) => !removed.has(id) && !changed.has(id)),
      ...values.filter(({ id }) => !removed.has(id)),
    ];
    operation_data.push({ document_id, metadata_list });
  }
  return context.api.call(setDocumentMetadata, { dataset_id, operation_data });
}

function fieldNamed(name: string, { dataset_id, fields }: Fields): MetadataField {
  const field = fields.find((candidate) => candidate.name === name || candidate.id === name);
  if (field) return field;
  const create = commandLine("kb metadata create", [dataset_id, name], { type: "string" });
  const existing = `existing fields: ${fields.map((each) => each.name).join(", ")}`;
  throw notFound(
    `metadata field ${JSON.stringify(name)} not found`,
    fields.length > 0 ? `${existing}; to add it: ${create}` : create,
  );
}

/** Parses `team=people` as a value of the type of the field; `pages=null` clears a number or time. */
function parseAssignment(assignment: string, fields: Fields): SentValue {
  const at = assignment.indexOf("=");
  if (at < 1) throw usage(`invalid --set ${JSON.stringify(assignment)}: expected field=value`);
  const text = assignment.slice(at + 1);
  const field = fieldNamed(assignment.slice(0, at), fields);
  if (text === "null" && field.type !== "string")
    return { id: field.id, name: field.name, value: null };
  return typedValue("--set", field, text);
}

function cellValue(column: string, cell: unknown, fields: Fields): SentValue | undefined {
  const field = fieldNamed(column, fields);
  if (cell === "" || cell === null) return undefined;
  if (typeof cell === "string" || isNumeric(cell))
    return typedValue(`column ${column}`, field, cell);
  throw usage(`column ${column}: ${stringifyJson(cell)} is not a text or a number`);
}

function typedValue(place: string, field: MetadataField, input: FieldValue): SentValue {
  const value = writtenValue(field.type, input);
  if (value === undefined) throw invalidFieldValue(place, field, input);
  return { id: field.id, name: field.name, value };
}

/** Switches the built-in fields, and reads them: the server reports success in any case (server §11). Throws failure. */
export async function setBuiltInFields(
  dataset_id: string,
  enabled: boolean,
  context: Context,
): Promise<{ built_in_field_enabled: boolean }> {
  const operation = enabled ? enableBuiltInFields : disableBuiltInFields;
  await context.api.call(operation, { dataset_id });
  const { built_in_field_enabled } = await context.api.call(getMetadataOverview, { dataset_id });
  if (built_in_field_enabled === enabled) return { built_in_field_enabled };
  const message = `failed to ${enabled ? "enable" : "disable"} the built-in fields`;
  const hint = "another metadata operation may have been running; try again";
  throw new CliError("failure", message, { sideEffect: "none", retryable: true, hint });
}

const toggle = (enabled: boolean) => ({
  async *run({ dataset_id }: { readonly dataset_id: string }, context: Context) {
    yield await setBuiltInFields(dataset_id, enabled, context);
  },
});

/** `kb metadata built-in enable` */
export const enable = toggle(true);
/** `kb metadata built-in disable` */
export const disable = toggle(false);
