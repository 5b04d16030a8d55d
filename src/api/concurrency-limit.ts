/** How many requests may be in flight; the limit falls when the server is busy. */
export interface ConcurrencyLimiter {
  readonly limit: number;
  onStart(): void;
  decrease(): void;
}

/** Adaptive concurrency limit: drops by one (minimum 1) each time a request has to wait. */
export function limitConcurrency(max: number): ConcurrencyLimiter {
  let [limit, started, startedAtDecrease] = [max, 0, 0];
  return {
    get limit() {
      return limit;
    },
    onStart: () => void started++,
    decrease() {
      // Requests that were in flight together are rejected together: that counts once.
      if (limit === 1 || started === startedAtDecrease) return;
      limit--;
      startedAtDecrease = started;
    },
  };
}
