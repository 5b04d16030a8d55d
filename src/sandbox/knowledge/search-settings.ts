import type { DatasetRow } from "../storage/knowledge-store.ts";
import { isObject } from "../../lib/json.ts";

/** Search settings of a request or a knowledge base. */
export interface StoredSearchSettings {
  readonly search_method: string;
  readonly reranking_enable: boolean;
  readonly reranking_mode?: string | null;
  readonly reranking_model?: {
    readonly reranking_provider_name?: string | null;
    readonly reranking_model_name?: string | null;
  } | null;
  readonly weights?: {
    readonly weight_type?: string | null;
    readonly vector_setting?: object | null;
    readonly keyword_setting?: object | null;
  } | null;
  readonly top_k: number;
  readonly score_threshold_enabled: boolean;
  readonly score_threshold?: number | null;
  readonly metadata_filtering_conditions?: unknown;
}

/** The server's defaults (server §6). */
const DEFAULT_SETTINGS: StoredSearchSettings = {
  search_method: "semantic_search",
  reranking_enable: false,
  top_k: 2,
  score_threshold_enabled: false,
};

/** Returns the settings of a search: those of the request, else of the knowledge base. */
export function getSearchSettings(
  { retrieval_model }: DatasetRow,
  sent?: unknown,
): StoredSearchSettings {
  // Both were validated with their requests.
  if (isObject(sent)) return sent as unknown as StoredSearchSettings;
  return retrieval_model === null
    ? DEFAULT_SETTINGS
    : (JSON.parse(retrieval_model) as StoredSearchSettings);
}

/** `retrieval_model_dict` of a response; its objects are always present. */
export function searchSettingsResponse(settings: StoredSearchSettings): object {
  const { reranking_model, weights } = settings;
  return {
    search_method: settings.search_method,
    reranking_enable: settings.reranking_enable,
    reranking_mode: settings.reranking_mode ?? null,
    reranking_model: {
      reranking_provider_name: reranking_model?.reranking_provider_name ?? "",
      reranking_model_name: reranking_model?.reranking_model_name ?? "",
    },
    weights: weights
      ? {
          weight_type: weights.weight_type ?? null,
          vector_setting: weights.vector_setting ?? {
            vector_weight: null,
            embedding_provider_name: null,
            embedding_model_name: null,
          },
          keyword_setting: weights.keyword_setting ?? { keyword_weight: null },
        }
      : null,
    top_k: settings.top_k,
    score_threshold_enabled: settings.score_threshold_enabled,
    score_threshold: settings.score_threshold ?? null,
  };
}
