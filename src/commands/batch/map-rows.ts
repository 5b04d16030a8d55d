import { mapConcurrent } from "../../api/concurrent-map.ts";
import type { ConcurrencyLimiter } from "../../api/concurrency-limiter.ts";

/** Like `mapConcurrent`, for a known number of items that arrive one after the other. */
export async function* mapRows<T, R>(
  items: AsyncIterable<T>,
  count: number,
  limiter: ConcurrencyLimiter,
  task: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const source = items[Symbol.asyncIterator]();
  function* arriving() {
    for (let left = count; left > 0; left--) yield source.next();
  }
  try {
    yield* mapConcurrent(arriving(), limiter, async (next) => {
      const { done, value } = await next;
      if (done) throw new Error("fewer rows than were counted"); // or an earlier one has failed
      return task(value);
    });
  } finally {
    await source.return?.();
  }
}
