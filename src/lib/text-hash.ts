/** Rolling hash of a growing string, to test prefixes in O(1) memory. */
export interface TextHash {
  /** UTF-16 units. */
  readonly length: number;
  grow(piece: string): void;
  /** An independent copy of the current state. */
  copy(): TextHash;
  /** Whether a text starts with the hashed one. */
  isPrefixOf(text: string): boolean;
}

/** The hash of the empty string. The chance of a false match is 1 in 2^64. */
export function newTextHash(length = 0, hash = start): TextHash {
  return {
    get length() {
      return length;
    },
    grow(piece) {
      length += piece.length;
      hash = hashed(piece, piece.length, hash);
    },
    copy: () => newTextHash(length, hash),
    isPrefixOf(text) {
      if (text.length < length) return false;
      const [a, b] = hashed(text, length, start);
      return a === hash[0] && b === hash[1];
    },
  };
}

type Hash = readonly [number, number];

const start: Hash = [0x811c9dc5, 0x1000193];

/** Two multiplicative hashes that do not depend on how the text is split. */
function hashed(text: string, length: number, [first, second]: Hash): Hash {
  let [a, b] = [first, second];
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b + code, 0x85ebca6b) ^ (b >>> 13);
  }
  return [a, b];
}
