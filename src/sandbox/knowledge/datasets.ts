import * as operations from "../../operations/knowledge.ts";
import { bindHandlers, type Call, type Handlers, HttpError } from "../http/handler.ts";
import {
  account,
  getDataset,
  type DatasetRow,
  type KnowledgeContext,
  deleteDocumentRow,
  type DocumentRow,
} from "../storage/knowledge-store.ts";
import { builtInFields, listFields } from "./metadata-values.ts";
import { pageFields, parsePage } from "../http/pages.ts";
import { checkFlag } from "../http/page-params.ts";
import { invalidParam, internalServerError } from "../http/errors.ts";
import { atLeast } from "../http/router.ts";
import { isUuidText, toSeconds } from "../storage/ids.ts";
import { searchSettingsResponse, getSearchSettings } from "./search-settings.ts";
import { listDatasetTags } from "./tags.ts";
import { isObject } from "../../lib/json.ts";

/** Knowledge bases: list, creation, settings and deletion. */
const handlers: Handlers<typeof operations, KnowledgeContext> = {
  listKnowledgeBases(context, { keyword, tag_ids = [] }, call) {
    const page = parsePage(call, "DatasetListQuery");
    checkFlag(call, "include_all", "DatasetListQuery");
    const needsAllTags = atLeast(call.version, "1.15.0"); // before, any of them (server §5)
    // The server passes the texts to its database, which accepts only UUIDs.
    if (needsAllTags && !tag_ids.every(isUuidText)) throw internalServerError();
    const tags = [...new Set(tag_ids)];
    const minTags = needsAllTags ? tags.length : Math.min(1, tags.length);
    const from = `datasets WHERE (?1 IS NULL OR instr(lower(name), lower(?1)) > 0) AND ?3 <=
      (SELECT count(*) FROM tag_bindings
       WHERE dataset_id = datasets.id AND tag_id IN (SELECT value FROM json_each(?2)))`;
    const values = [keyword ?? null, JSON.stringify(tags), minTags];
    const order = "created_at / 1000 DESC, id";
    const { rows, total } = context.store.page<DatasetRow>(from, order, values, page);
    const data = rows.map((row) => datasetResponse(context, row, true, call));
    return { json: { data, ...pageFields(page, rows.length, total) } };
  },

  createKnowledgeBase(context, input, call) {
    checkNul(input.name);
    if (context.store.count("datasets WHERE name = ?", input.name) > 0) {
      const text = "The dataset name already exists. Please modify your dataset name.";
      throw new HttpError(409, "dataset_name_duplicate", text);
    }
    checkTechnique(input.indexing_technique);
    if (input.provider === "external") checkExternal(input);
    const id = context.newId();
    const now = context.now();
    context.store.insert("datasets", {
      id,
      name: input.name,
      description: input.description ?? "",
      provider: input.provider ?? "vendor",
      permission: input.permission ?? "only_me",
      members: "[]",
      indexing_technique: input.indexing_technique ?? null,
      retrieval_model: jsonOrNull(input.retrieval_model),
      summary_index_setting: jsonOrNull(input.summary_index_setting),
      built_in: 0,
      created_at: now,
      updated_at: now,
    });
    return { json: datasetResponse(context, getDataset(context, id), null, call) };
  },

  getKnowledgeBase(context, { dataset_id }, call) {
    const dataset = getDataset(context, dataset_id);
    const { members, permission } = dataset;
    return {
      json: {
        ...datasetResponse(context, dataset, true, call),
        // Only this route returns the effective search method (server §6).
        retrieval_model_dict: searchSettingsResponse({
          ...getSearchSettings(dataset),
          ...(dataset.indexing_technique !== "high_quality" && {
            search_method: "keyword_search",
          }),
        }),
        ...(permission === "partial_members" && { partial_member_list: JSON.parse(members) }),
      },
    };
  },

  updateKnowledgeBase(context, input, call) {
    const dataset = getDataset(context, input.dataset_id);
    const body = isObject(call.body) ? call.body : {};
    if (input.name !== undefined && input.name !== null) checkName(context, dataset, input.name);
    checkTechnique(input.indexing_technique);
    if (dataset.provider === "external") checkExternalChange(input);
    const permission = input.permission ?? dataset.permission;
    const members =
      permission === "partial_members"
        ? (memberIds(input.partial_member_list) ?? JSON.parse(dataset.members))
        : [];
    context.store.update("datasets", dataset.id, {
      name: input.name ?? dataset.name,
      // Null clears the description; other nulls change nothing (server §8).
      description: "description" in body ? (input.description ?? null) : dataset.description,
      permission,
      members: JSON.stringify(members),
      indexing_technique: input.indexing_technique ?? dataset.indexing_technique,
      retrieval_model: jsonOrNull(input.retrieval_model) ?? dataset.retrieval_model,
      updated_at: context.now(),
    });
    const response = datasetResponse(context, getDataset(context, dataset.id), null, call);
    return { json: { ...response, partial_member_list: members } };
  },

  deleteKnowledgeBase(context, { dataset_id }) {
    const { id } = getDataset(context, dataset_id);
    const documents = context.store.all<DocumentRow>(
      "SELECT * FROM documents WHERE dataset_id = ?",
      id,
    );
    for (const document of documents) deleteDocumentRow(context, document);
    for (const table of ["process_rules", "metadata_fields", "tag_bindings"]) {
      context.store.run(`DELETE FROM ${table} WHERE dataset_id = ?`, id);
    }
    context.store.run("DELETE FROM datasets WHERE id = ?", id);
    return { status: 204 };
  },
};

