import { crc32, createInflateRaw } from "node:zlib";
import type { InflateRaw } from "node:zlib";
import { CliError } from "../errors.ts";

/** Bytes of one file: far more than servers take, far less than a few kilobytes can be unpacked to. */
const largestFile = 256 * 1024 * 1024;

const tooLarge = () => new CliError("failure", "a file in the ZIP is larger than 256 MiB");
const broken = (why: string, cause?: unknown) =>
  new CliError("failure", `the ZIP is broken: ${why}`, { cause });

const otherLength = "a file in it has another length than it says";

/** The error for a ZIP with more or fewer files than documents that were asked for. */
export const otherCount = (documents: number): CliError =>
  new CliError("failure", `the ZIP does not hold one file for each of ${documents} documents`);

/** Begins of the parts of a ZIP. */
const part = {
  file: 0x04034b50,
  descriptor: 0x08074b50,
  directory: 0x02014b50,
  end64: 0x06064b50,
  locator64: 0x07064b50,
  end: 0x06054b50,
} as const;

/**
 * The files of a ZIP, one after the other in its order, each whole and with the sum that the ZIP
 * gives for it; what they are called plays no part. Throws failure when it is broken or encrypted, or
 * a file of it is larger than 256 MiB.
 */
export async function* unzip(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const input = inputOf(bytes);
  let count = 0;
  try {
    for (;;) {
      const begin = (await input.take(4)).readUInt32LE();
      if (begin === part.file) {
        yield await fileOf(input);
        count++;
      } else if (begin === part.end) {
        const info = (await input.take(18)).readUInt16LE(6);
        if (info !== Math.min(count, 0xffff)) throw broken("its directory names other files");
        return await input.drain();
      } else await skipPart(begin, input);
    }
  } finally {
    await input.close();
  }
}

/** Passes over a part that repeats what the files say themselves. */
async function skipPart(begin: number, input: Input): Promise<void> {
  if (begin === part.directory) {
    const head = await input.take(42);
    await input.take(head.readUInt16LE(24) + head.readUInt16LE(26) + head.readUInt16LE(28));
  } else if (begin === part.end64) {
    await input.take(lengthOf(await input.take(8), 0));
  } else if (begin === part.locator64) await input.take(16);
  else throw broken("something else stands between its files");
}

/** A number of 64 bits that counts bytes of a file. */
function lengthOf(bytes: Buffer, at: number): number {
  if (at + 8 > bytes.length) throw broken("a length is missing");
  const length = Number(bytes.readBigUInt64LE(at));
  if (length > largestFile) throw tooLarge();
  return length;
}

/** What stands before a file; lengths are undefined where they follow it. */
interface Head {
  readonly packed: boolean;
  readonly sum: number;
  readonly inside: number | undefined;
  readonly length: number | undefined;
  readonly wide: boolean;
}

async function headOf(input: Input): Promise<Head> {
  const fixed = await input.take(26);
  const [flags, method] = [fixed.readUInt16LE(2), fixed.readUInt16LE(4)];
  const name = fixed.readUInt16LE(22);
  const extra = (await input.take(name + fixed.readUInt16LE(24))).subarray(name);
  if ((flags & 1) !== 0) throw broken("a file in it is encrypted");
  if (method !== 0 && method !== 8) throw broken("a file in it is packed in an unknown way");
  const wide = wideLengths(extra);
  const packed = method === 8;
  if ((flags & 8) !== 0) {
    if (!packed) throw broken("nothing says where a file in it ends");
    return { packed, sum: 0, inside: undefined, length: undefined, wide: wide !== undefined };
  }
  const [inside, length] = [fixed.readUInt32LE(14), fixed.readUInt32LE(18)];
  const long = (short: number, at: number) => {
    if (short !== 0xffffffff || !wide) return short;
    return lengthOf(wide, at);
  };
  return {
    packed,
    sum: fixed.readUInt32LE(10),
    length: long(length, 0),
    // Only lengths that do not fit stand there, the unpacked one first.
    inside: long(inside, length === 0xffffffff ? 8 : 0),
    wide: wide !== undefined,
  };
}

