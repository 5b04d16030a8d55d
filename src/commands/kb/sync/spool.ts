import type { Context } from "../../task/command-spec.ts";

/** Contents that were read to be sent later. */
export interface Spool {
  /** Stores a content; returns what reads it. */
  put(bytes: Uint8Array): Promise<() => Promise<Uint8Array>>;
  close(): Promise<void>;
}

/** Bytes that are kept in memory; what comes after goes to a file without a name. */
const MAX_MEMORY = 2 ** 25;

/** Opens a spool: an object of a remote source is read once, though its hash is needed before it is sent. */
export function newSpool({ host: { files, directories } }: Context): Spool {
  let size = 0;
  let end = 0;
  const open = async () => {
    await files.makeDirectory(directories.cache, 0o700);
    return files.scratch(directories.cache);
  };
  let file: ReturnType<typeof open> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  return {
    async put(bytes) {
      size += bytes.length;
      if (size <= MAX_MEMORY) return async () => bytes;
      const spool = await (file ??= open());
      const written = last.then(() => spool.append(bytes));
      const start = end;
      end += bytes.length;
      last = written;
      await written;
      return () => readPart(spool.bytes(start), bytes.length);
    },
    close: async () => (await file?.catch(() => undefined))?.close(),
  };
}

async function readPart(bytes: AsyncIterable<Uint8Array>, length: number): Promise<Uint8Array> {
  const part = new Uint8Array(length);
  let at = 0;
  for await (const piece of bytes) {
    part.set(piece.subarray(0, length - at), at);
    at += Math.min(piece.length, length - at);
    if (at === length) break;
  }
  return part;
}
