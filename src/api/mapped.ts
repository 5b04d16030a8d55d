/**
 * Results of a task for each item, so many at a time, in the order of the items. The first failure
 * ends it, after the tasks under way have ended.
 */
export async function* mapped<T, R>(
  items: Iterable<T>,
  lanes: number,
  task: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const source = items[Symbol.iterator]();
  const open: Promise<R>[] = [];
  const fill = () => {
    while (open.length < lanes) {
      const next = source.next();
      if (next.done) return;
      const result = task(next.value);
      result.catch(() => {}); // told when its turn comes
      open.push(result);
    }
  };
  fill();
  try {
    for (let first = open.shift(); first; first = open.shift()) {
      const result = await first;
      fill();
      yield result;
    }
  } finally {
    await Promise.allSettled(open);
  }
}

/** The same, all at once. */
export async function allMapped<T, R>(
  items: Iterable<T>,
  lanes: number,
  task: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for await (const result of mapped(items, lanes, task)) results.push(result);
  return results;
}
