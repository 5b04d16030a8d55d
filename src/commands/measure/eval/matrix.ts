import { invalidResponse } from "../../../api/response.ts";
import { usage } from "../../../errors.ts";
import { isObject, own, valueAt } from "../../../lib/json.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import { asText } from "../../../operations/operation.ts";
import { searchMethods } from "../../../operations/shared.ts";
import type { Context } from "../../task/command-spec.ts";
import { rerankModel } from "../../models/index.ts";

/** Search settings of a request. */
export type EvalSettings = Readonly<Record<string, unknown>>;

/** One combination of search settings to evaluate. */
export interface SearchVariant {
  /** Its values of the matrix; empty without a matrix. */
  readonly label: string;
  readonly settings: EvalSettings;
  readonly topK: number;
}

/** Limit for combinations, as each of them searches for every question. */
const MAX_VARIANTS = 24;

/** The embedding model of a knowledge base, which weights refer to. */
type EmbeddingModel = Partial<Pick<KnowledgeBase, "embedding_model_provider" | "embedding_model">>;

/** Returns the settings that a value changes; undefined for an invalid value. */
type ApplyValue = (
  text: string,
  settings: EvalSettings,
  model: EmbeddingModel,
) => EvalSettings | undefined;

const numberIn = (text: string, min: number, max: number): number | undefined => {
  const value = Number(text);
  return /^\d+(\.\d+)?$/.test(text) && value >= min && value <= max ? value : undefined;
};

/** The settings that a matrix can vary, and their values. */
export const matrixSettings: Readonly<
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

/** One setting of a matrix and its values. */
export interface MatrixAxis {
  readonly name: string;
  readonly values: readonly string[];
}

/** Parses `--matrix top_k=3,5`; `flags` are the settings that have a flag of their own. Throws usage. */
export function parseMatrix(matrix: readonly string[], flags: readonly string[]): MatrixAxis[] {
  const axes: MatrixAxis[] = [];
  for (const text of matrix) axes.push(parseAxis(text, axes, flags));
  const count = axes.reduce((product, { values }) => product * values.length, 1);
  if (count > MAX_VARIANTS) {
    const message = `--matrix has ${count} combinations; the limit is ${MAX_VARIANTS}`;
    throw usage(message, "each combination searches for every question: use fewer values");
  }
  return axes;
}

function parseAxis(
  text: string,
  others: readonly MatrixAxis[],
  flags: readonly string[],
): MatrixAxis {
  const invalid = (problem: string, hint?: string) =>
    usage(`invalid --matrix ${JSON.stringify(text)}: ${problem}`, hint);
  const [, name = "", list = ""] = /^\s*(\w+)\s*=(.*)$/s.exec(text) ?? [];
  const setting = own(matrixSettings, name);
  if (!setting) {
    const problem = name === "" ? "expected setting=value,value" : `unknown setting ${name}`;
    throw invalid(problem, `valid settings: ${Object.keys(matrixSettings).join(", ")}`);
  }
  if (others.some((axis) => axis.name === name))
    throw invalid(`${name} is already in another --matrix`);
  if (flags.includes(name)) {
    const flag = `--${name.replaceAll("_", "-")}`;
    throw invalid(`${flag} sets ${name}, too; use only one of them`);
  }
  const values = list.split(",").map((value) => value.trim());
  const bad = values.find((value) => setting.set(value, {}, {}) === undefined);
  if (bad !== undefined)
    throw invalid(`invalid value ${JSON.stringify(bad)}`, `values of ${name}: ${setting.values}`);
  const duplicate = values.find((value, index) => values.indexOf(value) !== index);
  if (duplicate !== undefined) throw invalid(`duplicate value ${duplicate}`);
  return { name, values };
}

/**
 * All combinations of the values; the last setting varies fastest:
 *
 *     top_k=3,5 search_method=a,b  →  "top_k=3 a", "top_k=3 b", "top_k=5 a", "top_k=5 b"
 */
export function variantsOf(
  settings: EvalSettings,
  axes: readonly MatrixAxis[],
  model: EmbeddingModel,
): SearchVariant[] {
  const combined = axes.reduce(
    (all, { name, values }) =>
      all.flatMap(({ words, settings: before }) =>
        values.map((value) => ({
          // The names of search methods need no label.
          words: [...words, name === "search_method" ? value : `${name}=${value}`],
          settings: { ...before, ...matrixSettings[name]?.set(value, before, model) },
        })),
      ),
    [{ words: [] as string[], settings }],
  );
  return combined.map(({ words, settings: all }) => ({
    label: words.join(" "),
    settings: all,
    topK: topKOf(all),
  }));
}

/** The number of chunks that a search returns. Throws failure if the stored settings have none. */
function topKOf({ top_k }: EvalSettings): number {
  if (Number.isSafeInteger(top_k) && Number(top_k) > 0) return Number(top_k);
  const value = asText(top_k) || "not set";
  throw invalidResponse(`retrieval_model_dict.top_k is ${value}, not a positive whole number`);
}

/** Settings that rerank get a model: without one, the server accepts the request and does not rerank (server §8). */
export async function withReranker(
  settings: EvalSettings,
  axes: readonly MatrixAxis[],
  rerank_model: string | undefined,
  context: Context,
): Promise<EvalSettings> {
  const axis = axes.find(({ name }) => name === "reranking_enable");
  const isNamed = rerank_model !== undefined;
  const reranks = axis?.values.includes("true") === true || isNamed;
  const storedName = valueAt(settings, "reranking_model.reranking_model_name");
  const isWeighted = settings["reranking_mode"] === "weighted_score";
  const hasModel = typeof storedName === "string" && storedName !== "";
  if (!reranks || (!isNamed && (hasModel || isWeighted))) return settings;
  const { provider, model } = await rerankModel(rerank_model, context);
  return {
    ...settings,
    ...(isNamed && { reranking_enable: true }),
    reranking_mode: "reranking_model",
    reranking_model: { reranking_provider_name: provider, reranking_model_name: model },
  };
}

/** The label of settings in front of a text; nothing without a matrix. */
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

/** Throws usage for a setting that changes no search (server §6.1): equal figures would look measured. */
export function requireEffect(
  rerank_model: string | undefined,
  variants: readonly SearchVariant[],
  axes: readonly MatrixAxis[],
): void {
  const values = (setting: string) => variants.map(({ settings }) => settings[setting]);
  const hasAxis = (axis: string) => axes.some(({ name }) => name === axis);
  const noEffect = (flag: string, why: string, hint?: string) =>
    usage(`${flag} has no effect: ${why}`, hint);
  const hybrid = "add --search-method hybrid_search";
  const methods = values("search_method");
  if (hasAxis("vector_weight") && !methods.includes("hybrid_search"))
    throw noEffect("--matrix vector_weight", "only hybrid_search has weights", hybrid);
  const isNamed = rerank_model !== undefined;
  if (!isNamed && !hasAxis("reranking_enable")) return;
  const flag = isNamed ? "--rerank-model" : "--matrix reranking_enable";
  if (methods.every((method) => method === "keyword_search"))
    throw noEffect(flag, "keyword_search does not rerank", `${hybrid}, for example`);
  if (isNamed && !values("reranking_mode").includes("reranking_model"))
    throw noEffect(flag, "--matrix vector_weight ranks with weights instead");
  if (isNamed && !values("reranking_enable").includes(true))
    throw noEffect(flag, "--matrix reranking_enable is only false");
}
