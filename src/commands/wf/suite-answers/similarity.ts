/** A text as its words: what is compared, and where each begins in the text that is shown. */
interface Words {
  readonly text: string;
  readonly keys: readonly string[];
  readonly starts: readonly number[];
}

/** Where two texts begin to differ. */
interface FirstDifference {
  /** From 1. */
  readonly word: number;
  /** Some words from there; empty at the end of the text. */
  readonly one: string;
  readonly other: string;
}

/** How alike two texts are. */
export interface Likeness {
  /** From 0 to 1; undefined if both texts are too long to be compared. */
  readonly similarity: number | undefined;
  /** Undefined if all words are equal. */
  readonly difference: FirstDifference | undefined;
}

const segmenter = new Intl.Segmenter("und", { granularity: "word" });

/**
 * How alike two texts are: one minus the edit distance over their words (inserted, deleted and replaced
 * ones) divided by the number of words of the longer text. Case, punctuation and Unicode forms do not
 * matter, except in texts without any word.
 */
export function compareWords(one: string, other: string): Likeness {
  const [a, b] = [wordsOf(one), wordsOf(other)];
  const longer = Math.max(a.keys.length, b.keys.length);
  const distance = wordDistance(a.keys, b.keys);
  return {
    // Divided once, so that four of five words are 0.8 exactly.
    similarity: distance === undefined ? undefined : (longer - distance) / longer,
    difference: firstDifference(a, b),
  };
}

/** The words of a text; all of it for one without words, such as a sign or nothing. */
function wordsOf(original: string): Words {
  const text = original.normalize("NFKC");
  const keys: string[] = [];
  const starts: number[] = [];
  for (let start = 0; start < text.length;) {
    const end = pieceEnd(text, start);
    for (const { segment, index, isWordLike } of segmenter.segment(text.slice(start, end))) {
      if (!isWordLike) continue;
      keys.push(segment.toLowerCase());
      starts.push(start + index);
    }
    start = end;
  }
  return keys.length > 0 ? { text, keys, starts } : { text, keys: [text.trim()], starts: [0] };
}

/** Characters that are segmented at once: the time grows with the square of their number. */
const MIN_PIECE = 500;
const MAX_PIECE = 1000;

/** Where to cut a long text: after a blank or a sign that is in no word, if there is one. */
function pieceEnd(text: string, start: number): number {
  if (text.length <= start + MAX_PIECE) return text.length;
  const blank = text
    .slice(start + MIN_PIECE, start + MAX_PIECE)
    .search(/[\s\u3000-\u3003！，：；？]/);
  if (blank >= 0) return start + MIN_PIECE + blank + 1;
  const isInPair = (text.codePointAt(start + MAX_PIECE - 1) ?? 0) > 0xffff;
  return start + MAX_PIECE - Number(isInPair);
}

/** Words that are shown of a difference. */
const SHOWN_WORDS = 4;

function firstDifference(a: Words, b: Words): FirstDifference | undefined {
  const longer = Math.max(a.keys.length, b.keys.length);
  let at = 0;
  while (at < longer && a.keys[at] === b.keys[at]) at++;
  if (at === longer) return undefined;
  const shown = ({ text, starts }: Words) =>
    text.slice(starts[at] ?? text.length, starts[at + SHOWN_WORDS]).trim();
  return { word: at + 1, one: shown(a), other: shown(b) };
}

/** Rows of the table of distances that one integer holds. */
const BITS = 32;

/** Steps that take about a second: two texts of 80,000 words. */
const MAX_STEPS = 200_000_000;

/** The edit distance of two lists of words; undefined if it would take too long. */
function wordDistance(a: readonly string[], b: readonly string[]): number | undefined {
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start++;
  let end = 0;
  while (end < shorter - start && a[a.length - end - 1] === b[b.length - end - 1]) end++;
  const numbers = new Map<string, number>();
  const numbered = (words: readonly string[]) =>
    Int32Array.from(words.slice(start, words.length - end), (word) => {
      const number = numbers.get(word) ?? numbers.size;
      numbers.set(word, number);
      return number;
    });
  const [rows, columns] = [numbered(a), numbered(b)];
  if (Math.ceil(rows.length / BITS) * columns.length > MAX_STEPS) return undefined;
  return editDistance(rows, columns, numbers.size);
}

/**
 * V. I. Levenshtein's distance, 32 rows of the table at a time (G. Myers, "A fast bit-vector algorithm
 * for approximate string matching based on dynamic programming", 1999).
 */
function editDistance(rows: Int32Array, columns: Int32Array, words: number): number {
  /** For each word the rows that have it. */
  const masks = new Int32Array(words);
  /** The change from each column to the next one, in the last row so far. */
  const changes = new Int8Array(columns.length).fill(1);
  for (let start = 0; start < rows.length; start += BITS) {
    const block = rows.subarray(start, start + BITS);
    for (const [row, word] of block.entries()) masks[word] = (masks[word] ?? 0) | (1 << row);
    addRows(block.length, columns, masks, changes);
    for (const word of block) masks[word] = 0;
  }
  return changes.reduce((sum, change) => sum + change, rows.length);
}

/** Moves the changes down by some rows: bits of `rises` and `falls` are those from row to row. */
function addRows(count: number, columns: Int32Array, masks: Int32Array, changes: Int8Array): void {
  let [rises, falls] = [-1, 0];
  for (let column = 0; column < columns.length; column++) {
    const above = changes[column] ?? 0;
    const equal = masks[columns[column] ?? 0] ?? 0;
    const fromAbove = equal | (above < 0 ? 1 : 0);
    const vertical = equal | falls;
    const diagonal = (((fromAbove & rises) + rises) ^ rises) | fromAbove;
    const up = falls | ~(diagonal | rises);
    const down = rises & diagonal;
    changes[column] = ((up >>> (count - 1)) & 1) - ((down >>> (count - 1)) & 1);
    const rising = (up << 1) | (above > 0 ? 1 : 0);
    const falling = (down << 1) | (above < 0 ? 1 : 0);
    rises = falling | ~(vertical | rising);
    falls = rising & vertical;
  }
}
