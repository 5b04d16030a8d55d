import { collect } from "../lib/collect.ts";

/** Requests in flight at once by default; a default server handles ten connections (server §20). */
export const DEFAULT_CONCURRENCY = 3;

/** How many requests may be in flight: drops by one (minimum 1) each time a request has to wait. */
export class ConcurrencyLimiter {
  limit: number;
  private started = 0;
  private startedAtDecrease = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  onStart(): void {
    this.started++;
  }

  decrease(): void {
    // Requests that were in flight together are rejected together: that counts once.
    if (this.limit === 1 || this.started === this.startedAtDecrease) return;
    this.limit--;
    this.startedAtDecrease = this.started;
  }
}

/** Results per concurrent task that may wait for an earlier one, or for the consumer. */
const MAX_AHEAD = 16;

/**
 * Ordered concurrent map (like p-map, but streaming). The first failure ends it, after the tasks in
 * flight have settled.
 */
export async function* mapConcurrent<T, R>(
  items: Iterable<T>,
  concurrency: number | ConcurrencyLimiter,
  task: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const source = items[Symbol.iterator]();
  const limiter =
    typeof concurrency === "number" ? new ConcurrencyLimiter(concurrency) : concurrency;
  const results: Promise<R>[] = [];
  let active = 0;
  let ended = false;
  const fill = () => {
    while (!ended && active < limiter.limit && results.length < limiter.limit * MAX_AHEAD) {
      const next = source.next();
      if (next.done) return;
      active++;
      limiter.onStart();
      const result = task(next.value);
      results.push(result);
      result.then(onDone, () => {
        ended = true; // the error is thrown when its turn comes
      });
    }
  };
  const onDone = () => {
    active--;
    fill();
  };
  fill();
  try {
    for (let first = results.shift(); first; first = results.shift()) {
      const result = await first;
      fill();
      yield result;
    }
  } finally {
    ended = true;
    await Promise.allSettled(results);
  }
}

/** Like `mapConcurrent`, with all results in one array. */
export const mapAll = <T, R>(
  items: Iterable<T>,
  concurrency: number | ConcurrencyLimiter,
  task: (item: T) => Promise<R>,
): Promise<R[]> => collect(mapConcurrent(items, concurrency, task));
