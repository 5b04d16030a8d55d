/** All values of a stream. */
export async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

/** All bytes of a stream. */
export const bytesOf = async (chunks: AsyncIterable<Uint8Array>): Promise<Buffer<ArrayBuffer>> =>
  Buffer.concat(await collect(chunks));
