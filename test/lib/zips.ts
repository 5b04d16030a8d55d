import { crc32, deflateRawSync } from "node:zlib";

/** A file in a ZIP; optional fields override its real metadata. */
export interface Packed {
  readonly name?: string;
  readonly text: string;
  readonly packed?: boolean;
  readonly flags?: number;
  readonly method?: number;
  readonly sum?: number;
  /** Compressed size in the local header. */
  readonly inside?: number;
  readonly length?: number;
  readonly extra?: Buffer;
  /** Checksum and sizes follow the data. */
  readonly descriptor?: "marked" | "plain" | "wrong";
  /** Missing in the central directory. */
  readonly hidden?: boolean;
  /** Offset in the central directory. */
  readonly offset?: number;
}

/** Numbers, the lowest byte first: `[2, 20, 4, 7]` is a 20 in two bytes and a 7 in four. */
function numbers(...parts: readonly number[]): Buffer {
  const bytes: Buffer[] = [];
  for (let at = 0; at < parts.length; at += 2) {
    const piece = Buffer.alloc(parts[at] ?? 0);
    piece.writeUIntLE(parts[at + 1] ?? 0, 0, piece.length);
    bytes.push(piece);
  }
  return Buffer.concat(bytes);
}

/** Writes an archive, with wrong metadata if requested. */
export function zipWith(files: readonly Packed[], count?: number): Buffer {
  const [bodies, directory]: [Buffer[], Buffer[]] = [[], []];
  let at = 0;
  for (const file of files) {
    const { before, body, common } = partsOf(file);
    bodies.push(before, body);
    const line = [numbers(4, 0x02014b50, 2, 20), common, numbers(2, 0, 2, 0, 2, 0, 4, 0)];
    if (!file.hidden)
      directory.push(...line, numbers(4, file.offset ?? at), Buffer.from(file.name ?? "a.md"));
    at += before.length + body.length;
  }
  const list = Buffer.concat(directory);
  const info = count ?? files.filter(({ hidden }) => !hidden).length;
  const end = numbers(4, 0x06054b50, 4, 0, 2, info, 2, info, 4, list.length, 4, at, 2, 0);
  return Buffer.concat([...bodies, list, end]);
}

function partsOf(file: Packed) {
  const { name = "a.md", text, packed = false, extra = Buffer.alloc(0), descriptor } = file;
  const plain = Buffer.from(text);
  const content = packed ? deflateRawSync(plain) : plain;
  const [sum, inside, length] = [file.sum ?? crc32(plain), content.length, plain.length];
  const flags = file.flags ?? (descriptor ? 8 : 0);
  const info = descriptor ? [0, 0, 0] : [sum, file.inside ?? inside, file.length ?? length];
  const method = file.method ?? (packed ? 8 : 0);
  const [first = 0, second = 0, third = 0] = info;
  const start = numbers(2, 20, 2, flags, 2, method, 4, 0, 4, first, 4, second, 4, third);
  const named = numbers(2, Buffer.byteLength(name));
  const common = Buffer.concat([start, named, numbers(2, 0)]);
  const before = [numbers(4, 0x04034b50), start, named, numbers(2, extra.length)];
  const after = numbers(4, sum, 4, inside, 4, descriptor === "wrong" ? length + 1 : length);
  const body: Buffer[] = [content];
  if (descriptor) body.push(descriptor === "plain" ? after : Buffer.concat([mark, after]));
  return {
    before: Buffer.concat([...before, Buffer.from(name), extra]),
    body: Buffer.concat(body),
    common,
  };
}

const mark = numbers(4, 0x08074b50);

/** The field of an entry with lengths of 64 bits, the unpacked one first. */
export function wide(...lengths: readonly bigint[]): Buffer {
  const field = Buffer.alloc(8 * lengths.length);
  for (const [index, length] of lengths.entries()) field.writeBigUInt64LE(length, 8 * index);
  return Buffer.concat([numbers(2, 1, 2, field.length), field]);
}

const marks = "PK\u0003\u0004 PK\u0001\u0002 PK\u0007\u0008 PK\u0005\u0006";
const none = 0xffffffff;
const one: Packed = { text: "one" };
const two: Packed = { text: "two", packed: true };

