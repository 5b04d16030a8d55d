const WORDS = new Intl.Segmenter(undefined, { granularity: "word" });

/** Scripts without spaces; only they need the segmenter, which is twenty times slower. */
const UNSPACED_SCRIPT =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const WORD = /[\p{L}\p{M}\p{N}_]+(?:['’.][\p{L}\p{M}\p{N}_]+)*/gu;

/** Splits a text into words. */
function splitWords(text: string): string[] {
  if (!UNSPACED_SCRIPT.test(text)) return text.match(WORD) ?? [];
  const words: string[] = [];
  for (const { segment, isWordLike } of WORDS.segment(text)) {
    if (isWordLike) words.push(segment);
  }
  return words;
}

/**
 * Splits a text into lower-case words, also in scripts without spaces: SQLite's tokenizers do not
 * find words of two characters there.
 */
export const tokenize = (text: string): string[] =>
  splitWords(text.normalize("NFKC")).map((word) => word.toLowerCase());

const STOP_WORDS = new Set(
  "a an and are as at be by for from has in is it of on or that the this to was were will with".split(
    " ",
  ),
);

/** Returns the ten most frequent words of a text without stop words. */
export function extractKeywords(text: string): string[] {
  const counts = new Map<string, number>();
  for (const word of splitWords(text)) {
    if (STOP_WORDS.has(word.toLowerCase())) continue;
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 10)
    .map(([word]) => word);
}

const SEGMENTER = new Intl.Segmenter("en", { granularity: "sentence" });

/** The sentences of a text; a line break ends one, too. */
export const sentencesOf = (text: string): string[] =>
  [...SEGMENTER.segment(text)].map(({ segment }) => segment.trim()).filter(Boolean);

/** The share of a question's words that a text contains, from 0 to 1. */
export function overlap(question: readonly string[], text: readonly string[]): number {
  const asked = new Set(question);
  if (asked.size === 0) return 0;
  const found = new Set(text);
  return [...asked].filter((word) => found.has(word)).length / asked.size;
}
