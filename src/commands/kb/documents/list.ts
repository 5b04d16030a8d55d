import { usage } from "../../../errors.ts";
import { listDocuments } from "../../../operations/documents.ts";
import type { Document } from "../../../operations/documents.ts";
import { getMetadataOverview, listBuiltInFields } from "../../../operations/metadata.ts";
import { readColumns } from "../../../operations/operation.ts";
import type { Input } from "../../../operations/operation.ts";
import { parseCondition, rowScope } from "../../conditions/index.ts";
import type { Scope } from "../../conditions/index.ts";
import { matchingRows, noticeRowCount } from "../../task/row-counts.ts";
import type { Context, Ending, EngineTools } from "../../task/command-spec.ts";
import { collect, groupBy } from "../../../lib/collect.ts";
import { groupDigits } from "../../../lib/numbers.ts";
import { counted, firstNames, shortened } from "../../../lib/text.ts";
import { newCounter } from "../../../api/pages.ts";
import type { listParams } from "./command.ts";
import { fieldValue } from "./field-values.ts";
import { countedDocuments } from "./state.ts";
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
    const scope = scopeOf(fields, "differs");
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

const fieldKinds = { string: "text", number: "number", time: "time" } as const;

/** What conditions can be about: the columns of a document and its metadata. */
function scopeOf(fields: readonly FieldState[], missing?: "differs"): Scope<Document> {
  const labels = builtInColumns.map(({ label }) => label);
  // As in --columns, a column hides a field of its name.
  const nameOf = (name: string) => (labels.includes(name) ? fieldPrefix + name : name);
  const values = fields.map(
    ({ name, type }) => [nameOf(name), fieldKinds[type], valueOf(name, type)] as const,
  );
  return rowScope(builtInColumns, values, missing);
}

/**
 * The documents that meet all conditions, of the whole list, as a preview names them. What a document lacks is not
 * known to differ: a command changes only documents that it could judge. Throws usage for an invalid condition before it
 * reads the list, and failure for a list that is known to be incomplete.
 */
export async function documentsWhere(
  dataset_id: string,
  where: readonly string[],
  context: Context,
): Promise<Document[]> {
  const scope = scopeOf(await fieldsOf(dataset_id, context));
  const checks = where.map((text) => parseCondition("--where", text, scope));
  const all = await collect(countedDocuments(dataset_id, context));
  const byResult = groupBy(all, (document) => {
    const results = checks.map(({ evaluate }) => evaluate(document).passed);
    return [false, undefined, true].find((each) => results.includes(each));
  });
  const [found = [], unjudged = []] = [true, undefined].map((each) => byResult.get(each));
  const words = found.reduce((sum, { word_count }) => sum + (word_count ?? 0), 0);
  const most = context.options.dryRun ? found.length : undefined;
  const names = firstNames(
    found.map(({ name }) => shortened(name, 80)),
    most,
  );
  const shown = found.length === 0 ? "" : `: ${names} (${groupDigits(words)} words)`;
  const others = unjudged.length === 0 ? "" : `; not judged, without a value: ${unjudged.length}`;
  await context.notice(
    `${found.length} of ${counted(all.length, "document")} ${all.length === 1 ? "matches" : "match"}${shown}${others}`,
  );
  return found;
}

/** Reads a metadata value as its field stores it: lists of some servers have numbers as text (server §9.5). */
const valueOf =
  (name: string, type: FieldType) =>
  ({ doc_metadata }: Document): unknown => {
    const value = doc_metadata?.find((each) => each.name === name)?.value;
    const isPlain = typeof value === "string" || isNumeric(value);
    return isPlain ? (fieldValue(type, value) ?? value) : undefined;
  };
