import type { ProcessRule, Segmentation } from "../records/settings.ts";
import { knowledgeError } from "../records/responses.ts";

/** A chunk of a text; only hierarchical documents have `children`. */
export interface TextChunk {
  readonly content: string;
  readonly children: readonly string[];
}

/** Separators to split a long text at, best first. */
const SEPARATORS = ["\n\n", "\n", "。", ". ", " "] as const;

/**
 * Characters that the server removes from the start of a chunk (server §9); `-` and `[` stay, and
 * all of them in hierarchical documents.
 */
const LEADING_SIGNS = /^[\s!-,./:-@^-`~\u2000-\u206f\u3000-\u300f]+/;

/** Estimates tokens: one per four characters, or per character of a script without spaces. */
function countTokens(text: string): number {
  const wide = text.match(/[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/g)?.length ?? 0;
  return Math.ceil(wide + (text.length - wide) / 4);
}

/** Splits a text by its process rule; throws HttpError with the server's text for an invalid rule. */
export function splitIntoChunks(text: string, rule: ProcessRule): TextChunk[] {
  const { segmentation, parent_mode } = rule.rules;
  const clean = cleanText(text.replace(/\r\n?/g, "\n"), rule);
  if (rule.mode === "automatic") {
    return tidy(joinPieces(splitPieces(clean, segmentation), segmentation)).map(withoutChildren);
  }
  if (parent_mode !== "full-doc") checkLength(segmentation);
  if (rule.mode === "custom")
    return tidy(splitAtSeparator(clean, segmentation)).map(withoutChildren);

  const parents = parent_mode === "full-doc" ? [clean] : splitAtSeparator(clean, segmentation);
  return trimmed(parents).map((content) => ({ content, children: splitChildren(content, rule) }));
}

/** Splits a chunk into child chunks; there are none unless the rule is hierarchical. */
export function splitChildren(content: string, { mode, rules }: ProcessRule): string[] {
  if (mode !== "hierarchical") return [];
  return trimmed(splitAtSeparator(content, rules.subchunk_segmentation ?? rules.segmentation));
}

const withoutChildren = (content: string): TextChunk => ({ content, children: [] });

function checkLength({ max_tokens }: Segmentation): void {
  if (max_tokens >= 50 && max_tokens <= 4000) return;
  throw knowledgeError("chunk length invalid");
}

function cleanText(text: string, { rules }: ProcessRule): string {
  const isEnabled = (id: string) =>
    rules.pre_processing_rules.some((each) => each.id === id && each.enabled);
  let result = text;
  if (isEnabled("remove_extra_spaces")) {
    result = result.replace(/\n{3,}/g, "\n\n").replace(/[\t\f\r \u00a0\u3000]{2,}/g, " ");
  }
  if (isEnabled("remove_urls_emails")) {
    result = result.replace(/https?:\/\/\S+|(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]+/g, "");
  }
  return result;
}

/** Splits at each separator, and again what is still too long. */
const splitAtSeparator = (text: string, { separator, ...limits }: Segmentation) =>
  text
    .split(separator.replaceAll("\\n", "\n"))
    .flatMap((part) => joinPieces(splitPieces(part, limits), limits));

/** Splits a text into pieces of at most `max_tokens`; joined, they are the text again. */
function splitPieces(
  text: string,
  limits: Pick<Segmentation, "max_tokens">,
  separators: readonly string[] = SEPARATORS,
): string[] {
  const [separator, ...others] = separators;
  if (countTokens(text) <= limits.max_tokens) return [text];
  if (separator === undefined) {
    return text.match(new RegExp(`[^]{1,${Math.max(1, limits.max_tokens)}}`, "gu")) ?? [];
  }
  const parts = text.split(separator);
  return parts.flatMap((part, index) =>
    splitPieces(index < parts.length - 1 ? part + separator : part, limits, others),
  );
}

/**
 * Joins pieces to chunks of at most `max_tokens`; each chunk repeats the last `chunk_overlap` tokens.
 * With 3 and 1, of pieces of one token: `a b c d e` → `abc`, `cde`.
 */
function joinPieces(
  parts: readonly string[],
  { max_tokens, chunk_overlap }: Pick<Segmentation, "max_tokens" | "chunk_overlap">,
): string[] {
  const chunks: string[] = [];
  let current: string[] = [];
  let size = 0;
  for (const part of parts) {
    const tokens = countTokens(part);
    if (size + tokens > max_tokens && current.length > 0) {
      chunks.push(current.join(""));
      while (current.length > 0 && (size > chunk_overlap || size + tokens > max_tokens)) {
        size -= countTokens(current.shift() ?? "");
      }
    }
    current.push(part);
    size += tokens;
  }
  return [...chunks, current.join("")];
}

const trimmed = (chunks: readonly string[]) => chunks.map((chunk) => chunk.trim()).filter(Boolean);

const tidy = (chunks: readonly string[]) =>
  trimmed(trimmed(chunks).map((chunk) => chunk.replace(LEADING_SIGNS, "")));
