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
