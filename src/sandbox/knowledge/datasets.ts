import { isUuid } from "../../lib/text.ts";
import { isObject } from "../../lib/json.ts";
import type * as operations from "../../operations/knowledge.ts";
import type { InputOf } from "../../operations/operation.ts";
import { internalServerError } from "../protocol/response.ts";
import { atLeast } from "../../lib/version.ts";
import type { Call } from "../protocol/handler.ts";
import { checkFlagParam, pageFields, parsePage } from "../protocol/validation.ts";
import { account } from "../protocol/ids.ts";
import { getDataset } from "./records/knowledge-store.ts";
import type { DatasetRow, KnowledgeContext, KnowledgeHandlers } from "./records/knowledge-store.ts";
import {
  chooseEmbedding,
  isAvailable,
  isHighQuality,
  withModelErrors,
  type EmbeddingChoice,
  dropVectors,
} from "./indexing/segments.ts";
import { builtInFields, fieldResponse, documentMetadata } from "./records/metadata-values.ts";
import { runtimeFields } from "./pipelines/pipelines.ts";
import {
  knowledgeError,
  segmentResponse,
  toResponse,
  withDefaults,
  type SearchSettings,
  searchSettingsResponse,
  DEFAULT_SETTINGS,
} from "./records/responses.ts";
import { listDatasetTags } from "./tags.ts";
import { findChunks } from "./retrieval/retrieve.ts";
import type { Changes } from "../storage/table.ts";
import { embedAsBefore, requeueForEmbedding } from "./indexing/indexing.ts";

/** Knowledge bases: list, creation, settings, deletion and search. */
export const datasetHandlers: KnowledgeHandlers<typeof operations> = {
  listKnowledgeBases(context, { keyword, tag_ids = [] }, call) {
    const page = parsePage(call, "DatasetListQuery");
    checkFlagParam(call, "include_all", "DatasetListQuery");
    const needsAllTags = atLeast(call.version, "1.15.0"); // before, any of them (server §5)
    // The server passes the texts to its database, which accepts only UUIDs.
    if (needsAllTags && !tag_ids.every(isUuid)) throw internalServerError();
    const tags = [...new Set(tag_ids)];
    const minTags = needsAllTags ? tags.length : Math.min(1, tags.length);
    const where = `(?1 IS NULL OR instr(lower(name), lower(?1)) > 0) AND ?3 <=
      (SELECT count(*) FROM tag_bindings
       WHERE dataset_id = datasets.id AND tag_id IN (SELECT value FROM json_each(?2)))`;
    const values = [keyword ?? null, JSON.stringify(tags), minTags];
    const order = "created_at / 1000 DESC, id";
    const { rows, total } = context.datasets.page(where, order, values, page);
    const data = rows.map((row) => datasetResponse(context, row, true, call));
    return { json: { data, ...pageFields(page, rows.length, total) } };
  },

  createKnowledgeBase(context, input, call) {
    checkName(context, input.name);
    const embedding = chooseEmbedding(context, input.indexing_technique, input);
    if (input.provider === "external") checkExternal(input);
    const { summary_index_setting: summary } = input;
    const dataset = context.datasets.insert({
      name: input.name,
      description: input.description ?? "",
      provider: input.provider ?? "vendor",
      permission: input.permission ?? "only_me",
      members: [],
      indexing_technique: input.indexing_technique ?? null,
      ...embedding,
      retrieval_model: settingsIn(input) ?? null,
      summary_index_setting: isObject(summary) ? summary : null,
      built_in: false,
    });
    return { json: datasetResponse(context, dataset, null, call) };
  },

  getKnowledgeBase(context, { dataset_id }, call) {
    const dataset = getDataset(context, dataset_id);
    const { members, permission } = dataset;
    return {
      json: {
        ...datasetResponse(context, dataset, isAvailable(context, dataset), call),
        // Only this route returns the effective search method (server §6).
        retrieval_model_dict: {
          ...searchSettingsResponse(dataset.retrieval_model),
          ...(!isHighQuality(dataset) && { search_method: "keyword_search" }),
        },
        ...(permission === "partial_members" && { partial_member_list: members }),
      },
    };
  },

  updateKnowledgeBase(context, input, call) {
    const dataset = getDataset(context, input.dataset_id);
    const { id } = dataset;
    if (input.name !== undefined) checkName(context, input.name, dataset);
    const embedding = switchEmbedding(context, dataset, input);
    const permission = input.permission ?? dataset.permission;
    const members = memberIds(input.partial_member_list) ?? dataset.members;
    const partial_member_list = permission === "partial_members" ? members : [];
    // Null clears the description; other nulls change nothing (server §8).
    const clears = isObject(call.body) && call.body["description"] === null;
    context.datasets.update(
      { id },
      {
        name: input.name,
        description: clears ? null : input.description,
        permission,
        members: partial_member_list,
        ...embedding,
        retrieval_model: settingsIn(input),
        updated_at: context.now(),
      },
    );
    const response = datasetResponse(context, getDataset(context, id), null, call);
    return { json: { ...response, partial_member_list } };
  },

  deleteKnowledgeBase(context, input) {
    const { id } = getDataset(context, input.dataset_id);
    context.datasets.delete({ id });
    return { status: 204 };
  },

  searchKnowledgeBase(context, input) {
    const dataset = getDataset(context, input.dataset_id);
    const { query, attachment_ids = [] } = input;
    if (query === "" && attachment_ids.length === 0) throw knowledgeError("query missing");
    // Validated with the request.
    const sent = input.retrieval_model as SearchSettings | undefined;
    const settings = sent ?? dataset.retrieval_model ?? DEFAULT_SETTINGS;
    const found = withModelErrors(() => findChunks(context, dataset, query, settings));
    const records = found.map(({ segment, document, score, children: child_chunks }) => {
      const metadata = documentMetadata(context, dataset, document);
      const chunk = segmentResponse(segment, { keywords: segment.keywords ?? [] });
      const { updated_at: _at, updated_by: _by, child_chunks: _children, ...rest } = chunk;
      const { attachments: _files, summary, ...shown } = rest;
      const found_in = {
        id: document.id,
        data_source_type: document.source?.datasource_type ?? "upload_file",
        name: document.name,
        doc_type: null,
        doc_metadata: metadata.length === 0 ? null : metadata,
      };
      const result = { ...shown, sign_content: null, error: null, document: found_in };
      return toResponse("search_record", {}, { segment: result, child_chunks, score, summary });
    });
    return { json: { query: { content: query }, records } };
  },
};

