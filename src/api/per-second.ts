/** How many rows were met in each second. */
export interface PerSecond {
  /** Counts one row; quickest when rows come newest or oldest first. */
  add(second: number): void;
  /** Rows from the first to the last second, both included. */
  between(from: number, to: number): number;
  /** The second at which half of the rows of that span are reached; undefined where it has none. */
  middle(from: number, to: number): number | undefined;
}

/** Empty counts. They take 8 bytes for each different second, and up to half as much again in reserve. */
export function perSecond(): PerSecond {
  // Newest first, as the rows come.
  let seconds = new Uint32Array(256);
  let counts = new Uint32Array(256);
  let size = 0;

  /** First place whose second is not later than this one. */
  const placeOf = (second: number): number => {
    let [low, high] = [0, size];
    if (size > 0 && second <= (seconds[size - 1] ?? 0)) low = size - 1;
    while (low < high) {
      const half = (low + high) >>> 1;
      if ((seconds[half] ?? 0) > second) low = half + 1;
      else high = half;
    }
    return low;
  };

  const larger = (old: Uint32Array) => {
    const grown = new Uint32Array(Math.ceil(old.length * 1.5));
    grown.set(old);
    return grown;
  };

  const between = (from: number, to: number): number => {
    let all = 0;
    for (let at = placeOf(to); at < size && (seconds[at] ?? 0) >= from; at++)
      all += counts[at] ?? 0;
    return all;
  };

  return {
    add(second) {
      const at = second < (seconds[size - 1] ?? Infinity) ? size : placeOf(second);
      if (at < size && seconds[at] === second) {
        counts[at] = (counts[at] ?? 0) + 1;
        return;
      }
      if (size === seconds.length) {
        seconds = larger(seconds);
        counts = larger(counts);
      }
      seconds.copyWithin(at + 1, at, size);
      counts.copyWithin(at + 1, at, size);
      seconds[at] = second;
      counts[at] = 1;
      size++;
    },
    between,
    middle(from, to) {
      const half = between(from, to) / 2;
      let reached = 0;
      for (let at = placeOf(to); at < size && (seconds[at] ?? 0) >= from; at++) {
        reached += counts[at] ?? 0;
        if (reached >= half) return seconds[at];
      }
      return undefined;
    },
  };
}