export const datasetHandlers = bindHandlers(operations, handlers);

interface Counts {
  readonly documents: number;
  readonly available: number | null;
  readonly words: number | null;
}

/** A knowledge base in a response; `embedding_available` depends on the route. */
function datasetResponse(
  context: KnowledgeContext,
  row: DatasetRow,
  embedding_available: true | null,
  { version }: Call,
): object {
  const counts = context.store.get<Counts>(
    `SELECT count(*) AS documents, sum(word_count) AS words,
       sum(indexing_status = 'completed' AND enabled AND NOT archived) AS available
     FROM documents WHERE dataset_id = ?`,
    row.id,
  );
  const documents = counts?.documents ?? 0;
  const settings = getSearchSettings(row);
  const builtIn = builtInFields.map(({ name, type }) => ({ id: "built-in", name, type }));
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    provider: row.provider,
    permission: row.permission,
    data_source_type: documents > 0 ? "upload_file" : null,
    indexing_technique: row.indexing_technique,
    app_count: 0,
    document_count: documents,
    word_count: counts?.words ?? 0,
    created_by: account.id,
    ...(atLeast(version, "1.15.0") && { maintainer: account.id }),
    author_name: account.name,
    created_at: toSeconds(row.created_at),
    updated_by: account.id,
    updated_at: toSeconds(row.updated_at),
    embedding_model: null,
    embedding_model_provider: null,
    embedding_available,
    retrieval_model_dict: searchSettingsResponse(settings),
    summary_index_setting: {
      enable: null,
      model_name: null,
      model_provider_name: null,
      summary_prompt: null,
      ...(row.summary_index_setting === null ? {} : JSON.parse(row.summary_index_setting)),
    },
    tags: listDatasetTags(context, row.id).map((tag) => ({ ...tag, type: "knowledge" })),
    doc_form: row.doc_form,
    external_knowledge_info: {
      external_knowledge_id: null,
      external_knowledge_api_id: null,
      external_knowledge_api_name: null,
      external_knowledge_api_endpoint: null,
    },
    external_retrieval_model: {
      top_k: settings.top_k,
      score_threshold: settings.score_threshold ?? 0,
      score_threshold_enabled: row.retrieval_model && settings.score_threshold_enabled,
    },
    doc_metadata: [...listFields(context, row.id), ...(row.built_in === 1 ? builtIn : [])],
    built_in_field_enabled: row.built_in === 1,
    pipeline_id: null,
    runtime_mode: "general",
    chunk_structure: null,
    icon_info: { icon_type: null, icon: null, icon_background: null, icon_url: null },
    is_published: false,
    total_documents: documents,
    total_available_documents: counts?.available ?? 0,
    enable_api: true,
    is_multimodal: false,
  };
}

const jsonOrNull = (value: unknown) =>
  value === undefined || value === null ? null : JSON.stringify(value);

function checkNul(text: string): void {
  if (!text.includes("\0")) return;
  throw invalidParam("A string literal cannot contain NUL (0x00) characters.");
}

function checkName({ store }: KnowledgeContext, dataset: DatasetRow, name: string): void {
  checkNul(name);
  if (store.count("datasets WHERE name = ? AND id <> ?", name, dataset.id) > 0) {
    throw invalidParam("Dataset name already exists");
  }
}

/** The sandbox has no models, like the recorded server. */
function checkTechnique(technique: string | null | undefined): void {
  if (technique === "high_quality") {
    throw invalidParam("Default model not found for text-embedding");
  }
}

interface External {
  readonly external_knowledge_api_id?: string | undefined;
  readonly external_knowledge_id?: string | undefined;
}

/** No external knowledge API exists; without an ID the server creates an unusable knowledge base. */
function checkExternal({ external_knowledge_api_id, external_knowledge_id }: External): void {
  if (!external_knowledge_api_id) return;
  if (!external_knowledge_id) throw invalidParam("external_knowledge_id is required");
  throw invalidParam("api template not found");
}

function checkExternalChange({ external_knowledge_api_id, external_knowledge_id }: External): void {
  if (!external_knowledge_id) throw invalidParam("External knowledge id is required.");
  if (!external_knowledge_api_id) throw invalidParam("External knowledge api id is required.");
}

function memberIds(sent: unknown): string[] | undefined {
  if (!Array.isArray(sent)) return undefined;
  return sent.filter(isObject).map((member) => String(member["user_id"]));
}
