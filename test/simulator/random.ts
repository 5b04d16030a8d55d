/**
 * A number from 0 to below 1 that depends on the words alone. What is drawn in one place cannot shift
 * what is drawn in another, so that a run can be repeated with fewer faults.
 */
export function draw(seed: number, words: string): number {
  let high = 0xdeadbeef ^ seed;
  let low = 0x41c6ce57 ^ seed;
  for (let at = 0; at < words.length; at++) {
    const code = words.charCodeAt(at);
    high = Math.imul(high ^ code, 2_654_435_761);
    low = Math.imul(low ^ code, 1_597_334_677);
  }
  high =
    Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low =
    Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return ((low >>> 0) * 2 ** 21 + ((high >>> 0) >>> 11)) / 2 ** 53;
}
