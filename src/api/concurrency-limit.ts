/** Requests on their way at a time; how many may be falls when the server is busy. */
export interface ConcurrencyLimiter {
  readonly width: number;
  started(): void;
  slowDown(): void;
}

/** Lanes that become fewer, down to one, each time the server asks for patience. */
export function limitConcurrency(most: number): ConcurrencyLimiter {
  let [width, started, startedThen] = [most, 0, 0];
  return {
    get width() {
      return width;
    },
    started: () => void started++,
    slowDown() {
      // What was on its way together is refused together: that counts once.
      if (width === 1 || started === startedThen) return;
      width--;
      startedThen = started;
    },
  };
}
