import { invalidResponse } from "../../../api/response-fields.ts";
import { CliError } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import { asText } from "../../../operations/operation.ts";
import { searchMethods } from "../../../operations/shared.ts";

/** Search settings as they are sent. */
export type SearchVariant = Readonly<Record<string, unknown>>;

/** One way to search, among those that are compared. */
export interface Variant {
  /** What tells it from the others: values of the matrix; empty where there is only one. */
  readonly label: string;
  readonly settings: SearchVariant;
  /** Chunks at most. */
  readonly topK: number;
}

/** Ways that a matrix may have; each one asks every question. */
const mostVariants = 24;

/** The embedding model of the knowledge base; weights name it. */
export interface EmbeddingModel {
  readonly embedding_provider_name: string | null;
  readonly embedding_model_name: string | null;
}

/** What a value changes in settings; undefined where the text is no such value. */
type Knob = (
  text: string,
  settings: SearchVariant,
  model: EmbeddingModel,
) => SearchVariant | undefined;

const number = (text: string, least: number, most: number): number | undefined => {
  const value = Number(text);
  return /^\d+(\.\d+)?$/.test(text) && value >= least && value <= most ? value : undefined;
};

/** What a matrix may vary, and the values it takes. */
const knobs: Readonly<Record<string, { readonly takes: string; readonly set: Knob }>> = {
  search_method: {
    takes: searchMethods.join(", "),
    set: (text) =>
      searchMethods.some((method) => method === text) ? { search_method: text } : undefined,
  },
  top_k: {
    takes: "whole numbers from 1 to 100",
    set: (text) => {
      const top_k = number(text, 1, 100);
      return top_k !== undefined && Number.isInteger(top_k) ? { top_k } : undefined;
    },
  },
  score_threshold: {
    takes: "numbers from 0 to 1, or none",
    set: (text) => {
      if (text === "none") return { score_threshold_enabled: false };
      const score_threshold = number(text, 0, 1);
      return score_threshold === undefined
        ? undefined
        : { score_threshold, score_threshold_enabled: true };
    },
  },
  reranking_enable: {
    takes: "true, false",
    set: (text) =>
      /^(true|false)$/.test(text) ? { reranking_enable: text === "true" } : undefined,
  },
  vector_weight: {
    takes: "numbers from 0 to 1; the rest is the weight of keywords",
    set: (text, { weights }, model) => {
      const vector_weight = number(text, 0, 1);
      if (vector_weight === undefined) return undefined;
      const stored = isObject(weights) ? weights : {};
      const vector = isObject(stored["vector_setting"]) ? stored["vector_setting"] : {};
      return {
        reranking_mode: "weighted_score",
        weights: {
          ...stored,
          weight_type: "customized",
          vector_setting: { ...model, ...vector, vector_weight },
          keyword_setting: { keyword_weight: Number((1 - vector_weight).toFixed(6)) },
        },
      };
    },
  },
};

const noModel: EmbeddingModel = { embedding_provider_name: null, embedding_model_name: null };

/** One line of a matrix: a setting and the values it takes in turn. */
export interface Axis {
  readonly name: string;
  readonly values: readonly string[];
}

/**
 * Reads `--matrix top_k=3,5`. `given` are the settings that flags of their own give. Throws usage
 * for what no search has.
 */
export function axesOf(matrix: readonly string[], given: readonly string[]): Axis[] {
  const axes: Axis[] = [];
  for (const text of matrix) {
    const fail = (problem: string, hint?: string) =>
      new CliError("usage", `--matrix ${JSON.stringify(text)} ${problem}`, {
        sideEffect: "none",
        hint,
      });
    const [, name = "", list = ""] = /^\s*(\w+)\s*=(.*)$/s.exec(text) ?? [];
    const knob = Object.hasOwn(knobs, name) ? knobs[name] : undefined;
    if (!knob) {
      throw fail(
        name === "" ? "is no setting=value,value" : `varies ${name}, which is no setting it knows`,
        `it varies ${Object.keys(knobs).join(", ")}`,
      );
    }
    if (axes.some((axis) => axis.name === name)) throw fail(`varies ${name} a second time`);
    if (given.includes(name)) {
      throw fail(`varies ${name}, which --${name.replaceAll("_", "-")} gives; give one`);
    }
    const values = list.split(",").map((value) => value.trim());
    const bad = values.find((value) => knob.set(value, {}, noModel) === undefined);
    if (bad !== undefined)
      throw fail(`holds ${JSON.stringify(bad)}`, `${name} takes ${knob.takes}`);
    const twice = values.find((value, index) => values.indexOf(value) !== index);
    if (twice !== undefined) throw fail(`holds ${twice} twice`);
    axes.push({ name, values });
  }
  const count = axes.reduce((product, { values }) => product * values.length, 1);
  if (count > mostVariants) {
    throw new CliError("usage", `--matrix makes ${count} ways to search; at most ${mostVariants}`, {
      sideEffect: "none",
      hint: "each one asks every question: vary less at a time",
    });
  }
  return axes;
}

/** Every combination of the values, the last setting varying fastest. */
export function variantsOf(
  settings: SearchVariant,
  axes: readonly Axis[],
  model: EmbeddingModel,
): Variant[] {
  let combined: { readonly words: readonly string[]; readonly settings: SearchVariant }[] = [
    { words: [], settings },
  ];
  for (const { name, values } of axes) {
    combined = combined.flatMap((each) =>
      values.map((value) => ({
        // The methods say what they are by themselves.
        words: [...each.words, name === "search_method" ? value : `${name}=${value}`],
        settings: { ...each.settings, ...knobs[name]?.set(value, each.settings, model) },
      })),
    );
  }
  return combined.map(({ words, settings: all }) => ({
    label: words.join(" "),
    settings: all,
    topK: topKIn(all),
  }));
}

/** How many chunks a search gives. Throws `failure` where the stored settings hold no such number. */
function topKIn({ top_k }: SearchVariant): number {
  if (Number.isSafeInteger(top_k) && Number(top_k) > 0) return Number(top_k);
  throw invalidResponse(
    `retrieval_model_dict.top_k is ${asText(top_k) || "not set"}, not a whole number from 1`,
  );
}
