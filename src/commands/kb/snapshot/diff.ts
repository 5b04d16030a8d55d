import { isObject, own } from "../../../lib/json.ts";
import type { DocumentState, FieldValue, KbState } from "../documents/index.ts";

/** A document with the hash of its content; null if it has none. */
export interface ComparedDocument extends DocumentState {
  readonly sha256: string | null;
}

/** One side of a comparison. */
export interface ComparedKb extends Omit<KbState, "documents"> {
  readonly documents: readonly ComparedDocument[];
}

/** One difference; null if a side lacks the value. */
export interface KbDifference {
  readonly what: "setting" | "tag" | "field" | "document" | "content" | "metadata" | "status";
  readonly name: string;
  readonly a: unknown;
  readonly b: unknown;
}

const plainSettings = [
  "description",
  "permission",
  "indexing_technique",
  "doc_form",
  "embedding_model",
] as const;
const nestedSettings = ["retrieval_model", "summary_index_setting"] as const;

/**
 * Yields all differences between two knowledge bases. Documents are matched by name, those of the same
 * name by position. The name of the knowledge base is not compared, as a copy has another one.
 */
export function* diffKb(a: ComparedKb, b: ComparedKb): Generator<KbDifference> {
  for (const key of plainSettings)
    yield* diffValue("setting", key, a.settings[key], b.settings[key]);
  for (const key of nestedSettings) yield* diffSetting(key, a.settings[key], b.settings[key]);
  yield* diffValue("setting", "built_in_fields", a.built_in_fields, b.built_in_fields);
  const tagsOf = ({ tags }: ComparedKb) => new Map(tags.map((tag) => [tag, tag]));
  yield* diffMaps("tag", tagsOf(a), tagsOf(b));
  const typesOf = ({ fields }: ComparedKb) => new Map(fields.map(({ name, type }) => [name, type]));
  yield* diffMaps("field", typesOf(a), typesOf(b));
  const [left, right] = [byNameAndCount(a.documents), byNameAndCount(b.documents)];
  for (const key of new Set([...left.keys(), ...right.keys()]))
    yield* diffDocument(displayName(key), left.get(key), right.get(key));
}

function* diffDocument(
  name: string,
  a: ComparedDocument | undefined,
  b: ComparedDocument | undefined,
): Generator<KbDifference> {
  if (!a || !b) {
    yield { what: "document", name, a: a ? "there" : null, b: b ? "there" : null };
    return;
  }
  yield* diffValue("content", name, a.sha256, b.sha256);
  yield* diffValue("status", name, statusOf(a), statusOf(b));
  for (const field of new Set([...Object.keys(a.metadata), ...Object.keys(b.metadata)])) {
    const values = comparable(own(a.metadata, field), own(b.metadata, field));
    yield* diffValue("metadata", `${name}: ${field}`, ...values);
  }
}

/** Adds types to two values that look the same: 5 and "5" → `5 (number)` and `5 (text)`. */
function comparable(a: FieldValue | undefined, b: FieldValue | undefined): [unknown, unknown] {
  const looksSame = a !== b && a !== undefined && String(a) === String(b);
  return looksSame ? [withType(a), withType(b ?? "")] : [a ?? null, b ?? null];
}

const withType = (value: FieldValue): string =>
  `${value} (${typeof value === "string" ? "text" : "number"})`;

/** What exports and comparisons do not include, as an import chunks the documents again. */
export function notExported({ doc_form }: KbState["settings"]): string {
  const parts = ["edited chunks"];
  if (doc_form === "hierarchical_model") parts.push("child chunks");
  if (doc_form === "qa_model") parts.push("questions and answers");
  return [...parts, "summaries"].join(", ");
}

function* diffValue(what: KbDifference["what"], name: string, a: unknown, b: unknown) {
  if (a !== b) yield { what, name, a, b };
}

/** Compares nested settings; a missing value equals null, as servers differ in that. */
export function* diffSetting(path: string, a: unknown, b: unknown): Generator<KbDifference> {
  if (!isObject(a) || !isObject(b)) {
    if (JSON.stringify(a ?? null) !== JSON.stringify(b ?? null))
      yield { what: "setting", name: path, a: a ?? null, b: b ?? null };
    return;
  }
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)]))
    yield* diffSetting(`${path}.${key}`, own(a, key), own(b, key));
}

function* diffMaps(
  what: KbDifference["what"],
  a: ReadonlyMap<string, string>,
  b: ReadonlyMap<string, string>,
): Generator<KbDifference> {
  for (const name of new Set([...a.keys(), ...b.keys()]))
    yield* diffValue(what, name, a.get(name) ?? null, b.get(name) ?? null);
}

/** Documents by name and position among those of the name: `a.md\0` and `2`; names have no NUL. */
function byNameAndCount(
  documents: readonly ComparedDocument[],
): ReadonlyMap<string, ComparedDocument> {
  const byKey = new Map<string, ComparedDocument>();
  const counts = new Map<string, number>();
  for (const document of documents) {
    const count = (counts.get(document.name) ?? 0) + 1;
    counts.set(document.name, count);
    byKey.set(`${document.name}\0${count}`, document);
  }
  return byKey;
}

/** `a.md` for the first document of a name, `a.md #2` for the second. */
const displayName = (key: string): string =>
  key.replace(/\0(\d+)$/, (_, count) => (count === "1" ? "" : ` #${count}`));

const statusOf = ({ enabled, archived, indexing_status }: DocumentState): string =>
  [
    ...(archived ? ["archived"] : []),
    ...(enabled ? [] : ["disabled"]),
    ...(indexing_status === "completed" ? [] : [indexing_status]),
  ].join(", ") || "enabled";
