const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/**
 * The words of a text in lower case, in order. Languages that write without blanks are cut as
 * well: SQLite's own tokenizers find no word of two characters in them.
 */
export function wordsIn(text: string): string[] {
  const words: string[] = [];
  for (const { segment, isWordLike } of segmenter.segment(text.normalize("NFKC"))) {
    if (isWordLike) words.push(segment.toLowerCase());
  }
  return words;
}

/** Query for an index over words joined by blanks: any of the words; undefined without words. */
export function anyOf(words: readonly string[]): string | undefined {
  if (words.length === 0) return undefined;
  return [...new Set(words)].map((word) => `"${word.replaceAll('"', '""')}"`).join(" OR ");
}

const stopWords = new Set(
  "a an and are as at be by for from has in is it of on or that the this to was were will with".split(
    " ",
  ),
);

/** Up to ten words that a text is about, the frequent ones first, written as in the text. */
export function keywordsIn(text: string): string[] {
  const counts = new Map<string, number>();
  for (const { segment, isWordLike } of segmenter.segment(text)) {
    if (!isWordLike || stopWords.has(segment.toLowerCase())) continue;
    counts.set(segment, (counts.get(segment) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 10)
    .map(([word]) => word);
}
