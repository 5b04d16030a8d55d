import { HttpError } from "../http/handler.ts";
import { isObject } from "../../lib/json.ts";

/** How long a chunk may be, and where it ends. */
export interface Segmentation {
  readonly separator: string;
  readonly max_tokens: number;
  readonly chunk_overlap: number;
}

/** How a text is cut; rules are always there, automatic ones too. */
export interface ProcessRule {
  readonly mode: "automatic" | "custom" | "hierarchical";
  readonly rules: {
    readonly pre_processing_rules: readonly { readonly id: string; readonly enabled: boolean }[];
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

/** Reads a rule as it was sent; throws Refused in the server's words (server §6). */
export function parseProcessRule(sent: unknown): ProcessRule {
  if (!isObject(sent)) throw missing("Process rule is required");
  const { mode, rules } = sent;
  if (mode === "automatic") return automaticRule;
  if (mode !== "custom" && mode !== "hierarchical") throw missing("Process rule mode is invalid");
  if (!isObject(rules)) throw missing("Process rule rules is required");
  if (!Array.isArray(rules["pre_processing_rules"])) {
    throw missing("Process rule pre_processing_rules is required");
  }
  const parent_mode =
    mode === "custom" ? null : rules["parent_mode"] === "full-doc" ? "full-doc" : "paragraph";
  const subchunks = rules["subchunk_segmentation"];
  return {
    mode,
    rules: {
      pre_processing_rules: rules["pre_processing_rules"].filter(isObject).map((rule) => ({
        id: String(rule["id"]),
        enabled: rule["enabled"] === true,
      })),
      segmentation: segmentationFrom(rules["segmentation"], parent_mode === "full-doc"),
      parent_mode,
      subchunk_segmentation:
        mode === "hierarchical" && isObject(subchunks) ? segmentationFrom(subchunks, false) : null,
    },
  };
}

/** The rule as answers show it: automatic ones name the separator otherwise (server §6). */
export function ruleResponse({ mode, rules }: ProcessRule): object {
  if (mode !== "automatic") return { mode, rules };
  const { pre_processing_rules, segmentation } = rules;
  const { separator: delimiter, max_tokens, chunk_overlap } = segmentation;
  return {
    mode,
    rules: { pre_processing_rules, segmentation: { delimiter, max_tokens, chunk_overlap } },
  };
}

function segmentationFrom(sent: unknown, lengthFree: boolean): Segmentation {
  if (!isObject(sent)) throw missing("Process rule segmentation is required");
  const { separator = "\n", max_tokens, chunk_overlap = 0 } = sent;
  if (typeof separator !== "string" || separator === "") {
    throw missing("Process rule segmentation separator is required");
  }
  if (typeof max_tokens !== "number" || (max_tokens === 0 && !lengthFree)) {
    throw missing("Process rule segmentation max_tokens is required");
  }
  return {
    separator,
    max_tokens,
    chunk_overlap: typeof chunk_overlap === "number" ? chunk_overlap : 0,
  };
}

const missing = (text: string) => new HttpError(400, "invalid_param", text);
