import { limitConcurrency } from "./concurrency-limit.ts";
import type { ConcurrencyLimiter } from "./concurrency-limit.ts";

/** Results of each lane that may wait for an earlier one, or for the reader. */
const keptAhead = 16;

/**
 * Results of a task for each item, so many at a time, in the order of the items. The first failure
 * ends it, after the tasks under way have ended.
 */
export async function* mapConcurrent<T, R>(
  items: Iterable<T>,
  lanes: number | ConcurrencyLimiter,
  task: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const source = items[Symbol.iterator]();
  const road = typeof lanes === "number" ? limitConcurrency(lanes) : lanes;
  const open: Promise<R>[] = [];
  let active = 0;
  let ended = false;
  const fill = () => {
    while (!ended && active < road.limit && open.length < road.limit * keptAhead) {
      const next = source.next();
      if (next.done) return;
      active++;
      road.onStart();
      const result = task(next.value);
      open.push(result);
      result.then(free, () => {
        ended = true; // told when its turn comes
      });
    }
  };
  const free = () => {
    active--;
    fill();
  };
  fill();
  try {
    for (let first = open.shift(); first; first = open.shift()) {
      const result = await first;
      fill();
      yield result;
    }
  } finally {
    ended = true;
    await Promise.allSettled(open);
  }
}

/** The same, all at once. */
export async function mapAll<T, R>(
  items: Iterable<T>,
  lanes: number | ConcurrencyLimiter,
  task: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for await (const result of mapConcurrent(items, lanes, task)) results.push(result);
  return results;
}
