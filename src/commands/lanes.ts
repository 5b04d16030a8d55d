/** Does `work` for each item, so many at a time; results stand in the order of the items. */
export async function inLanes<T, R>(
  items: readonly T[],
  lanes: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  let failed = false;
  const lane = async () => {
    while (next < items.length && !failed) {
      const at = next++;
      try {
        results[at] = await work(items[at] as T); // there: `at` is below the length
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}
