import { isObject, own } from "../../../lib/json.ts";
import type { FieldValue } from "../documents/field-values.ts";
import type { DocumentState, KbState } from "./state.ts";

/** A document with the sum over its content; null where there is no content. */
export interface ComparedDocument extends DocumentState {
  readonly sha256: string | null;
}

/** One side of a comparison. */
export interface Side extends Omit<KbState, "documents"> {
  readonly documents: readonly ComparedDocument[];
}

/** One thing in which two sides differ; null where a side lacks it. */
export interface KbDifference {
  readonly what: "setting" | "tag" | "field" | "document" | "content" | "metadata" | "status";
  readonly name: string;
  readonly a: unknown;
  readonly b: unknown;
}

/**
 * All differences between two knowledge bases. Documents are matched by name, those of one name in
 * their order. The name of the knowledge base is no difference: a copy has another one.
 */
export function* diffKb(a: Side, b: Side): Generator<KbDifference> {
  for (const key of ["description", "permission", "indexing_technique", "doc_form"] as const) {
    yield* unlike("setting", key, a.settings[key], b.settings[key]);
  }
  yield* unlike(
    "setting",
    "embedding_model",
    a.settings.embedding_model,
    b.settings.embedding_model,
  );
  yield* settingDifferences(
    "retrieval_model",
    a.settings.retrieval_model,
    b.settings.retrieval_model,
  );
  yield* settingDifferences(
    "summary_index_setting",
    a.settings.summary_index_setting,
    b.settings.summary_index_setting,
  );
  yield* unlike("setting", "built_in_fields", a.built_in_fields, b.built_in_fields);
  yield* sets("tag", new Map(a.tags.map((tag) => [tag, tag])), new Map(b.tags.map((t) => [t, t])));
  const typesOf = ({ fields }: Side) => new Map(fields.map(({ name, type }) => [name, type]));
  yield* sets("field", typesOf(a), typesOf(b));
  const [left, right] = [byName(a.documents), byName(b.documents)];
  for (const key of new Set([...left.keys(), ...right.keys()])) {
    const [one, other] = [left.get(key), right.get(key)];
    const name = shownName(key);
    if (!one || !other) {
      yield { what: "document", name, a: one ? "there" : null, b: other ? "there" : null };
      continue;
    }
    yield* unlike("content", name, one.sha256, other.sha256);
    yield* unlike("status", name, statusOf(one), statusOf(other));
    for (const field of new Set([...Object.keys(one.metadata), ...Object.keys(other.metadata)])) {
      const label = `${name}: ${field}`;
      const values = info(own(one.metadata, field), own(other.metadata, field));
      yield* unlike("metadata", label, ...values);
    }
  }
}

/** Two values, with their types where nothing else tells them apart: `5` and `"5"`. */
function info(a: FieldValue | undefined, b: FieldValue | undefined): [unknown, unknown] {
  const alike = a !== b && a !== undefined && String(a) === String(b);
  return alike ? [typed(a), typed(b ?? "")] : [a ?? null, b ?? null];
}

const typed = (value: FieldValue): string =>
  `${value} (${typeof value === "string" ? "text" : "number"})`;

/**
 * What a knowledge base holds beside what is exported and compared. Chunks are made anew from the
 * documents, so what was changed in them by hand stays behind.
 */
export function notCarried({ doc_form }: KbState["settings"]): string {
  const parts = ["edited chunks"];
  if (doc_form === "hierarchical_model") parts.push("child chunks");
  if (doc_form === "qa_model") parts.push("questions and answers");
  return [...parts, "summaries"].join(", ");
}

function* unlike(what: KbDifference["what"], name: string, a: unknown, b: unknown) {
  if (a !== b) yield { what, name, a, b };
}

/** Settings inside settings; what one server leaves out and another says as null is the same. */
export function* settingDifferences(path: string, a: unknown, b: unknown): Generator<KbDifference> {
  if (!isObject(a) || !isObject(b)) {
    const [one, other] = [JSON.stringify(a ?? null), JSON.stringify(b ?? null)];
    if (one !== other) yield { what: "setting", name: path, a: a ?? null, b: b ?? null };
    return;
  }
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)]))
    yield* settingDifferences(`${path}.${key}`, own(a, key), own(b, key));
}

function* sets(
  what: KbDifference["what"],
  a: ReadonlyMap<string, string>,
  b: ReadonlyMap<string, string>,
): Generator<KbDifference> {
  for (const name of new Set([...a.keys(), ...b.keys()]))
    yield* unlike(what, name, a.get(name) ?? null, b.get(name) ?? null);
}

/** By name and the count among those of that name, which no name can hold: `a.md\0` and `2`. */
function byName(documents: readonly ComparedDocument[]): ReadonlyMap<string, ComparedDocument> {
  const found = new Map<string, ComparedDocument>();
  const counts = new Map<string, number>();
  for (const document of documents) {
    const count = (counts.get(document.name) ?? 0) + 1;
    counts.set(document.name, count);
    found.set(`${document.name}\0${count}`, document);
  }
  return found;
}

/** `a.md`, and `a.md #2` for the second of that name. */
const shownName = (key: string): string =>
  key.replace(/\0(\d+)$/, (_, n) => (n === "1" ? "" : ` #${n}`));

const statusOf = ({ enabled, archived, indexing_status }: DocumentState): string =>
  [
    ...(archived ? ["archived"] : []),
    ...(enabled ? [] : ["disabled"]),
    ...(indexing_status === "completed" ? [] : [indexing_status]),
  ].join(", ") || "enabled";
