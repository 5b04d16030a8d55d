/** The ids that were met so far. */
export interface IdSet {
  /** Remembers the id; false when it was there already. */
  add(id: string): boolean;
  readonly size: number;
}

/** 128 bits as four 32-bit words. */
const words = 4;
const firstSlots = 256;
/** Fuller than this and a search passes long runs of entries; emptier only costs memory. */
const fullest = 0.875;
const growth = 1.25;

/**
 * An empty set of row ids that keeps 128 bits of each, in a table that is 70 to 87.5 % full: 18 to
 * 23 bytes a row, and for a moment twice that while it grows. A UUID is kept as it is, any other id
 * as a hash: a million of those hold two that are taken for one with a chance below 1 in 10^26.
 */
export function newIdSet(): IdSet {
  let slots = firstSlots;
  let table = new Uint32Array(slots * words);
  let size = 0;
  // Four zeros mark a free slot, so the one id that is all zeros is remembered apart.
  let zero = false;
  const id = new Uint32Array(words);

  /** Where the id stands, or the free slot it belongs into. */
  const slotOf = (a: number, b: number, c: number, d: number): number => {
    let at = Math.floor((spread(a, b, c, d) / 2 ** 32) * slots) * words;
    while (!isFree(table, at) && !holds(table, at, a, b, c, d)) {
      at += words;
      if (at === table.length) at = 0;
    }
    return at;
  };

  const put = (at: number, a: number, b: number, c: number, d: number) => {
    table[at] = a;
    table[at + 1] = b;
    table[at + 2] = c;
    table[at + 3] = d;
  };

  const grow = () => {
    const old = table;
    slots = Math.ceil(slots * growth);
    table = new Uint32Array(slots * words);
    for (let at = 0; at < old.length; at += words) {
      if (isFree(old, at)) continue;
      const [a, b, c, d] = entry(old, at);
      put(slotOf(a, b, c, d), a, b, c, d);
    }
  };

  const addWords = (a: number, b: number, c: number, d: number): boolean => {
    const at = slotOf(a, b, c, d);
    if (!isFree(table, at)) return false;
    put(at, a, b, c, d);
    return true;
  };

  return {
    add(text) {
      if (!readUuid(text, id)) hash(text, id);
      if (isFree(id, 0)) {
        if (zero) return false;
        zero = true;
        size++;
        return true;
      }
      const [a, b, c, d] = entry(id, 0);
      if (!addWords(a, b, c, d)) return false;
      size++;
      if (size > slots * fullest) grow();
      return true;
    },
    get size() {
      return size;
    },
  };
}

const entry = (table: Uint32Array, at: number): [number, number, number, number] => [
  table[at] ?? 0,
  table[at + 1] ?? 0,
  table[at + 2] ?? 0,
  table[at + 3] ?? 0,
];

const isFree = (table: Uint32Array, at: number): boolean =>
  table[at] === 0 && table[at + 1] === 0 && table[at + 2] === 0 && table[at + 3] === 0;

const holds = (table: Uint32Array, at: number, a: number, b: number, c: number, d: number) =>
  table[at] === a && table[at + 1] === b && table[at + 2] === c && table[at + 3] === d;

/** Brings every bit of a word to every place: ids that only count up must not lie side by side. */
function mixed(word: number): number {
  let bits = word;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}

/** 0 to 2^32 - 1, evenly, whichever bits the ids differ in. */
const spread = (a: number, b: number, c: number, d: number): number =>
  mixed(mixed(mixed(mixed(a) ^ b) ^ c) ^ d) >>> 0;

const dash = 45;
const noDigit = 255;
/** Value of a hexadecimal digit by its character code. */
const digits = new Uint8Array(128).fill(noDigit);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  digits[digit.charCodeAt(0)] = value;
}

/** The 128 bits of a UUID in small letters, as the server writes them; false for any other text. */
function readUuid(text: string, into: Uint32Array): boolean {
  if (text.length !== 36) return false;
  let word = 0;
  let read = 0;
  for (let at = 0; at < 36; at++) {
    const code = text.charCodeAt(at);
    if (at === 8 || at === 13 || at === 18 || at === 23) {
      if (code !== dash) return false;
      continue;
    }
    const digit = digits[code] ?? noDigit;
    if (digit === noDigit) return false;
    word = (word << 4) | digit;
    read++;
    if (read % 8 === 0) into[read / 8 - 1] = word;
  }
  return true;
}

/** One odd multiplier for each word of a hash. */
const factors = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f] as const;

/** 128 bits of any text: four words that take up every character, each the one before it. */
function hash(text: string, into: Uint32Array): void {
  let [a, b, c, d]: [number, number, number, number] = [1, 2, 3, 4];
  const take = (value: number) => {
    a = Math.imul(turned(a ^ value ^ d), factors[0]);
    b = Math.imul(turned(b ^ a), factors[1]);
    c = Math.imul(turned(c ^ b), factors[2]);
    d = Math.imul(turned(d ^ c), factors[3]);
  };
  for (let at = 0; at < text.length; at++) take(text.charCodeAt(at));
  for (let round = 0; round < words; round++) take(text.length);
  into[0] = mixed(a);
  into[1] = mixed(b);
  into[2] = mixed(c);
  into[3] = mixed(d);
}

/** The upper bits down and the lower up: a product only ever carries upwards. */
const turned = (word: number): number => (word << 15) | (word >>> 17);
