import { mapAll } from "../../../api/concurrent-map.ts";
import { newCounter, requireComplete } from "../../../api/pages.ts";
import { invalidResponse, requireField } from "../../../api/response.ts";
import { collect } from "../../../lib/collect.ts";
import { valueAt, own } from "../../../lib/json.ts";
import { getDocument, listDocuments } from "../../../operations/documents.ts";
import type { Document, StoredProcessRule } from "../../../operations/documents.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import { getMetadataOverview } from "../../../operations/metadata.ts";
import { hasAmbiguousValue, responseValues, storedValues } from "./field-values.ts";
import type { FieldType, FieldTypes, FieldValues } from "./field-values.ts";
import { indexingStatusOf } from "./indexing-status.ts";
import type { Context } from "../../task/command-spec.ts";
import { automaticProcessRule, defaultByForm } from "../../../operations/shared.ts";

/** A knowledge base without its IDs and documents. */
export interface KbProperties {
  readonly settings: KbSettings;
  /** Sorted names. */
  readonly tags: readonly string[];
  /** Sorted by name, without built-in fields. */
  readonly fields: readonly FieldState[];
  readonly built_in_fields: boolean;
}

/** State of a knowledge base, to compare two or to create one again. */
export interface KbState extends KbProperties {
  /** In the order of their creation. */
  readonly documents: readonly DocumentState[];
}

/** Settings as `kb create` takes them. */
export interface KbSettings {
  readonly name: string;
  readonly description: string;
  readonly permission: string;
  readonly indexing_technique: string | null;
  readonly doc_form: string | null;
  /** `provider/model`; null if there is none. */
  readonly embedding_model: string | null;
  readonly retrieval_model: unknown;
  /** How documents are summarized; null if they are not. */
  readonly summary_index_setting: unknown;
}

export interface FieldState {
  readonly name: string;
  readonly type: FieldType;
}

/** A document without its content. */
export interface DocumentState {
  readonly id: string;
  readonly name: string;
  /** ID of the stored file, which changes with every write of the content; null if there is none. */
  readonly stored: string | null;
  /** Was it created from text (server §9.1) and not from a file? */
  readonly from_text: boolean;
  /** Was its content written by a create of the API? */
  readonly from_api: boolean;
  readonly enabled: boolean;
  readonly archived: boolean;
  readonly indexing_status: string;
  /** Why it is not indexed, or why no search finds it. */
  readonly error: string | null;
  /** Values as their fields store them, without built-in fields. */
  readonly metadata: FieldValues;
  /** Key of its chunking rule. */
  readonly rule: string | null;
}

