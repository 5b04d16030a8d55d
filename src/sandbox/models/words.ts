import { Marks } from "./marks.ts";

const WORDS = new Intl.Segmenter(undefined, { granularity: "word" });

/** Scripts without spaces; only they need the segmenter, which is twenty times slower. */
const UNSPACED_SCRIPT =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const WORD = /[\p{L}\p{M}\p{N}_]+(?:['’.][\p{L}\p{M}\p{N}_]+)*/gu;

function splitWords(text: string): string[] {
  if (!UNSPACED_SCRIPT.test(text)) return text.match(WORD) ?? [];
  const words: string[] = [];
  for (const { segment, isWordLike } of WORDS.segment(text)) {
    if (isWordLike) words.push(segment);
  }
  return words;
}

/** Splits a text into lower-case words; SQLite finds none of two characters in scripts without spaces. */
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

/**
 * Embeds a text: a unit vector of its hashed words and of the pairs of characters in them, so that
 * misspelt and inflected words are near each other. It knows no meaning. Throws ModelError for the
 * mark `embed-error`.
 */
export function embed(text: string, dimensions: number): Float32Array {
  const marks = new Marks(text);
  marks.fail("embed-error");
  const vector = new Float32Array(dimensions);
  for (const word of tokenize(marks.rest)) {
    add(vector, word, 1);
    for (const pair of pairsOf(word)) add(vector, pair, PAIR_WEIGHT);
  }
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}

/** Weight of a pair of characters; that of a whole word is 1. */
const PAIR_WEIGHT = 0.8;

const pairsOf = (word: string): string[] => {
  const characters = [...`^${word}$`];
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
};

/** Adds a feature at its hash, with a sign that makes collisions cancel out on average. */
function add(vector: Float32Array, feature: string, weight: number): void {
  const hash = hashOf(feature);
  const index = hash % vector.length;
  vector[index] = (vector[index] ?? 0) + (hash & 0x80000000 ? -weight : weight);
}

/** FNV-1a with 32 bits and a final mix, which spreads short texts over all bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** The cosine of two unit vectors, from -1 to 1. */
export function similarity(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  // Not `reduce`, which takes five times as long: a search compares every chunk.
  for (let index = 0; index < a.length; index++) sum += (a[index] ?? 0) * (b[index] ?? 0);
  return sum;
}
