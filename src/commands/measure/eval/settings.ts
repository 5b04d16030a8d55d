import { invalidResponse } from "../../../api/response.ts";
import { usage } from "../../../errors.ts";
import { valueAt } from "../../../lib/json.ts";
import { asText } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { rerankModel } from "../../models/index.ts";

/** Search settings of a request. */
export type EvalSettings = Readonly<Record<string, unknown>>;

/** Search settings to evaluate. */
export interface SearchVariant {
  /** What they are called beside others; empty without others. */
  readonly label: string;
  readonly settings: EvalSettings;
  readonly topK: number;
}

/** The number of chunks that a search returns. Throws failure if the stored settings have none. */
export function topKOf({ top_k }: EvalSettings): number {
  if (Number.isSafeInteger(top_k) && Number(top_k) > 0) return Number(top_k);
  const value = asText(top_k) || "not set";
  throw invalidResponse(`retrieval_model_dict.top_k is ${value}, not a positive whole number`);
}

/**
 * Settings that rerank, with a model: without one, the server accepts the request and does not rerank (server §8). That
 * of the settings stays unless another is named, and so do weights, which take its place.
 */
export async function withReranker(
  settings: EvalSettings,
  rerank_model: string | undefined,
  context: Context,
): Promise<EvalSettings> {
  const storedName = valueAt(settings, "reranking_model.reranking_model_name");
  const isWeighted = settings["reranking_mode"] === "weighted_score";
  const hasModel = typeof storedName === "string" && storedName !== "";
  if (rerank_model === undefined && (hasModel || isWeighted)) return settings;
  const { provider, model } = await rerankModel(rerank_model, context);
  return {
    ...settings,
    reranking_enable: true,
    reranking_mode: "reranking_model",
    reranking_model: { reranking_provider_name: provider, reranking_model_name: model },
  };
}

/** The label of settings in front of a text; nothing without one. */
export const prefixFor = (label: string): string => (label === "" ? "" : `${label}: `);

/** The main settings in one line: `search_method semantic_search, top_k 3, …`. */
export const settingsText = (settings: EvalSettings): string =>
  Object.entries({
    search_method: settings["search_method"],
    top_k: settings["top_k"],
    score_threshold: settings["score_threshold_enabled"] ? settings["score_threshold"] : "none",
    reranking_enable: settings["reranking_enable"],
  })
    .map(([name, value]) => `${name} ${asText(value) || "not set"}`)
    .join(", ");

/** Throws usage for a rerank model that changes no search (server §6.1): equal figures would look measured. */
export function requireReranking({ search_method }: EvalSettings): void {
  if (search_method !== "keyword_search") return;
  throw usage(
    "--rerank-model has no effect: keyword_search does not rerank",
    "add --search-method hybrid_search, for example",
  );
}
