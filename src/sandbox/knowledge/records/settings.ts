import { isObject } from "../../../lib/json.ts";
import { type ProcessRule, readProcessRule } from "../../../splitting/rule.ts";
import { knowledgeError, withDefaults } from "./responses.ts";
import shapes from "./shapes.json" with { type: "json" };

/** Parses the rule of a request; throws HttpError with the server's texts (server §6). */
export function parseProcessRule(rule: unknown): ProcessRule {
  const isKnown = !isObject(rule) || MODES.some((mode) => mode === rule["mode"]);
  if (!isKnown) throw knowledgeError("rule mode invalid");
  return readProcessRule(rule, (part) => knowledgeError("rule part missing", { part }));
}

const MODES: readonly ProcessRule["mode"][] = ["automatic", "custom", "hierarchical"];

/** The rule in a response; automatic ones have another name for the separator (server §6). */
export function ruleResponse({ mode, rules }: ProcessRule): object {
  if (mode !== "automatic") return { mode, rules };
  const { pre_processing_rules, segmentation } = rules;
  const { separator: delimiter, max_tokens, chunk_overlap } = segmentation;
  return {
    mode,
    rules: { pre_processing_rules, segmentation: { delimiter, max_tokens, chunk_overlap } },
  };
}

/** Search settings of a request or a knowledge base, as sent; validated with their request. */
export interface SearchSettings {
  readonly search_method: string;
  readonly reranking_enable?: boolean | null;
  readonly reranking_mode?: string | null;
  readonly reranking_model?: {
    readonly reranking_provider_name?: string | null;
    readonly reranking_model_name?: string | null;
  } | null;
  readonly weights?: {
    readonly vector_setting?: { readonly vector_weight?: number | null } | null;
    readonly keyword_setting?: { readonly keyword_weight?: number | null } | null;
  } | null;
  readonly top_k: number;
  readonly score_threshold_enabled: boolean;
  readonly score_threshold?: number | null;
  readonly metadata_filtering_conditions?: unknown;
}

/** The server's defaults (server §6). */
export const DEFAULT_SETTINGS: SearchSettings = shapes.search_settings;

/** `retrieval_model_dict` of a response. */
export const searchSettingsResponse = (settings: SearchSettings | null): object => ({
  ...withDefaults("search_settings", settings),
  // Names that were not sent are null, those of the default settings empty.
  ...(settings && { reranking_model: withDefaults("reranking_model", settings.reranking_model) }),
  weights: settings?.weights ? withDefaults("search_weights", settings.weights) : null,
});
