import { isObject } from "../lib/json.ts";
import type { CleaningSteps } from "./clean.ts";
import type { Segmentation } from "./pieces.ts";

/** How a text is split, as the API stores it; automatic rules are spelled out. */
export interface ProcessRule {
  readonly mode: "automatic" | "custom" | "hierarchical";
  readonly rules: {
    readonly pre_processing_rules: CleaningSteps;
    readonly segmentation: Segmentation;
    readonly parent_mode: "full-doc" | "paragraph" | null;
    readonly subchunk_segmentation: Segmentation | null;
  };
}

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

/** The error for a part of a rule that is missing: ` segmentation max_tokens`, "" for the rule. */
type Missing = (part: string) => Error;

/** The rule of a request as servers store it (server §6.2). Throws what `missing` makes. */
export function readProcessRule(rule: unknown, missing: Missing): ProcessRule {
  const { mode, rules } = required(rule, "", missing);
  if (mode !== "custom" && mode !== "hierarchical") return automaticRule;
  const { pre_processing_rules: steps, ...sent } = required(rules, " rules", missing);
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
      segmentation: readSegmentation(sent["segmentation"], parent_mode === "full-doc", missing),
      parent_mode,
      subchunk_segmentation: isObject(children) ? readSegmentation(children, false, missing) : null,
    },
  };
}

function readSegmentation(sent: unknown, allowsZero: boolean, missing: Missing): Segmentation {
  const {
    separator = "\n",
    max_tokens,
    chunk_overlap = 0,
  } = required(sent, " segmentation", missing);
  if (typeof separator !== "string" || separator === "") throw missing(" segmentation separator");
  if (typeof max_tokens !== "number" || (max_tokens === 0 && !allowsZero)) {
    throw missing(" segmentation max_tokens");
  }
  const overlap = typeof chunk_overlap === "number" ? chunk_overlap : 0;
  return { separator, max_tokens, chunk_overlap: overlap };
}

function required(value: unknown, part: string, missing: Missing): Record<string, unknown> {
  if (isObject(value)) return value;
  throw missing(part);
}
