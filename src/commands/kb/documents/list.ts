import { usage } from "../../../errors.ts";
import { listDocuments } from "../../../operations/documents.ts";
import type { Document } from "../../../operations/documents.ts";
import { own, stringifyJson } from "../../../lib/json.ts";
import { getMetadataOverview, listBuiltInFields } from "../../../operations/metadata.ts";
import { readColumns } from "../../../operations/operation.ts";
import type { ColumnKind, Input } from "../../../operations/operation.ts";
import { parseCondition, readFieldCheck } from "../../conditions/index.ts";
import type { ConditionField, FieldKind, Scope } from "../../conditions/index.ts";
import { matchingRows, noticeRowCount } from "../../task/row-counts.ts";
import type { Context, Ending, EngineTools } from "../../task/command-spec.ts";
import { newCounter } from "../../../api/pages.ts";
import type { listParams } from "./command.ts";
import { fieldValue } from "./field-values.ts";
import type { FieldState } from "./state.ts";
import type { FieldType } from "./field-values.ts";
import { isNumeric } from "../../../lib/exact-number.ts";

/** Lists documents, newest first; with conditions, those of all documents that meet them. */
export async function* run(
  { where = [], ...sent }: Input<typeof listParams>,
  context: Context,
  { valueColumns: columns }: EngineTools,
): AsyncGenerator<Document, Ending> {
  const isAboutFields = where.length > 0 || columns.length > 0;
  const fields = isAboutFields ? await fieldsOf(sent.dataset_id, context) : [];
  requireFields(columns, fields);
  if (where.length > 0) {
    const scope = scopeOf(fields);
    const checks = where.map((text) => parseCondition("--where", text, scope));
    const others = new Set<string>();
    let kept = 0;
    const keeps = (document: Document) => {
      const failed = checks.map(({ evaluate }) => evaluate(document)).find(isNotMet);
      if (failed && others.size < MAX_VALUES) others.add(failed.actual);
      if (!failed) kept++;
      return !failed;
    };
    yield* matchingRows(listDocuments, sent, keeps, context);
    others.delete("");
    if (kept === 0 && others.size > 0)
      await context.notice(`found instead: ${[...others].join(", ")}`);
    return {};
  }
  const counter = newCounter();
  yield* context.api.rows(listDocuments, sent, { ...context.options.rows, counter });
  await noticeRowCount(counter, context);
  return { counter };
}

/** How many values are shown of documents that do not meet a condition. */
const MAX_VALUES = 5;

const isNotMet = ({ passed }: { readonly passed: boolean | undefined }): boolean => passed !== true;

/** The metadata fields of a knowledge base, with the built-in ones if they are on. */
async function fieldsOf(dataset_id: string, { api }: Context): Promise<readonly FieldState[]> {
  const overview = await api.call(getMetadataOverview, { dataset_id });
  const builtIn = overview.built_in_field_enabled
    ? await api.call(listBuiltInFields, { dataset_id })
    : [];
  return [...overview.doc_metadata, ...builtIn];
}

/** Before the name of a field that is also that of a column. */
const fieldPrefix = `${listDocuments.returns.values}.`;

function requireFields(columns: readonly string[], fields: readonly FieldState[]): void {
  const names = fields.map(({ name }) => name);
  const isKnown = (column: string) =>
    names.includes(column) || names.includes(column.replace(/^(doc_)?metadata\./, ""));
  const unknown = columns.find((column) => !isKnown(column));
  if (unknown === undefined) return;
  const builtIn = builtInColumns.map(({ label }) => label);
  const list = names.length === 0 ? "it has no metadata fields" : `fields are ${names.join(", ")}`;
  throw usage(
    `column ${JSON.stringify(unknown)} not found in the knowledge base`,
    `columns are ${builtIn.join(", ")}; ${list}`,
    { details: { columns: [...builtIn, ...names] } },
  );
}

const builtInColumns = readColumns(listDocuments.returns.columns);

const columnKinds: Readonly<Partial<Record<ColumnKind, FieldKind>>> = {
  time: "time",
  count: "number",
  bytes: "number",
};

const fieldKinds = { string: "text", number: "number", time: "time" } as const;

type DocumentField = ConditionField<Document>;

/** What conditions can be about: the columns of a document, also by the names in its JSON, and its metadata. */
function scopeOf(fields: readonly FieldState[]): Scope<Document> {
  const field = (kind: FieldKind, read: (document: Document) => unknown): DocumentField => ({
    kind,
    read: (document) => {
      const value = read(document);
      const known = value instanceof Date ? value.getTime() / 1000 : value;
      const actual = typeof known === "string" ? stringifyJson(known) : "";
      return { value: known ?? undefined, missing: "differs", actual };
    },
  });
  const labels = builtInColumns.map(({ label }) => label);
  // As in --columns, a column hides a field of its name.
  const nameOf = (name: string) => (labels.includes(name) ? fieldPrefix + name : name);
  const columns = builtInColumns.map(({ label, path, kind, value }) => {
    return { label, path, field: field((kind && columnKinds[kind]) ?? "text", value) };
  });
  const all = Object.fromEntries([
    ...columns.map(({ path = "", field }) => [path, field] as const),
    ...columns.map(({ label, field }) => [label, field] as const),
    ...fields.map(({ name, type }) => {
      return [nameOf(name), field(fieldKinds[type], valueOf(name, type))] as const;
    }),
  ]) as Readonly<Record<string, DocumentField>>;
  return {
    fields: all,
    quoted(reader) {
      const { at } = reader;
      const name = reader.text();
      const named = own(all, name);
      if (named) return readFieldCheck(reader, name, named);
      throw reader.error(
        at,
        `unknown field ${name}`,
        `valid fields: ${Object.keys(all).join(", ")}`,
      );
    },
  };
}

/** Reads a metadata value as its field stores it: lists of some servers have numbers as text (server §9.5). */
const valueOf =
  (name: string, type: FieldType) =>
  ({ doc_metadata }: Document): unknown => {
    const value = doc_metadata?.find((each) => each.name === name)?.value;
    const isPlain = typeof value === "string" || isNumeric(value);
    return isPlain ? (fieldValue(type, value) ?? value) : undefined;
  };
