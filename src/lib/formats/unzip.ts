import { crc32, createInflateRaw } from "node:zlib";
import type { InflateRaw } from "node:zlib";
import { CliError } from "../../errors.ts";

/** Maximum size of a file: more than servers accept, less than a ZIP bomb. */
const MAX_FILE = 256 * 1024 * 1024;

const tooLarge = () => new CliError("failure", "a file in the ZIP is larger than 256 MiB");
const broken = (why: string, cause?: unknown) =>
  new CliError("failure", `invalid ZIP: ${why}`, { cause });

const wrongLength = "the length of a file does not match";

const signature = {
  file: 0x04034b50,
  descriptor: 0x08074b50,
  directory: 0x02014b50,
  end64: 0x06064b50,
  locator64: 0x07064b50,
  end: 0x06054b50,
} as const;

/**
 * The contents of the files in a ZIP, in its order, with their checksums verified. Throws `failure`
 * if it is invalid or encrypted, or if a file is larger than 256 MiB.
 */
export async function* unzip(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const input = inputOf(bytes);
  let count = 0;
  try {
    for (;;) {
      const begin = (await input.take(4)).readUInt32LE();
      if (begin === signature.file) {
        yield await fileOf(input);
        count++;
      } else if (begin === signature.end) {
        const info = (await input.take(18)).readUInt16LE(6);
        if (info !== Math.min(count, 0xffff))
          throw broken("its directory does not match its files");
        return await input.drain();
      } else await skipPart(begin, input);
    }
  } finally {
    await input.close();
  }
}

/** Skips a part that repeats the headers of the files. */
async function skipPart(begin: number, input: Input): Promise<void> {
  if (begin === signature.directory) {
    const head = await input.take(42);
    await input.take(head.readUInt16LE(24) + head.readUInt16LE(26) + head.readUInt16LE(28));
  } else if (begin === signature.end64) {
    const length = lengthOf(await input.take(8), 0);
    if (length > MAX_FILE) throw broken("wrong length of its directory");
    await input.take(length);
  } else if (begin === signature.locator64) await input.take(16);
  else throw broken("unknown data between its files");
}

function lengthOf(bytes: Buffer, at: number): number {
  if (at + 8 > bytes.length) throw broken("a length is missing");
  return Number(bytes.readBigUInt64LE(at));
}

/** The header of a file; lengths are undefined if they follow the file. */
interface FileHeader {
  readonly compressed: boolean;
  readonly checksum: number;
  readonly compressedLength: number | undefined;
  readonly length: number | undefined;
  /** Lengths have 64 bits. */
  readonly wide: boolean;
}

async function headOf(input: Input): Promise<FileHeader> {
  const fixed = await input.take(26);
  const [flags, method] = [fixed.readUInt16LE(2), fixed.readUInt16LE(4)];
  const name = fixed.readUInt16LE(22);
  const extra = (await input.take(name + fixed.readUInt16LE(24))).subarray(name);
  if ((flags & 1) !== 0) throw broken("encrypted file");
  if (method !== 0 && method !== 8) throw broken("unknown compression method");
  const lengths = wideLengths(extra);
  const [compressed, wide] = [method === 8, lengths !== undefined];
  if ((flags & 8) !== 0) {
    if (!compressed) throw broken("a file has no length");
    return { compressed, checksum: 0, compressedLength: undefined, length: undefined, wide };
  }
  const [inside, length] = [fixed.readUInt32LE(14), fixed.readUInt32LE(18)];
  const long = (short: number, at: number) =>
    short === 0xffffffff && lengths ? lengthOf(lengths, at) : short;
  return {
    compressed,
    checksum: fixed.readUInt32LE(10),
    length: long(length, 0),
    // The field has only the lengths that do not fit, the uncompressed one first.
    compressedLength: long(inside, length === 0xffffffff ? 8 : 0),
    wide,
  };
}

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
  const content = head.compressed
    ? await inflated(input, head.compressedLength)
    : await stored(input, head.compressedLength ?? 0);
  const { checksum, length } =
    head.compressedLength === undefined ? await readDescriptor(input, head.wide) : head;
  if (content.length !== length) throw broken(wrongLength);
  if (crc32(content) !== checksum) throw broken("wrong checksum of a file");
  return content;
}

/** The next `length` bytes. In a damaged ZIP it can be any number, so a file is too large once its bytes came. */
async function stored(input: Input, length: number): Promise<Buffer> {
  if (length <= MAX_FILE) return input.take(length);
  for (let left = MAX_FILE; left > 0;) left -= (await input.some(left)).length;
  throw tooLarge();
}

/** Checksum and length that follow a file, with or without a signature. */
async function readDescriptor(input: Input, wide: boolean) {
  let first = await input.take(4);
  if (first.readUInt32LE() === signature.descriptor) first = await input.take(4);
  const lengths = await input.take(wide ? 16 : 8);
  return {
    checksum: first.readUInt32LE(),
    length: wide ? lengthOf(lengths, 8) : lengths.readUInt32LE(4),
  };
}

/** Inflates the next `length` bytes, or up to the end of the stream; returns surplus bytes to the input. */
async function inflated(input: Input, length = Infinity): Promise<Uint8Array> {
  if (length === 0) return new Uint8Array();
  const inflate = createInflateRaw();
  const content = contentOf(inflate);
  content.catch(() => {}); // awaited below
  let given = 0;
  while (given < length && inflate.bytesWritten === given) {
    const piece = await input.some(length - given);
    given += piece.length;
    // The callback of a failed write is never called.
    await Promise.race([content, new Promise((resolve) => inflate.write(piece, resolve))]);
  }
  inflate.end();
  const whole = await content;
  if (length !== Infinity && inflate.bytesWritten < length) throw broken(wrongLength);
  input.unread(given - inflate.bytesWritten);
  return whole;
}

async function contentOf(inflate: InflateRaw): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of inflate as AsyncIterable<Buffer>) {
      size += piece.length;
      if (size > MAX_FILE) throw tooLarge();
      pieces.push(piece);
    }
  } catch (error) {
    throw error instanceof CliError ? error : broken("failed to decompress a file", error);
  }
  return Buffer.concat(pieces);
}

type Input = ReturnType<typeof inputOf>;

/** Buffered reader of the bytes of a ZIP. */
function inputOf(bytes: AsyncIterable<Uint8Array>) {
  const pieces = bytes[Symbol.asyncIterator]();
  let [held, at]: [Buffer, number] = [Buffer.alloc(0), 0];
  const more = async () => {
    const { value, done } = await pieces.next();
    if (done) throw broken("unexpected end");
    [held, at] = [Buffer.from(value.buffer, value.byteOffset, value.byteLength), 0];
  };
  /** At least one and at most `max` bytes. */
  const some = async (max: number) => {
    while (at === held.length) await more();
    const piece = held.subarray(at, Math.min(held.length, at + max));
    at += piece.length;
    return piece;
  };
  return {
    some,
    /** Exactly `length` bytes. */
    async take(length: number) {
      const parts: Buffer[] = [];
      for (let left = length; left > 0; left -= parts.at(-1)?.length ?? 0)
        parts.push(await some(left));
      return Buffer.concat(parts);
    },
    /** Puts the last bytes back. */
    unread: (length: number) => (at -= length),
    async drain() {
      while (!(await pieces.next()).done);
    },
    async close() {
      await pieces.return?.();
    },
  };
}
