import {
  createKnowledgeBase,
  listKnowledgeBases,
  deleteKnowledgeBase,
  getKnowledgeBase,
  updateKnowledgeBase,
} from "../../operations/knowledge.ts";
import { type Call, type Handler, on, HttpError } from "../http/handler.ts";
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

/** Knowledge bases: list, creation, settings and removal. */
export function datasetHandlers(room: KnowledgeContext): readonly Handler[] {
  const { store } = room;
  return [
    on(listKnowledgeBases, ({ keyword, tag_ids = [] }, call) => {
      const page = parsePage(call, "DatasetListQuery");
      checkFlag(call, "include_all", "DatasetListQuery");
      const newer = atLeast(call.version, "1.15.0");
      // The server hands the texts to its database, which takes UUIDs only.
      if (newer && !tag_ids.every(isUuidText)) throw internalServerError();
      const distinct = [...new Set(tag_ids)];
      // Any of the tags fits before 1.15, all have to since (server §5).
      const least = newer ? distinct.length : Math.min(1, distinct.length);
      const where = `(?1 IS NULL OR instr(lower(name), lower(?1)) > 0) AND ?3 <=
        (SELECT count(*) FROM tag_bindings
         WHERE dataset_id = datasets.id AND tag_id IN (SELECT value FROM json_each(?2)))`;
      const values = [keyword ?? null, JSON.stringify(distinct), least] as const;
      const rows = store.all<DatasetRow>(
        `SELECT * FROM datasets WHERE ${where} ORDER BY created_at / 1000 DESC, id
         LIMIT ?4 OFFSET ?5`,
        ...values,
        page.rows,
        page.offset,
      );
      const counted = store.get<{ readonly total: number }>(
        `SELECT count(*) AS total FROM datasets WHERE ${where}`,
        ...values,
      );
      const data = rows.map((row) => datasetAnswer(room, row, true, call));
      return { json: { data, ...pageFields(page, rows.length, counted?.total ?? 0) } };
    }),

    on(createKnowledgeBase, (input, call) => {
      checkText(input.name);
      if (store.get("SELECT id FROM datasets WHERE name = ?", input.name)) {
        const text = "The dataset name already exists. Please modify your dataset name.";
        throw new HttpError(409, "dataset_name_duplicate", text);
      }
      checkTechnique(input.indexing_technique);
      if (input.provider === "external") checkExternal(input);
      const id = room.newId();
      const now = room.now();
      store.run(
        `INSERT INTO datasets (id, name, description, provider, permission, members,
           indexing_technique, retrieval_model, summary_index_setting, built_in, created_at,
           updated_at) VALUES (?, ?, ?, ?, ?, '[]', ?, ?, ?, 0, ?, ?)`,
        id,
        input.name,
        input.description ?? "",
        input.provider ?? "vendor",
        input.permission ?? "only_me",
        input.indexing_technique ?? null,
        jsonOrNull(input.retrieval_model),
        jsonOrNull(input.summary_index_setting),
        now,
        now,
      );
      return { json: datasetAnswer(room, getDataset(room, id), null, call) };
    }),

    on(getKnowledgeBase, ({ dataset_id }, call) => {
      const dataset = getDataset(room, dataset_id);
      const { members, permission } = dataset;
      return {
        json: {
          ...datasetAnswer(room, dataset, true, call),
          // Only here the server says how it will really search (server §6).
          retrieval_model_dict: searchSettingsResponse({
            ...getSearchSettings(dataset),
            ...(dataset.indexing_technique !== "high_quality" && {
              search_method: "keyword_search",
            }),
          }),
          ...(permission === "partial_members" && { partial_member_list: JSON.parse(members) }),
        },
      };
    }),

    on(updateKnowledgeBase, (input, call) => {
      const dataset = getDataset(room, input.dataset_id);
      const sent = isObject(call.body) ? call.body : {};
      if (input.name !== undefined && input.name !== null) checkName(room, dataset, input.name);
      checkTechnique(input.indexing_technique);
      if (dataset.provider === "external") checkExternalChange(input);
      const permission = input.permission ?? dataset.permission;
      const members =
        permission === "partial_members"
          ? (memberIds(input.partial_member_list) ?? JSON.parse(dataset.members))
          : [];
      store.run(
        `UPDATE datasets SET name = ifnull(?, name), description = ?, permission = ?, members = ?,
           indexing_technique = ifnull(?, indexing_technique),
           retrieval_model = ifnull(?, retrieval_model), updated_at = ? WHERE id = ?`,
        input.name ?? null,
        // Null clears the description; other nulls change nothing (server §8).
        "description" in sent ? (input.description ?? null) : dataset.description,
        permission,
        JSON.stringify(members),
        input.indexing_technique ?? null,
        jsonOrNull(input.retrieval_model),
        room.now(),
        dataset.id,
      );
      const answer = datasetAnswer(room, getDataset(room, dataset.id), null, call);
      return { json: { ...answer, partial_member_list: members } };
    }),

    on(deleteKnowledgeBase, ({ dataset_id }) => {
      const { id } = getDataset(room, dataset_id);
      const documents = store.all<DocumentRow>("SELECT * FROM documents WHERE dataset_id = ?", id);
      for (const document of documents) deleteDocumentRow(room, document);
      for (const table of ["process_rules", "metadata_fields", "tag_bindings"]) {
        store.run(`DELETE FROM ${table} WHERE dataset_id = ?`, id);
      }
      store.run("DELETE FROM datasets WHERE id = ?", id);
      return { status: 204 };
    }),
  ];
}

interface Counts {
  readonly documents: number;
  readonly available: number | null;
  readonly words: number | null;
}

/** A knowledge base as answers show it; `embedding_available` depends on the route. */
function datasetAnswer(
  room: KnowledgeContext,
  row: DatasetRow,
  embedding_available: true | null,
  { version }: Call,
): object {
  const counts = room.store.get<Counts>(
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
    tags: listDatasetTags(room, row.id).map((tag) => ({ ...tag, type: "knowledge" })),
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
    doc_metadata: [...listFields(room, row.id), ...(row.built_in === 1 ? builtIn : [])],
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

function checkText(text: string): void {
  if (!text.includes("\0")) return;
  throw invalidParam("A string literal cannot contain NUL (0x00) characters.");
}

function checkName({ store }: KnowledgeContext, dataset: DatasetRow, name: string): void {
  checkText(name);
  if (store.get("SELECT id FROM datasets WHERE name = ? AND id <> ?", name, dataset.id)) {
    throw invalidParam("Dataset name already exists");
  }
}

/** The sandbox has no models, like the server it plays. */
function checkTechnique(technique: string | null | undefined): void {
  if (technique === "high_quality") {
    throw invalidParam("Default model not found for text-embedding");
  }
}

interface External {
  readonly external_knowledge_api_id?: string | undefined;
  readonly external_knowledge_id?: string | undefined;
}

/** There are no external knowledge APIs; without any id the server makes an unusable base. */
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
