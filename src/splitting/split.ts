import { atLeast, newestServer, recordedServers } from "../lib/version.ts";
import { cleanText, deleteCharacters, strip } from "./clean.ts";
import { type Part, splitAtSeparator, splitAutomatically } from "./pieces.ts";
import type { ProcessRule } from "./rule.ts";

export type { Part } from "./pieces.ts";

/** A chunk of a text; only those of hierarchical rules have `children`. */
export interface TextChunk {
  readonly content: string;
  readonly children?: readonly string[];
}

/** How a text is split, with the places of the chunks. */
export interface SplitText {
  /** The text without the characters that servers delete from every text. */
  readonly kept: string;
  /** The text after cleaning, in which chunks end. */
  readonly cleaned: string;
  /** Chunks; their children end in the text of their chunk. */
  readonly chunks: readonly (Part & { readonly children?: readonly Part[] })[];
}

const isOldVersion = (version: string): boolean => !atLeast(version, "1.16.1");

/** The version that was seen to split texts as another one is taken to (server §9.9). */
export const seenVersion = (version: string): string =>
  isOldVersion(version) ? recordedServers["1.14"] : newestServer;

/** The chunks of a text without their places; see `splitText`. */
export const splitIntoChunks = (text: string, rule: ProcessRule, version: string): TextChunk[] =>
  splitText(text, rule, version).chunks.map(({ text: content, children }) => ({
    content,
    ...(children && { children: children.map((child) => child.text) }),
  }));

/**
 * Splits a text as a server of a version does when it indexes it (server §9.9; proven by 370 texts for 1.14.2 and
 * 1.16.1 each). `text` is what the server extracted from the file, with `\n` as line break; lengths are in Unicode
 * characters. Time is linear in the length of the text.
 */
export function splitText(text: string, rule: ProcessRule, version: string): SplitText {
  const { segmentation, parent_mode, pre_processing_rules } = rule.rules;
  const isOld = isOldVersion(version);
  // The one parent of a whole document stays as it is.
  if (parent_mode === "full-doc") {
    const chunk = { text, end: text.length, children: childrenOf(text, rule, isOld) };
    return { kept: text, cleaned: text, chunks: [chunk] };
  }
  const kept = deleteCharacters(text, isOld);
  const cleaned = cleanText(kept, pre_processing_rules);
  const parts =
    rule.mode === "automatic"
      ? splitAutomatically(cleaned, segmentation)
      : splitAtSeparator(cleaned, segmentation, isOld);
  const chunks =
    rule.mode === "hierarchical"
      ? withoutPeriods(parts).map((part) => ({
          ...part,
          children: childrenOf(part.text, rule, isOld),
        }))
      : parts
          .map((part) => ({ ...part, text: strip(withoutLeadingSigns(part.text)) }))
          .filter((part) => part.text !== "");
  return { kept, cleaned, chunks };
}

/** Splits a chunk into child chunks; there are none unless the rule is hierarchical. */
export const splitChildren = (content: string, rule: ProcessRule, version: string): string[] =>
  rule.mode === "hierarchical"
    ? childrenOf(content, rule, isOldVersion(version)).map(({ text }) => text)
    : [];

function childrenOf(content: string, { rules }: ProcessRule, isOld: boolean): Part[] {
  const segmentation = rules.subchunk_segmentation ?? rules.segmentation;
  return withoutPeriods(splitAtSeparator(content, segmentation, isOld));
}

/** Parents and children without the full stop that they may start with; empty ones are dropped. */
const withoutPeriods = (parts: readonly Part[]): Part[] =>
  parts
    .filter(({ text }) => strip(text) !== "")
    .map((part) => (/^[.。]/.test(part.text) ? { ...part, text: strip(part.text.slice(1)) } : part))
    .filter(({ text }) => text !== "");

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
