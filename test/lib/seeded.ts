/** Deterministic random numbers from 0 to 1; each seed has 2 ** 32 of them before they repeat. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    const bits = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
    return ((bits ^ (bits >>> 13)) >>> 0) / 2 ** 32;
  };
}