/** Reads a knowledge base without its documents. */
export async function readKb(dataset_id: string, context: Context): Promise<KbProperties> {
  const kb = await context.api.call(getKnowledgeBase, { dataset_id });
  const overview = await context.api.call(getMetadataOverview, { dataset_id });
  return {
    settings: settingsOf(kb),
    tags: requireField(kb.tags, "tags")
      .map(({ name }) => name)
      .sort(),
    fields: overview.doc_metadata
      .map(({ name, type }) => ({ name, type }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    built_in_fields: overview.built_in_field_enabled,
  };
}

/** Reads a knowledge base and its documents; `exact` reads the details of those whose entry may have numbers as text. */
export async function readKbState(
  dataset_id: string,
  context: Context,
  { exact = false } = {},
): Promise<KbState> {
  const kb = await readKb(dataset_id, context);
  const listed = await collect(countedDocuments(dataset_id, context));
  const types = new Map(kb.fields.map(({ name, type }) => [name, type]));
  const exactValues = exact ? await detailValues(dataset_id, listed, types, context) : undefined;
  const documents = listed
    .toSorted(
      (a, b) => (a.position ?? 0) - (b.position ?? 0) || (a.created_at ?? 0) - (b.created_at ?? 0),
    )
    .map((document) => {
      const state = documentState(document, types);
      return { ...state, metadata: exactValues?.get(document.id) ?? state.metadata };
    });
  return { ...kb, documents };
}

/** Values from the details of those documents whose list entry is ambiguous, by document ID. */
async function detailValues(
  dataset_id: string,
  listed: readonly Document[],
  types: FieldTypes,
  context: Context,
): Promise<ReadonlyMap<string, FieldValues>> {
  const ambiguous = listed.filter((each) => hasAmbiguousValue(each.doc_metadata, types));
  const total = ambiguous.length;
  let done = 0;
  const values = await mapAll(ambiguous, context.api.limitConcurrency(), async ({ id }) => {
    const input = { dataset_id, document_id: id, metadata: "only" } as const;
    const { doc_metadata } = await context.api.call(getDocument, input);
    context.progress({ verb: "Reading metadata", done: ++done, total, unit: "documents" });
    return [id, storedValues(doc_metadata)] as const;
  });
  return new Map(values);
}

const settingsOf = (kb: KnowledgeBase): KbSettings => ({
  name: kb.name,
  description: kb.description ?? "",
  permission: requireField(kb.permission, "permission"),
  indexing_technique: kb.indexing_technique ?? null,
  doc_form: kb.doc_form ?? null,
  embedding_model: kb.embedding_model
    ? `${kb.embedding_model_provider ?? ""}/${kb.embedding_model}`
    : null,
  retrieval_model: requireField(kb.retrieval_model_dict, "retrieval_model_dict"),
  summary_index_setting: kb.summary_index_setting?.enable ? kb.summary_index_setting : null,
});

function documentState(document: Document, types: FieldTypes): DocumentState {
  requireField(document.data_source_info, "data_source_info"); // it has the ID of the stored file
  requirePath(document);
  const extension = valueAt(document, "data_source_detail_dict.upload_file.extension");
  return {
    id: document.id,
    name: document.name,
    stored: storedFile(document),
    from_text: extension === "txt" && !isFileName(document.name),
    from_api: valueAt(document, "created_from") === "api",
    enabled: requireField(document.enabled, "enabled"),
    archived: requireField(document.archived, "archived"),
    indexing_status: requireField(document.indexing_status, "indexing_status"),
    error: indexingStatusOf(document).error,
    metadata: storedValues(document.doc_metadata, types),
    rule: document.dataset_process_rule_id ?? null,
  };
}

/** Throws for a path that is something else than a text: a sync would take the document for another and create its file once more. */
function requirePath({ name, doc_metadata }: Document): void {
  const marks = responseValues(doc_metadata).filter((each) => each.name === syncFields.path);
  if (marks.some(({ value }) => value !== null && typeof value !== "string"))
    throw invalidResponse(`${syncFields.path} of document ${name} is not a text`);
}

/** ID of the stored file of a document, in lists and in responses to writes; null if there is none. */
export function storedFile(document: unknown): string | null {
  const id = valueAt(document, "data_source_info.upload_file_id");
  return typeof id === "string" && id !== "" ? id : null;
}

/** Can an uploaded text file have this name? Their names have no slashes. */
const isFileName = (name: string): boolean => /^[^/\\]*\.txt$/i.test(name);

/** Documents whose rules are read. */
interface RulesOf {
  readonly dataset_id: string;
  readonly state: KbState;
  readonly known?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Reads the chunking rules of all documents, in the form that create takes, by rule ID. `known` are rules of this
 * knowledge base that were read before: none is ever changed (server §6.2).
 */
export async function readRules(
  { dataset_id, state, known = {} }: RulesOf,
  context: Context,
): Promise<Readonly<Record<string, unknown>>> {
  const documentWithRule = new Map<string, string>();
  for (const { id, rule } of state.documents) {
    if (rule !== null && !documentWithRule.has(rule)) documentWithRule.set(rule, id);
  }
  const limit = context.api.limitConcurrency();
  const rules = await mapAll([...documentWithRule], limit, async ([rule, document_id]) => {
    return [rule, own(known, rule) ?? (await ruleOf(dataset_id, document_id, context))] as const;
  });
  return Object.fromEntries(rules);
}

/** All documents, counted while the list is read. Throws failure if the list is known to be incomplete. */
export async function* countedDocuments(
  dataset_id: string,
  context: Context,
): AsyncGenerator<Document> {
  const counter = newCounter();
  const all = context.api.rows(listDocuments, { dataset_id }, { counter });
  for await (const document of all) {
    const { shown: done, total } = counter;
    context.progress({ verb: "Reading", done, total, unit: "documents" });
    yield document;
  }
  requireComplete(counter);
}

/**
 * The chunking rule to send for a document of a form: the given one, or the default one of a form that
 * needs another mode. Without it the server completes the document without chunks (server §9.8).
 */
export function ruleFor(doc_form: string | null, rule: unknown): unknown {
  const needed = own(defaultByForm, doc_form ?? "");
  return needed === undefined || valueAt(rule, "mode") === needed.mode ? rule : needed;
}

/** A stored rule in the form that requests accept; stored automatic rules have more (server §6.2). */
export function sendableRule(stored: Partial<StoredProcessRule> | null | undefined): unknown {
  if (!stored?.mode || stored.mode === "automatic" || !stored.rules) return automaticProcessRule;
  const { parent_mode, subchunk_segmentation, ...rest } = stored.rules;
  return {
    mode: stored.mode,
    rules: {
      ...rest,
      ...(parent_mode && { parent_mode }),
      ...(subchunk_segmentation && { subchunk_segmentation }),
    },
  };
}

/** Reads the chunking rule of a document, in the form that requests accept. */
export async function ruleOf(
  dataset_id: string,
  document_id: string,
  context: Context,
): Promise<unknown> {
  const input = { dataset_id, document_id, metadata: "without" } as const;
  const { document_process_rule } = await context.api.call(getDocument, input);
  return sendableRule(document_process_rule);
}

/** Reads the last chunking rule, which the newest document shows; the automatic one if there are no documents. */
export async function newestRule(dataset_id: string, context: Context): Promise<unknown> {
  const newest = context.api.rows(listDocuments, { dataset_id }, { limit: 1 });
  for await (const { id: document_id } of newest) {
    const input = { dataset_id, document_id, metadata: "without" } as const;
    const { dataset_process_rule, doc_form = null } = await context.api.call(getDocument, input);
    return ruleFor(doc_form, sendableRule(dataset_process_rule));
  }
  return automaticProcessRule;
}

/**
 * Metadata fields with which a sync marks a document: its file, its content (a hash, and the ID of the
 * stored file that had it, which changes with every other write, server §9.5) and its source, with the fingerprint
 * that a source other than a directory has for this content.
 */
export const syncFields = {
  path: "kb_path",
  hash: "kb_hash",
  source: "kb_source",
  stored: "kb_file",
  fingerprint: "kb_fingerprint",
} as const;

/** Built-in fields of every server (server §7). */
const builtInFields = ["document_name", "uploader", "upload_date", "last_update_date", "source"];
/** Limit for the name of a field (server §11). */
const MAX_FIELD_LENGTH = 255;

/** Can users set a field of this name? */
export const isCustomField = (name: string): boolean =>
  name !== "" &&
  [...name].length <= MAX_FIELD_LENGTH &&
  !builtInFields.includes(name) &&
  !Object.values<string>(syncFields).includes(name);

/** A file or text, by its SHA-256; null if it is not known. */
interface Content {
  readonly hash: string | null;
}

/** Marks a hash whose content is not indexed yet. */
export const pendingHash = (hash: string): string => `pending:${hash}`;

/** Do the marks prove that a document has the content of a file? */
export const isKnownToHold = (document: DocumentState, { hash }: Content): boolean =>
  document.metadata[syncFields.hash] === hash && isUntouched(document);

/** Is the stored file that of the last sync? Without its ID, only the hash counts. */
const isUntouched = ({ stored, metadata }: DocumentState): boolean =>
  stored === null || metadata[syncFields.stored] === stored;

/** Can a document already have the content of a file? */
export function mayHold({ metadata }: DocumentState, { hash }: Content): boolean {
  const current = metadata[syncFields.hash];
  return current === undefined || current === hash || current === pendingHash(hash ?? "");
}

/** Did something other than a sync write the content of a document? */
export const isTouched = (document: DocumentState, { hash }: Content): boolean =>
  document.metadata[syncFields.hash] === hash ||
  (document.metadata[syncFields.stored] !== undefined && !isUntouched(document));

/** Is it the address of a source that is not a directory: `exec:PROGRAM`, `git+URL`, or the mark of a sheet? */
export const isAddress = (source: unknown): boolean =>
  /^(?:(?:git|web)\+\w+|rclone|exec|rows):/.test(String(source));

/** Marks a document whose chunks are the rows of a sheet; its own content says nothing. */
export const sheetMark = (name: string): string => `rows:${name}`;

/** The text of the document of a sheet, because the server makes none without a text. */
export const PLACEHOLDER = "placeholder";

/** Are the chunks of a document not made of its text: rows of a sheet, or questions of a model? */
export const hasOwnChunks = (
  { doc_form }: { readonly doc_form?: string | null | undefined },
  source: unknown,
): boolean => doc_form === "qa_model" || String(source).startsWith(sheetMark(""));
