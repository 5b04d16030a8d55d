import { isObject } from "../../../lib/json.ts";
import { errorsOf } from "../../protocol/response.ts";
import { fill } from "../../protocol/fill.ts";
import { account } from "../../protocol/ids.ts";
import texts from "./errors.json" with { type: "json" };
import shapes from "./shapes.json" with { type: "json" };
import { type ProcessRule, readProcessRule } from "../../../splitting/rule.ts";

/** Returns the error with that name. */
export const knowledgeError = errorsOf(texts);

/** A record in a response: its fields and `more` in a recorded shape, which names those it uses. */
export const toResponse = (
  shape: keyof typeof shapes,
  row: object & { readonly disabled_at?: number | null },
  more: Readonly<Record<string, unknown>> = {},
) =>
  fill(shapes[shape], {
    account_id: account.id,
    account_name: account.name,
    disabled_by: row.disabled_at === null ? null : account.id,
    ...row,
    ...more,
  });

/** A chunk in a response; a search shows fewer of its fields. */
export const segmentResponse = (
  row: { readonly tokens: number | null; readonly indexing_at: number },
  more: Readonly<Record<string, unknown>>,
) =>
  toResponse("segment", row, {
    child_chunks: [],
    tokens: row.tokens ?? 0,
    indexing_at: row.indexing_at || null, // chunks of pipelines have none
    ...more,
  });

/** The fields of a shape, with its constants for those that are null or missing in the value. */
export const withDefaults = (shape: keyof typeof shapes, value: unknown): object =>
  merge(shapes[shape], value) as object; // shapes are objects

function merge(defaults: unknown, value: unknown): unknown {
  if (value === undefined || value === null) return defaults;
  if (!isObject(defaults) || !isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(defaults).map(([name, each]) => [name, merge(each, value[name])]),
  );
}

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
