import { Marks } from "./marks.ts";
import { errorKind, ModelError } from "./model-error.ts";
import { tokenize } from "./words.ts";

/**
 * Embeds a text: a unit vector of its hashed words and of the pairs of characters in them, so that
 * misspelt and inflected words are near each other. It knows no meaning. Throws ModelError for the
 * mark `embed-error`.
 */
export function embed(text: string, dimensions: number): Float32Array {
  const marks = new Marks(text);
  const error = marks.text("embed-error");
  if (error !== undefined) throw new ModelError(errorKind(error));
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
