/** Rows that arrived together, as one value of a stream: a page takes one step through it, not a hundred. */
export class Rows {
  readonly all: readonly unknown[];

  constructor(all: readonly unknown[]) {
    this.all = all;
  }
}

/** The values of a stream as they arrived together: rows as lists, any other value by itself. */
export async function* inBatches(
  values: AsyncIterable<unknown>,
): AsyncGenerator<readonly unknown[]> {
  for await (const value of values) yield value instanceof Rows ? value.all : [value];
}

/** The values of a stream one by one. */
export async function* oneByOne<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const batch of batches) yield* batch;
}
