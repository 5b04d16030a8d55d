import { CliError } from "../errors.ts";
import { streamDecoder } from "./text.ts";

/** All values of a stream. */
export async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

/** All bytes of a stream. */
export const bytesOf = async (chunks: AsyncIterable<Uint8Array>): Promise<Buffer<ArrayBuffer>> =>
  Buffer.concat(await collect(chunks));

/** Maximum size of a response that is kept in memory, in bytes; files and event streams are not. */
export const MAX_RESPONSE = 64 * 1024 * 1024;

/** The whole body as text. Throws `failure` if it is larger than `maxBytes`. */
export async function readText(
  body: AsyncIterable<Uint8Array>,
  maxBytes = MAX_RESPONSE,
): Promise<string> {
  const decode = streamDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) {
      throw new CliError("failure", `response is larger than ${maxBytes / 1024 / 1024} MiB`);
    }
    text += decode(chunk);
  }
  return text + decode();
}

/** A content is sent in pieces of this size: of one piece, it is only known that it was handed over. */
const PIECE = 2 ** 18;

/** The bytes in pieces, each of which is reported when it is sent. */
export function* bytePieces<T extends Uint8Array>(bytes: T): Generator<T> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE) as T;
}

/** Consecutive parts of a list, each of at most `size` values. */
export function* slices<T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size);
}

/** The first of each list, then the second of each, and so on. */
export const inTurns = <T>(lists: readonly (readonly T[])[]): T[] =>
  Array.from({ length: Math.max(0, ...lists.map(({ length }) => length)) }, (_, at) =>
    lists.flatMap((list) => list.slice(at, at + 1)),
  ).flat();

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
