import { collect } from "../lib/collect.ts";
import type { ConcurrencyLimiter, Place } from "./concurrency-limiter.ts";

/** Results per concurrent task that may wait for an earlier one, or for the consumer. */
const MAX_AHEAD = 16;

/** What admits the tasks of a map. */
type Admission = Pick<ConcurrencyLimiter, "limit" | "enter" | "forget" | "settle">;

/** Admits this number of tasks at a time. */
function fixedAdmission(limit: number): Admission {
  let active = 0;
  const place: Place = { leave: () => void active-- };
  return {
    limit,
    enter() {
      if (active === limit) return undefined; // a task that ends calls back
      active++;
      return place;
    },
    forget() {},
    settle() {},
  };
}

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
  const admission = typeof concurrency === "number" ? fixedAdmission(concurrency) : concurrency;
  const results: Promise<R>[] = [];
  // Of an array, no place is taken for an item that there is not.
  let left = Array.isArray(items) ? items.length : Infinity;
  let ended = left === 0;
  let onChange = () => {};
  const start = (place: Place) => {
    const next = source.next();
    ended = --left === 0;
    if (next.done) {
      ended = true;
      place.leave();
      admission.settle();
      return;
    }
    const result = task(next.value);
    const settle = () => {
      place.leave();
      fill();
      admission.settle();
    };
    results.push(result);
    result.then(settle, () => {
      ended = true; // the error is thrown when its turn comes
      settle();
    });
  };
  const fill = () => {
    while (!ended && results.length < admission.limit * MAX_AHEAD) {
      const place = admission.enter(fill);
      if (!place) break;
      try {
        start(place);
      } catch (error) {
        ended = true;
        place.leave();
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
    admission.forget(fill);
    await Promise.allSettled(results);
  }
}

/** Like `mapConcurrent`, with all results in one array. */
export const mapAll = <T, R>(
  items: Iterable<T>,
  concurrency: number | ConcurrencyLimiter,
  task: (item: T) => Promise<R>,
): Promise<R[]> => collect(mapConcurrent(items, concurrency, task));
