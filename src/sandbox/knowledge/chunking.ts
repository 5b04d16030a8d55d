import type { ProcessRule, Segmentation } from "./process-rules.ts";

/** A chunk as it comes out of a text; `children` only in hierarchical documents. */
export interface TextChunk {
  readonly content: string;
  readonly children: readonly string[];
}

/** Where a piece that is too long may be cut, the best place first. */
const breaks = ["\n\n", "\n", "。", ". ", " "] as const;

/** Signs that the server takes off the start of a chunk (server §9); `-` and `[` stay. */
const leadingSigns = /^[\s!-,./:-@^-`~\u2000-\u206f\u3000-\u300f]+/;

/**
 * Roughly how many tokens a model would count: one for four characters, one for each character of
 * a script without blanks.
 */
function tokensIn(text: string): number {
  const wide = text.match(/[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/g)?.length ?? 0;
  return Math.ceil(wide + (text.length - wide) / 4);
}

/** Cuts a text by its process rule; throws an Error with the server's words where that is bad. */
export function splitIntoChunks(text: string, rule: ProcessRule): TextChunk[] {
  const { segmentation, parent_mode, subchunk_segmentation } = rule.rules;
  const whole = cleaned(text.replace(/\r\n?/g, "\n"), rule);
  if (rule.mode === "automatic") {
    return tidied(joined(pieces(whole, segmentation), segmentation)).map(childless);
  }
  if (parent_mode !== "full-doc") checkLength(segmentation);
  if (rule.mode === "custom") return tidied(separated(whole, segmentation)).map(childless);

  const parents = parent_mode === "full-doc" ? [whole] : separated(whole, segmentation);
  return tidied(parents).map((content) => ({
    content,
    children: tidied(separated(content, subchunk_segmentation ?? segmentation)),
  }));
}

const childless = (content: string): TextChunk => ({ content, children: [] });

function checkLength({ max_tokens }: Segmentation): void {
  if (max_tokens >= 50 && max_tokens <= 4000) return;
  throw new Error("Custom segment length should be between 50 and 4000.");
}

function cleaned(text: string, { rules }: ProcessRule): string {
  const wanted = (id: string) =>
    rules.pre_processing_rules.some((each) => each.id === id && each.enabled);
  let result = text;
  if (wanted("remove_extra_spaces")) {
    result = result.replace(/\n{3,}/g, "\n\n").replace(/[\t\f\r \u00a0\u3000]{2,}/g, " ");
  }
  if (wanted("remove_urls_emails")) {
    result = result.replace(/https?:\/\/\S+|(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]+/g, "");
  }
  return result;
}

/** Cut at every separator; only what is still too long is cut again. */
const separated = (text: string, { separator, ...limits }: Segmentation) =>
  text
    .split(separator.replaceAll("\\n", "\n"))
    .flatMap((part) => joined(pieces(part, limits), limits));

/** Pieces of at most `max_tokens` that make up the text again when they are put together. */
function pieces(
  text: string,
  limits: Pick<Segmentation, "max_tokens">,
  places: readonly string[] = breaks,
): string[] {
  const [place, ...others] = places;
  if (tokensIn(text) <= limits.max_tokens) return [text];
  if (place === undefined) {
    return text.match(new RegExp(`[^]{1,${Math.max(1, limits.max_tokens)}}`, "gu")) ?? [];
  }
  const parts = text.split(place);
  return parts.flatMap((part, index) =>
    pieces(index < parts.length - 1 ? part + place : part, limits, others),
  );
}

/** Pieces put together as far as they fit; each chunk repeats the last tokens of the one before. */
function joined(
  parts: readonly string[],
  { max_tokens, chunk_overlap }: Pick<Segmentation, "max_tokens" | "chunk_overlap">,
): string[] {
  const chunks: string[] = [];
  let current: string[] = [];
  let size = 0;
  for (const part of parts) {
    const tokens = tokensIn(part);
    if (size + tokens > max_tokens && current.length > 0) {
      chunks.push(current.join(""));
      while (current.length > 0 && (size > chunk_overlap || size + tokens > max_tokens)) {
        size -= tokensIn(current.shift() ?? "");
      }
    }
    current.push(part);
    size += tokens;
  }
  return [...chunks, current.join("")];
}

const tidied = (chunks: readonly string[]) =>
  chunks.map((chunk) => chunk.trim().replace(leadingSigns, "").trim()).filter(Boolean);
