/** All values of a stream. */
export async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

/** All bytes of a stream. */
export const bytesOf = async (chunks: AsyncIterable<Uint8Array>): Promise<Buffer<ArrayBuffer>> =>
  Buffer.concat(await collect(chunks));

/** Groups values by key, in the order of the first of each group. */
export function groupBy<T, K>(values: Iterable<T>, keyOf: (value: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group) group.push(value);
    else groups.set(key, [value]);
  }
  return groups;
}
