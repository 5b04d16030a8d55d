import { collect } from "../lib/collect.ts";
import { AdaptiveLimit } from "./adaptive-limit.ts";

/** Results per concurrent task that may wait for an earlier one, or for the consumer. */
const MAX_AHEAD = 16;

/**
 * Ordered concurrent map (like p-map, but streaming). The first failure ends it, after the tasks in
 * flight have settled.
 */
export async function* mapConcurrent<T, R>(
  items: Iterable<T>,
  concurrency: number | AdaptiveLimit,
  task: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const source = items[Symbol.iterator]();
  const limit =
    typeof concurrency === "number"
      ? new AdaptiveLimit({ start: concurrency, max: concurrency })
      : concurrency;
  const results: Promise<R>[] = [];
  // The end of an array is known before it is reached, so that no place is taken for it.
  let left = Array.isArray(items) ? items.length : Infinity;
  let ended = left === 0;
  let onChange = () => {};
  /** Starts the next task in the place that was taken. Throws what the items throw. */
  const start = () => {
    const next = source.next();
    ended = --left === 0 || next.done === true;
    if (next.done) return limit.leave();
    const result = task(next.value);
    results.push(result);
    const settle = () => {
      limit.leave();
      fill();
    };
    result.then(settle, () => {
      ended = true; // the error is thrown when its turn comes
      settle();
    });
  };
  const fill = () => {
    while (!ended && results.length < limit.value * MAX_AHEAD && limit.enter(fill)) {
      try {
        start();
      } catch (error) {
        ended = true;
        limit.leave();
        const failure = Promise.reject(error);
        failure.catch(() => {}); // thrown when its turn comes
        results.push(failure);
      }
    }
    onChange();
  };
  fill();
  try {
    while (!ended || results.length > 0) {
      const first = results.shift();
      if (first === undefined) {
        await new Promise<void>((resolve) => (onChange = resolve));
        continue;
      }
      const result = await first;
      fill();
      yield result;
    }
  } finally {
    ended = true;
    limit.forget(fill);
    await Promise.allSettled(results);
  }
}

/** Like `mapConcurrent`, with all results in one array. */
export const mapAll = <T, R>(
  items: Iterable<T>,
  concurrency: number | AdaptiveLimit,
  task: (item: T) => Promise<R>,
): Promise<R[]> => collect(mapConcurrent(items, concurrency, task));

/** Like `mapConcurrent`, for a known number of items that arrive one after the other. */
export async function* mapArriving<T, R>(
  items: AsyncIterable<T>,
  count: number,
  limit: AdaptiveLimit,
  task: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const source = items[Symbol.asyncIterator]();
  function* arriving() {
    for (let left = count; left > 0; left--) yield source.next();
  }
  try {
    yield* mapConcurrent(arriving(), limit, async (next) => {
      const { done, value } = await next;
      if (done) throw new Error("fewer items than were counted"); // or an earlier one has failed
      return task(value);
    });
  } finally {
    await source.return?.();
  }
}
