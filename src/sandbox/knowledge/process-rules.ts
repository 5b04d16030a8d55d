import { invalidParam } from "../http/errors.ts";
import { isObject } from "../../lib/json.ts";

/** Length and separator of chunks. */
export interface Segmentation {
  readonly separator: string;
  readonly max_tokens: number;
  readonly chunk_overlap: number;
}

/** How a text is split into chunks; automatic rules are spelled out. */
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

/** Parses the rule of a request; throws HttpError with the server's texts (server §6). */
export function parseProcessRule(rule: unknown): ProcessRule {
  if (!isObject(rule)) throw invalidParam("Process rule is required");
  const { mode, rules } = rule;
  if (mode === "automatic") return automaticRule;
  if (mode !== "custom" && mode !== "hierarchical")
    throw invalidParam("Process rule mode is invalid");
  if (!isObject(rules)) throw invalidParam("Process rule rules is required");
  if (!Array.isArray(rules["pre_processing_rules"])) {
    throw invalidParam("Process rule pre_processing_rules is required");
  }
  const hierarchicalMode = rules["parent_mode"] === "full-doc" ? "full-doc" : "paragraph";
  const parent_mode = mode === "custom" ? null : hierarchicalMode;
  const subchunks = rules["subchunk_segmentation"];
  return {
    mode,
    rules: {
      pre_processing_rules: rules["pre_processing_rules"].filter(isObject).map((each) => ({
        id: String(each["id"]),
        enabled: each["enabled"] === true,
      })),
      segmentation: parseSegmentation(rules["segmentation"], parent_mode === "full-doc"),
      parent_mode,
      subchunk_segmentation:
        mode === "hierarchical" && isObject(subchunks) ? parseSegmentation(subchunks, false) : null,
    },
  };
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

function parseSegmentation(sent: unknown, allowsZero: boolean): Segmentation {
  if (!isObject(sent)) throw invalidParam("Process rule segmentation is required");
  const { separator = "\n", max_tokens, chunk_overlap = 0 } = sent;
  if (typeof separator !== "string" || separator === "") {
    throw invalidParam("Process rule segmentation separator is required");
  }
  if (typeof max_tokens !== "number" || (max_tokens === 0 && !allowsZero)) {
    throw invalidParam("Process rule segmentation max_tokens is required");
  }
  return {
    separator,
    max_tokens,
    chunk_overlap: typeof chunk_overlap === "number" ? chunk_overlap : 0,
  };
}
