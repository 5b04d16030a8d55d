const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** Scripts that write without blanks; only they need the segmenter, which takes twenty times as long. */
const withoutBlanks =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const spelled = /[\p{L}\p{M}\p{N}_]+(?:['’.][\p{L}\p{M}\p{N}_]+)*/gu;

/** The words of a text as they are written, in order. */
function written(text: string): string[] {
  if (!withoutBlanks.test(text)) return text.match(spelled) ?? [];
  const words: string[] = [];
  for (const { segment, isWordLike } of segmenter.segment(text)) {
    if (isWordLike) words.push(segment);
  }
  return words;
}

/**
 * The words of a text in lower case, in order. Languages that write without blanks are cut as
 * well: SQLite's own tokenizers find no word of two characters in them.
 */
export const tokenize = (text: string): string[] =>
  written(text.normalize("NFKC")).map((word) => word.toLowerCase());

/** Query for an index over words joined by blanks: any of the words; undefined without words. */
export function matchAny(words: readonly string[]): string | undefined {
  if (words.length === 0) return undefined;
  return [...new Set(words)].map((word) => `"${word}"`).join(" OR ");
}

const stopWords = new Set(
  "a an and are as at be by for from has in is it of on or that the this to was were will with".split(
    " ",
  ),
);

/** Up to ten words that a text is about, the frequent ones first, written as in the text. */
export function extractKeywords(text: string): string[] {
  const counts = new Map<string, number>();
  for (const word of written(text)) {
    if (stopWords.has(word.toLowerCase())) continue;
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 10)
    .map(([word]) => word);
}
