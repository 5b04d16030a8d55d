/** Words of a text that are compared; what follows is not. */
const MAX_WORDS = 2000;

const segmenter = new Intl.Segmenter("und", { granularity: "word" });

/**
 * How alike two texts are, from 0 to 1: one minus the edit distance over their words (inserted, deleted
 * and replaced ones) divided by the number of words of the longer text. Case, punctuation and Unicode
 * forms do not matter. 1 for two texts without words.
 */
export function answerSimilarity(one: string, other: string): number {
  const [a, b] = [wordsOf(one), wordsOf(other)];
  const longer = Math.max(a.length, b.length);
  return longer === 0 ? 1 : 1 - editDistance(a, b) / longer;
}

function wordsOf(text: string): readonly string[] {
  const words: string[] = [];
  for (const { segment, isWordLike } of segmenter.segment(text.normalize("NFKC"))) {
    if (isWordLike) words.push(segment.toLowerCase());
    if (words.length === MAX_WORDS) break;
  }
  return words;
}

/** V. I. Levenshtein's distance, one row of the table at a time. */
function editDistance(a: readonly string[], b: readonly string[]): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [index, word] of a.entries()) {
    const next = [index + 1];
    for (const [column, other] of b.entries()) {
      const replaced = (row[column] ?? 0) + Number(word !== other);
      const shifted = Math.min(row[column + 1] ?? 0, next[column] ?? 0) + 1;
      next.push(Math.min(replaced, shifted));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
