import { distance } from "fastest-levenshtein";

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

/** Steps that take about a second, each for 32 words of one text: two texts of 80,000 words. */
const MAX_STEPS = 200_000_000;
/** Different words of both texts that one code unit can stand for, beside two for all other words. */
const MAX_WORDS = 0xfffe;

/** The edit distance of two lists of words; undefined if it would take too long. */
function wordDistance(a: readonly string[], b: readonly string[]): number | undefined {
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start++;
  let end = 0;
  while (end < shorter - start && a[a.length - end - 1] === b[b.length - end - 1]) end++;
  const [one, other] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  if (Math.ceil(one.length / 32) * other.length > MAX_STEPS) return undefined;
  const words = new Set(other);
  const shared = [...new Set(one)].filter((word) => words.has(word));
  if (shared.length > MAX_WORDS) return undefined;
  // The package compares code units. Words of one text alone are equal to none, so they share one.
  const units = new Map(shared.map((word, index) => [word, String.fromCharCode(index)]));
  const coded = (list: readonly string[], unshared: string) =>
    list.map((word) => units.get(word) ?? unshared).join("");
  return distance(coded(one, "\ufffe"), coded(other, "\uffff"));
}
