import { define } from "../../../lib/json.ts";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { requireField } from "../../../api/response-fields.ts";
import { getDocument, listDocuments } from "../../../operations/documents.ts";
import type { Document } from "../../../operations/documents.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import { getMetadataOverview } from "../../../operations/metadata.ts";
import { asShown, isOpen, storedValues } from "../documents/field-values.ts";
import type { FieldType, FieldTypes, FieldValues } from "../documents/field-values.ts";
import { valueAt } from "../../../lib/json.ts";
import { ruleOf } from "../documents/process-rule.ts";
import type { Context } from "../../command-spec.ts";

/** What a knowledge base holds, said without ids, so that two can be compared and one made again. */
export interface KbState {
  readonly settings: KbSettings;
  /** Names, sorted. */
  readonly tags: readonly string[];
  /** By name, sorted; built-in ones aside. */
  readonly fields: readonly FieldState[];
  readonly built_in_fields: boolean;
  /** In the order in which they were made. */
  readonly documents: readonly DocumentState[];
}

/** Settings as `kb create` takes them. */
export interface KbSettings {
  readonly name: string;
  readonly description: string;
  readonly permission: string;
  readonly indexing_technique: string | null;
  readonly doc_form: string | null;
  /** `provider/model`; null where none is used. */
  readonly embedding_model: string | null;
  readonly retrieval_model: unknown;
  /** How documents are summarised; null where they are not. */
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
  /** Changes whenever the content does: the id of the stored file. Null where there is no file. */
  readonly stored: string | null;
  /** Was it made from text (server §9.1), not from a file? */
  readonly from_text: boolean;
  readonly enabled: boolean;
  readonly archived: boolean;
  readonly indexing_status: string;
  /** Values by field name as the fields store them, built-in ones aside. */
  readonly metadata: FieldValues;
  /** Key into the rules. */
  readonly rule: string | null;
}

/** How exactly values are wanted. */
interface Reading {
  /** Asks for each document of which the list shows a number as text, whether it is one. */
  readonly exact?: boolean;
}

/** Reads a knowledge base: settings, tags, fields and the list of its documents. */
export async function stateOf(
  dataset_id: string,
  context: Context,
  { exact = false }: Reading = {},
): Promise<KbState> {
  const kb = await context.call(getKnowledgeBase, { dataset_id });
  const { doc_metadata, built_in_field_enabled } = await context.call(getMetadataOverview, {
    dataset_id,
  });
  const listed: Document[] = [];
  for await (const document of context.each(listDocuments, { dataset_id })) listed.push(document);
  const types = new Map(doc_metadata.map(({ name, type }) => [name, type]));
  const open = exact ? listed.filter((each) => isOpen(each.doc_metadata, types)) : [];
  const shown = new Map<string, FieldValues>();
  const read = ({ id: document_id }: Document) =>
    context.call(getDocument, { dataset_id, document_id, metadata: "only" });
  for await (const { id, doc_metadata: values } of mapConcurrent(open, 3, read))
    shown.set(id, asShown(values));
  const stateFor = (document: Document): DocumentState => ({
    ...documentState(document, types),
    ...(shown.has(document.id) && { metadata: shown.get(document.id) ?? {} }),
  });
  return {
    settings: settingsOf(kb),
    tags: tagsOf(kb),
    fields: doc_metadata
      .map(({ name, type }) => ({ name, type }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    built_in_fields: built_in_field_enabled,
    documents: listed
      .toSorted((a, b) => (a.position ?? 0) - (b.position ?? 0) || createdAt(a) - createdAt(b))
      .map(stateFor),
  };
}

/** Names of the tags of a knowledge base, sorted. */
export const tagsOf = ({ tags }: KnowledgeBase): string[] =>
  requireField(tags, "tags")
    .map(({ name }) => name)
    .sort();

export const settingsOf = (kb: KnowledgeBase): KbSettings => ({
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

const createdAt = ({ created_at = 0 }: Document): number => created_at;

function documentState(document: Document, types: FieldTypes): DocumentState {
  requireField(document.data_source_info, "data_source_info"); // without it nobody knows of a file
  const extension = valueAt(document, "data_source_detail_dict.upload_file.extension");
  return {
    id: document.id,
    name: document.name,
    stored: storedFile(document),
    from_text: extension === "txt" && !isFileName(document.name),
    enabled: requireField(document.enabled, "enabled"),
    archived: requireField(document.archived, "archived"),
    indexing_status: requireField(document.indexing_status, "indexing_status"),
    metadata: storedValues(document.doc_metadata, types),
    rule: document.dataset_process_rule_id ?? null,
  };
}

/** The id of the file behind a document, as lists and answers of writes show it; null for none. */
export function storedFile(document: unknown): string | null {
  const id = valueAt(document, "data_source_info.upload_file_id");
  return typeof id === "string" && id !== "" ? id : null;
}

/** Can a document of this name come from an uploaded text file? Their names have no slashes. */
const isFileName = (name: string): boolean => /^[^/\\]*\.txt$/i.test(name);

/** Chunking rules by the id that documents name, as create takes them. */
export async function rulesOf(
  dataset_id: string,
  state: KbState,
  context: Context,
): Promise<Readonly<Record<string, unknown>>> {
  const first = new Map<string, string>();
  for (const { id, rule } of state.documents) {
    if (rule !== null && !first.has(rule)) first.set(rule, id);
  }
  const rules: Record<string, unknown> = {};
  const read = async ([rule, document_id]: readonly [string, string]) =>
    [rule, await ruleOf(dataset_id, document_id, context)] as const;
  for await (const [rule, stored] of mapConcurrent([...first], 3, read))
    define(rules, rule, stored);
  return rules;
}
