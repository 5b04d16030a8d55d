import { define } from "../json.ts";
import { mapped } from "../api/mapped.ts";
import * as documents from "../operations/documents.ts";
import type { Document, StoredProcessRule } from "../operations/documents.ts";
import * as knowledge from "../operations/knowledge.ts";
import type { KnowledgeBase } from "../operations/knowledge.ts";
import * as metadata from "../operations/metadata.ts";
import type { Context } from "./task.ts";

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
}

export interface FieldState {
  readonly name: string;
  readonly type: "string" | "number" | "time";
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
  /** Values by field name, built-in ones aside. */
  readonly metadata: Readonly<Record<string, string | number>>;
  /** Key into the rules. */
  readonly rule: string | null;
}

/** Reads a knowledge base: settings, tags, fields and the list of its documents. */
export async function stateOf(dataset_id: string, context: Context): Promise<KbState> {
  const kb = await context.call(knowledge.show, { dataset_id });
  const { doc_metadata, built_in_field_enabled } = await context.call(metadata.overview, {
    dataset_id,
  });
  const listed: Document[] = [];
  for await (const document of context.each(documents.list, { dataset_id })) listed.push(document);
  return {
    settings: settingsOf(kb),
    tags: kb.tags.map(({ name }) => name).sort(),
    fields: doc_metadata
      .map(({ name, type }) => ({ name, type }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    built_in_fields: built_in_field_enabled,
    documents: listed
      .toSorted((a, b) => (a.position ?? 0) - (b.position ?? 0) || a.created_at - b.created_at)
      .map(documentState),
  };
}

export const settingsOf = (kb: KnowledgeBase): KbSettings => ({
  name: kb.name,
  description: kb.description ?? "",
  permission: kb.permission,
  indexing_technique: kb.indexing_technique,
  doc_form: kb.doc_form,
  embedding_model: kb.embedding_model
    ? `${kb.embedding_model_provider ?? ""}/${kb.embedding_model}`
    : null,
  retrieval_model: kb.retrieval_model_dict,
});

function documentState(document: Document): DocumentState {
  const file = document.data_source_detail_dict.upload_file;
  const values = document.doc_metadata
    .filter(({ id, value }) => id !== "built-in" && value !== null)
    .map(({ name, value }) => [name, typeof value === "boolean" ? Number(value) : value] as const);
  return {
    id: document.id,
    name: document.name,
    stored: document.data_source_info.upload_file_id ?? null,
    from_text: file?.extension === "txt" && !isFileName(document.name),
    enabled: document.enabled,
    archived: document.archived,
    indexing_status: document.indexing_status,
    metadata: Object.fromEntries(values) as DocumentState["metadata"], // nulls were left out above
    rule: document.dataset_process_rule_id,
  };
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
  const read = ([rule, document_id]: readonly [string, string]) =>
    context
      .call(documents.show, { dataset_id, document_id, metadata: "without" })
      .then((detail) => [rule, detail.document_process_rule] as const);
  for await (const [rule, stored] of mapped([...first], 3, read))
    define(rules, rule, sendable(stored));
  return rules;
}

/** A stored rule as it may be sent: automatic ones hold what a request may not (server §6.2). */
function sendable({ mode, rules }: Partial<StoredProcessRule>): unknown {
  if (mode === undefined || mode === "automatic" || !rules) return { mode: "automatic" };
  const { parent_mode, subchunk_segmentation, ...rest } = rules;
  return {
    mode,
    rules: {
      ...rest,
      ...(parent_mode && { parent_mode }),
      ...(subchunk_segmentation && { subchunk_segmentation }),
    },
  };
}
