/** A text that grows, remembered by its length and a hash: a long answer takes no memory. */
export interface TextHash {
  /** UTF-16 units. */
  readonly length: number;
  grow(piece: string): void;
  /** One that stays as it is now. */
  copy(): TextHash;
  /** Does this text begin with all that was grown? */
  begins(text: string): boolean;
}

/** An empty one. A text that only seems to begin with it has a chance of 1 in 2^64. */
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
    begins(text) {
      if (text.length < length) return false;
      const [a, b] = hashed(text, length, start);
      return a === hash[0] && b === hash[1];
    },
  };
}

type Hash = readonly [number, number];

const start: Hash = [0x811c9dc5, 0x1000193];

/** Two multiplicative hashes, the same for a text however it is cut into pieces. */
function hashed(text: string, length: number, [first, second]: Hash): Hash {
  let [a, b] = [first, second];
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b + code, 0x85ebca6b) ^ (b >>> 13);
  }
  return [a, b];
}
