/** Requests on their way at a time; how many may be falls when the server is busy. */
export interface ConcurrencyLimiter {
  readonly limit: number;
  onStart(): void;
  decrease(): void;
}

/** Lanes that become fewer, down to one, each time the server asks for patience. */
export function limitConcurrency(most: number): ConcurrencyLimiter {
  let [width, started, startedThen] = [most, 0, 0];
  return {
    get limit() {
      return width;
    },
    onStart: () => void started++,
    decrease() {
      // What was on its way together is refused together: that counts once.
      if (width === 1 || started === startedThen) return;
      width--;
      startedThen = started;
    },
  };
}