/** The field with lengths of 64 bits. */
function wideLengths(extra: Buffer): Buffer | undefined {
  for (let at = 0; at + 4 <= extra.length;) {
    const end = at + 4 + extra.readUInt16LE(at + 2);
    if (extra.readUInt16LE(at) === 1) return extra.subarray(at + 4, end);
    at = end;
  }
  return undefined;
}

async function fileOf(input: Input): Promise<Uint8Array> {
  const head = await headOf(input);
  if ((head.length ?? 0) > largestFile || (head.inside ?? 0) > largestFile) throw tooLarge();
  const content = head.packed
    ? await unpacked(input, head.inside)
    : await input.take(head.inside ?? 0);
  const { sum, length } = head.inside === undefined ? await following(input, head.wide) : head;
  if (content.length !== length) throw broken(otherLength);
  if (crc32(content) !== sum) throw broken("a file in it is damaged");
  return content;
}

/** Sum and length that stand behind a file, with or without a mark. */
async function following(input: Input, wide: boolean) {
  let first = await input.take(4);
  if (first.readUInt32LE() === part.descriptor) first = await input.take(4);
  const lengths = await input.take(wide ? 16 : 8);
  return {
    sum: first.readUInt32LE(),
    length: wide ? lengthOf(lengths, 8) : lengths.readUInt32LE(4),
  };
}

/** Unpacks so many bytes, or as many as belong to it; what was read beyond them is given back. */
async function unpacked(input: Input, inside = Infinity): Promise<Uint8Array> {
  if (inside === 0) return new Uint8Array();
  const inflate = createInflateRaw();
  const content = contentOf(inflate);
  content.catch(() => {}); // awaited below
  let given = 0;
  while (given < inside && inflate.bytesWritten === given) {
    const piece = await input.some(inside - given);
    given += piece.length;
    // A write that fails is never answered.
    await Promise.race([content, new Promise((resolve) => inflate.write(piece, resolve))]);
  }
  inflate.end();
  const whole = await content;
  if (inside !== Infinity && inflate.bytesWritten < inside) throw broken(otherLength);
  input.giveBack(given - inflate.bytesWritten);
  return whole;
}

async function contentOf(inflate: InflateRaw): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of inflate as AsyncIterable<Buffer>) {
      size += piece.length;
      if (size > largestFile) throw tooLarge();
      pieces.push(piece);
    }
  } catch (error) {
    throw error instanceof CliError ? error : broken("a file in it cannot be unpacked", error);
  }
  return Buffer.concat(pieces);
}

/** The bytes of a ZIP as they come, read in parts. */
interface Input {
  /** Exactly so many. */
  readonly take: (length: number) => Promise<Buffer>;
  /** At least one of those that come next, at most so many. */
  readonly some: (most: number) => Promise<Buffer>;
  /** The last ones that were taken are taken again. */
  readonly giveBack: (length: number) => void;
  /** Reads all that is left. */
  readonly drain: () => Promise<void>;
  readonly close: () => Promise<void>;
}

function inputOf(bytes: AsyncIterable<Uint8Array>): Input {
  const pieces = bytes[Symbol.asyncIterator]();
  let [held, at]: [Buffer, number] = [Buffer.alloc(0), 0];
  const more = async () => {
    const { value, done } = await pieces.next();
    if (done) throw broken("it ends too early");
    [held, at] = [Buffer.from(value.buffer, value.byteOffset, value.byteLength), 0];
  };
  const some = async (most: number) => {
    while (at === held.length) await more();
    const piece = held.subarray(at, Math.min(held.length, at + most));
    at += piece.length;
    return piece;
  };
  return {
    some,
    async take(length) {
      const parts: Buffer[] = [];
      for (let left = length; left > 0; left -= parts.at(-1)?.length ?? 0)
        parts.push(await some(left));
      return Buffer.concat(parts);
    },
    giveBack: (length) => (at -= length),
    async drain() {
      while (!(await pieces.next()).done);
    },
    async close() {
      await pieces.return?.();
    },
  };
}