// Validated with the request.
const settingsIn = (input: { readonly retrieval_model?: unknown }) =>
  input.retrieval_model as SearchSettings | undefined;

/** A knowledge base in a response; `embedding_available` depends on the route. */
function datasetResponse(
  context: KnowledgeContext,
  row: DatasetRow,
  embedding_available: boolean | null,
  { version }: Call,
): object {
  const counts = context.store.get<Record<"documents" | "available" | "words", number>>(
    `SELECT count(*) AS documents, ifnull(sum(word_count), 0) AS words,
       ifnull(sum(indexing_status = 'completed' AND enabled AND NOT archived), 0) AS available
     FROM documents WHERE dataset_id = ?`,
    row.id,
  );
  const settings = row.retrieval_model;
  const builtIn = builtInFields.map((field) => ({ id: "built-in", ...field }));
  return toResponse("dataset", row, {
    ...counts,
    ...runtimeFields(row, counts?.documents ? "upload_file" : null),
    maintainer: atLeast(version, "1.15.0") ? account.id : undefined,
    embedding_available,
    retrieval_model_dict: searchSettingsResponse(settings),
    summary_index_setting: {
      ...withDefaults("summary_index_setting", null),
      ...row.summary_index_setting,
    },
    tags: listDatasetTags(context, row.id).map((tag) => ({ ...tag, type: "knowledge" })),
    external_retrieval_model: {
      top_k: settings?.top_k ?? 2,
      score_threshold: settings ? (settings.score_threshold ?? null) : 0,
      score_threshold_enabled: settings && settings.score_threshold_enabled,
    },
    doc_metadata: [
      ...context.metadata_fields.list({ dataset_id: row.id }).map(fieldResponse),
      ...(row.built_in ? builtIn : []),
    ],
  });
}

/** Throws HttpError for a name that a knowledge base cannot get; `renamed` has one. */
function checkName({ datasets }: KnowledgeContext, name: string, renamed?: DatasetRow): void {
  if (name.includes("\0")) throw knowledgeError("text with NUL");
  const other = datasets.find({ name });
  if (!other || other.id === renamed?.id) return;
  throw knowledgeError(renamed ? "dataset name taken" : "dataset name taken by another");
}

/** No external knowledge API exists; without an ID the server creates an unusable knowledge base. */
function checkExternal(sent: InputOf<typeof operations.createKnowledgeBase>): void {
  if (!sent.external_knowledge_api_id) return;
  const isNamed = Boolean(sent.external_knowledge_id);
  throw knowledgeError(isNamed ? "external API missing" : "external knowledge missing");
}

function memberIds(sent: unknown): string[] | undefined {
  if (!Array.isArray(sent)) return undefined;
  return sent.filter(isObject).map((member) => String(member["user_id"]));
}

/**
 * The technique and model of a knowledge base after an update. Only another model together with the
 * technique embeds the documents again; a model alone is stored, and fits them no longer. Servers of
 * 1.16 lose a race: they embed before they store the change (server §8).
 */
function switchEmbedding(
  context: KnowledgeContext,
  dataset: DatasetRow,
  sent: EmbeddingChoice & { readonly indexing_technique?: string | null | undefined },
): Changes<DatasetRow> {
  const { indexing_technique, embedding_model, embedding_model_provider } = sent;
  const named = { ...(embedding_model && { embedding_model }) };
  if (!indexing_technique) return isHighQuality(dataset) ? named : {};
  if (indexing_technique !== "high_quality") {
    dropVectors(context, dataset);
    return { indexing_technique, embedding_model: null, embedding_model_provider: null };
  }
  if (context.model && (!embedding_model || !embedding_model_provider)) {
    if (!isHighQuality(dataset)) throw internalServerError();
    return named;
  }
  const chosen = chooseEmbedding(context, indexing_technique, sent);
  if (isHighQuality(dataset) && chosen.embedding_model === dataset.embedding_model) return {};
  dropVectors(context, dataset);
  if (atLeast(context.version, "1.16.0")) embedAsBefore(context, dataset);
  else requeueForEmbedding(context, dataset.id);
  return { indexing_technique, ...chosen };
}
