import { isObject } from "../../../lib/json.ts";
import type { ProcessRule, Segmentation } from "../../../splitting/split.ts";
import { knowledgeError, withDefaults } from "./responses.ts";
import shapes from "./shapes.json" with { type: "json" };

export const automaticRule: ProcessRule = {
  mode: "automatic",
  rules: {
    pre_processing_rules: [
      { id: "remove_extra_spaces", enabled: true },
      { id: "remove_urls_emails", enabled: false },
    ],
    segmentation: { separator: "\n", max_tokens: 500, chunk_overlap: 50 },
    parent_mode: null,
    subchunk_segmentation: null,
  },
};

/** Parses the rule of a request; throws HttpError with the server's texts (server §6). */
export function parseProcessRule(rule: unknown): ProcessRule {
  const { mode, rules } = required(rule, "");
  if (mode === "automatic") return automaticRule;
  if (mode !== "custom" && mode !== "hierarchical") throw knowledgeError("rule mode invalid");
  const { pre_processing_rules: steps, ...sent } = required(rules, " rules");
  if (!Array.isArray(steps)) throw missing(" pre_processing_rules");
  const hierarchicalMode = sent["parent_mode"] === "full-doc" ? "full-doc" : "paragraph";
  const parent_mode = mode === "custom" ? null : hierarchicalMode;
  const children = mode === "hierarchical" ? sent["subchunk_segmentation"] : undefined;
  return {
    mode,
    rules: {
      pre_processing_rules: steps
        .filter(isObject)
        .map(({ id, enabled }) => ({ id: String(id), enabled: enabled === true })),
      segmentation: parseSegmentation(sent["segmentation"], parent_mode === "full-doc"),
      parent_mode,
      subchunk_segmentation: isObject(children) ? parseSegmentation(children, false) : null,
    },
  };
}

function parseSegmentation(sent: unknown, allowsZero: boolean): Segmentation {
  const { separator = "\n", max_tokens, chunk_overlap = 0 } = required(sent, " segmentation");
  if (typeof separator !== "string" || separator === "") throw missing(" segmentation separator");
  if (typeof max_tokens !== "number" || (max_tokens === 0 && !allowsZero)) {
    throw missing(" segmentation max_tokens");
  }
  const overlap = typeof chunk_overlap === "number" ? chunk_overlap : 0;
  return { separator, max_tokens, chunk_overlap: overlap };
}

const missing = (part: string) => knowledgeError("rule part missing", { part });

function required(value: unknown, part: string): Record<string, unknown> {
  if (isObject(value)) return value;
  throw missing(part);
}

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
