import { atLeast } from "../lib/version.ts";
import { cleanText, type CleaningSteps } from "./clean.ts";
import { type Segmentation, splitAtSeparator, splitAutomatically } from "./pieces.ts";
import { strip } from "./spaces.ts";

export type { Segmentation } from "./pieces.ts";

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

/** A chunk of a text; only those of hierarchical rules have `children`. */
export interface TextChunk {
  readonly content: string;
  readonly children?: readonly string[];
}

/**
 * Splits a text as a server of a version does when it indexes it (server §9.9; proven by 370 texts for 1.14.2 and
 * 1.16.1 each). `text` is what the server extracted from the file, with `\n` as line break; lengths are in Unicode
 * characters. Time is linear in the length of the text.
 */
export function splitIntoChunks(text: string, rule: ProcessRule, version: string): TextChunk[] {
  const { segmentation, parent_mode, pre_processing_rules } = rule.rules;
  const isOld = !atLeast(version, "1.16.1");
  // The one parent of a whole document stays as it is.
  if (parent_mode === "full-doc") {
    return [{ content: text, children: splitChildren(text, rule, version) }];
  }
  const clean = cleanText(text, pre_processing_rules, isOld);
  if (rule.mode === "hierarchical") {
    return withoutPeriods(splitAtSeparator(clean, segmentation, isOld)).map((content) => ({
      content,
      children: childrenOf(content, rule, isOld),
    }));
  }
  const chunks =
    rule.mode === "automatic"
      ? splitAutomatically(clean, segmentation)
      : splitAtSeparator(clean, segmentation, isOld);
  return chunks
    .map((chunk) => strip(withoutLeadingSigns(chunk)))
    .flatMap((content) => (content === "" ? [] : [{ content }]));
}

/** Splits a chunk into child chunks; there are none unless the rule is hierarchical. */
export const splitChildren = (content: string, rule: ProcessRule, version: string): string[] =>
  rule.mode === "hierarchical" ? childrenOf(content, rule, !atLeast(version, "1.16.1")) : [];

function childrenOf(content: string, { rules }: ProcessRule, isOld: boolean): string[] {
  const segmentation = rules.subchunk_segmentation ?? rules.segmentation;
  return withoutPeriods(splitAtSeparator(content, segmentation, isOld));
}

/** Parents and children without the full stop that they may start with; empty ones are dropped. */
const withoutPeriods = (chunks: readonly string[]): string[] =>
  chunks
    .filter((chunk) => strip(chunk) !== "")
    .map((chunk) => (/^[.。]/.test(chunk) ? strip(chunk.slice(1)) : chunk))
    .filter((chunk) => chunk !== "");

/** Signs that servers remove from the start of a chunk; not `-`, `[` and `|`, which start lists, links and tables. */
const LEADING_SIGNS =
  /^[\u2000-\u2025\u2027-\u206f\u2e00-\u2e7f\u3000-\u300f\u3011-\u303f!"#$%&'()*+,./:;<=>?@^_`~]+/;

/** A chunk without signs at its start, unless it starts with a Markdown link or image. */
function withoutLeadingSigns(chunk: string): string {
  if (/^!?\[/.test(chunk)) {
    const [line = ""] = chunk.split("\n", 1);
    const address = line.indexOf("](");
    if (address >= 0 && line.includes(")", address)) return chunk;
  }
  return chunk.replace(LEADING_SIGNS, "");
}
