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
