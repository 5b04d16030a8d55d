import type { ConditionResult } from "../../conditions/index.ts";
import { asText } from "../../../operations/operation.ts";
import type { BaselineComparison } from "./baseline.ts";
import type { SettingsComparison } from "./comparison.ts";
import type { EvalSettings } from "./matrix.ts";
import { isLatency } from "./metrics.ts";
import type { VariantResult } from "./search.ts";

/** The data of a report. */
export interface Evaluation {
  readonly kb: { readonly id: string; readonly name: string };
  /** Name of the file with the questions. */
  readonly file: string;
  readonly questions: number;
  readonly results: readonly VariantResult[];
  readonly conditions: readonly ConditionResult[];
  readonly baseline:
    | { readonly file: string; readonly compared: readonly (BaselineComparison | undefined)[] }
    | undefined;
  /** What can be said about two settings, by their questions. */
  readonly comparisons: readonly SettingsComparison[];
  /** The chance of a false alarm of these comparisons together. */
  readonly level: number;
  /** List the questions with missing documents or texts? */
  readonly failures: boolean;
}

/** A figure of three digits. */
export const amount = (value: number | null | undefined): string | null =>
  value?.toFixed(3) ?? null;

/** `+0.050` */
export const signed = (value: number): string => `${value < 0 ? "" : "+"}${value.toFixed(3)}`;

/** The name of a figure with its unit. */
export const figureLabel = (name: string): string => (isLatency(name) ? `${name} (s)` : name);

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
