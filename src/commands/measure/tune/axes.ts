import { usage } from "../../../errors.ts";
import { isObject, own } from "../../../lib/json.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import { searchMethods } from "../../../operations/shared.ts";
import { topKOf } from "../eval/index.ts";
import type { SearchVariant } from "../eval/index.ts";

type Settings = SearchVariant["settings"];

/** The embedding model of a knowledge base, which weights refer to. */
type EmbeddingModel = Partial<Pick<KnowledgeBase, "embedding_model_provider" | "embedding_model">>;

/** Returns the settings that a value changes; undefined for an invalid value. */
type ApplyValue = (text: string, settings: Settings, model: EmbeddingModel) => Settings | undefined;

const numberIn = (text: string, min: number, max: number): number | undefined => {
  const value = Number(text);
  return /^\d+(\.\d+)?$/.test(text) && value >= min && value <= max ? value : undefined;
};

/** The search settings that an arm can vary, and their values. */
export const searchAxes: Readonly<
  Record<string, { readonly values: string; readonly set: ApplyValue }>
> = {
  search_method: {
    values: searchMethods.join(", "),
    set: (text) =>
      searchMethods.some((method) => method === text) ? { search_method: text } : undefined,
  },
  top_k: {
    values: "whole numbers from 1 to 100",
    set: (text) => {
      const top_k = numberIn(text, 1, 100);
      return top_k !== undefined && Number.isInteger(top_k) ? { top_k } : undefined;
    },
  },
  score_threshold: {
    values: "numbers from 0 to 1, or none",
    set: (text) => {
      if (text === "none") return { score_threshold_enabled: false };
      const score_threshold = numberIn(text, 0, 1);
      return score_threshold === undefined
        ? undefined
        : { score_threshold, score_threshold_enabled: true };
    },
  },
  reranking_enable: {
    values: "true, false",
    set: (text) =>
      /^(true|false)$/.test(text) ? { reranking_enable: text === "true" } : undefined,
  },
  vector_weight: {
    values: "numbers from 0 to 1; keywords get the rest",
    set: (text, { weights }, model) => {
      const vector_weight = numberIn(text, 0, 1);
      if (vector_weight === undefined) return undefined;
      const stored = isObject(weights) ? weights : {};
      const vector = isObject(stored["vector_setting"]) ? stored["vector_setting"] : {};
      return {
        reranking_mode: "weighted_score",
        weights: {
          ...stored,
          weight_type: "customized",
          vector_setting: {
            embedding_provider_name: model.embedding_model_provider ?? null,
            embedding_model_name: model.embedding_model ?? null,
            ...vector,
            vector_weight,
          },
          keyword_setting: { keyword_weight: Number((1 - vector_weight).toFixed(6)) },
        },
      };
    },
  },
};

/** Settings changed by the values of an entry, which are their label. Throws usage for an invalid value. */
export function variantOf(
  entry: Readonly<Record<string, unknown>>,
  settings: Settings,
  model: EmbeddingModel,
): SearchVariant {
  const words: string[] = [];
  let changed = settings;
  for (const [name, value] of Object.entries(entry)) {
    const axis = own(searchAxes, name);
    if (axis === undefined) continue; // a part of a chunking rule
    const text = String(value).trim();
    const change = axis.set(text, changed, model);
    if (change === undefined)
      throw usage(
        `--arms: invalid value ${JSON.stringify(text)} of ${name}`,
        `values of ${name}: ${axis.values}`,
      );
    changed = { ...changed, ...change };
    // The names of search methods need no label.
    words.push(name === "search_method" ? text : `${name}=${text}`);
  }
  return { label: words.join(" "), settings: changed, topK: topKOf(changed) };
}