/** Valid archives with the contents of their files. */
export const good: readonly (readonly [what: string, zip: Buffer, texts: readonly string[]])[] = [
  ["stored and compressed", zipWith([one, two]), ["one", "two"]],
  ["an empty file", zipWith([{ text: "" }, { text: "", packed: true }]), ["", ""]],
  [
    "texts that look like parts of a ZIP",
    zipWith([{ text: marks }, { text: marks, packed: true }]),
    [marks, marks],
  ],
  [
    "sizes after the data",
    zipWith([
      { text: marks, packed: true, descriptor: "marked" },
      { ...two, descriptor: "plain" },
    ]),
    [marks, "two"],
  ],
  [
    "64-bit sizes",
    zipWith([{ ...one, inside: none, length: none, extra: wide(3n, 3n) }, two]),
    ["one", "two"],
  ],
  [
    "the same name twice, and names that lead elsewhere",
    zipWith([
      { ...one, name: "../../outside.md" },
      { ...two, name: "../../outside.md" },
    ]),
    ["one", "two"],
  ],
  ...["/etc/outside", "C:\\outside", "..\\..\\outside", "a\0b", "", "CON", "x".repeat(60_000)].map(
    (name) =>
      [
        `a file named ${JSON.stringify(name.slice(0, 20))}`,
        zipWith([{ ...one, name }, two]),
        ["one", "two"],
      ] as const,
  ),
  // Files are read sequentially: offsets in the directory are ignored.
  ["entries that overlap", zipWith([one, { ...two, offset: 0 }]), ["one", "two"]],
];

/** Invalid archives with the expected error. */
export const bad: readonly (readonly [what: string, zip: Buffer, error: RegExp])[] = [
  ["an empty archive", Buffer.alloc(0), /unexpected end/],
  ["data that is not a ZIP", Buffer.from("<html>no</html>"), /invalid ZIP: unknown data/],
  ["an encrypted file", zipWith([{ ...one, flags: 1 }, two]), /invalid ZIP: encrypted/],
  [
    "an unknown compression",
    zipWith([{ ...one, method: 99 }, two]),
    /invalid ZIP: unknown compression/,
  ],
  ["a wrong checksum", zipWith([{ ...one, sum: 7 }, two]), /wrong checksum of a file/],
  ["a length that is too small", zipWith([{ ...one, inside: 2, length: 2 }, two]), /invalid ZIP/],
  ["a length that is too large", zipWith([{ ...one, inside: 9, length: 9 }, two]), /invalid ZIP/],
  ["a compressed size that is too small", zipWith([{ ...two, inside: 2 }, one]), /invalid ZIP/],
  ["a compressed size that is too large", zipWith([{ ...two, inside: 40 }, one]), /invalid ZIP/],
  ["a wrong uncompressed size", zipWith([{ ...two, length: 9 }, one]), /the length of a file/],
  [
    "a length beyond the end",
    zipWith([{ ...one, inside: 1e6, length: 1e6 }, two]),
    /unexpected end/,
  ],
  [
    "a size of 2 GB without the data",
    zipWith([{ ...one, inside: 2e9, length: 2e9 }, two]),
    /invalid ZIP: unexpected end/,
  ],
  [
    "16 EiB",
    zipWith([{ ...one, inside: none, length: none, extra: wide(2n ** 64n - 1n, 3n) }, two]),
    /invalid ZIP: the length of a file/,
  ],
  ["missing 64-bit sizes", zipWith([{ ...one, inside: none, extra: wide() }]), /invalid ZIP/],
  // What is not UTF-8 becomes U+FFFD, which moves all that follows.
  ...["one", "two", "three", "four", "five", "six"].flatMap((text) =>
    [false, true].map(
      (packed) =>
        [
          `${packed ? "compressed" : "stored"} data that was read as text, of ${text}`,
          Buffer.from(zipWith([{ text, packed }, two]).toString()),
          /invalid ZIP/,
        ] as const,
    ),
  ),
  ["a stored file without an end", zipWith([{ ...one, flags: 8 }, two]), /a file has no length/],
  ["a wrong length behind a file", zipWith([{ ...two, descriptor: "wrong" }, one]), /length/],
  ["a file that the directory hides", zipWith([one, { ...two, hidden: true }]), /does not match/],
  ["a directory with too many entries", zipWith([one, two], 3), /does not match/],
];
