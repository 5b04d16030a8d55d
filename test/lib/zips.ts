import { crc32, deflateRawSync } from "node:zlib";

/** A file of a ZIP, and what the ZIP says of it where that is not the truth. */
export interface Packed {
  readonly name?: string;
  readonly text: string;
  readonly packed?: boolean;
  readonly flags?: number;
  readonly method?: number;
  readonly sum?: number;
  /** Lengths that stand before it. */
  readonly inside?: number;
  readonly length?: number;
  readonly extra?: Buffer;
  /** Sum and lengths follow it. */
  readonly descriptor?: "marked" | "plain" | "wrong";
  /** The directory leaves it out. */
  readonly hidden?: boolean;
  /** Where the directory says that it stands. */
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

/** An archive as any program may write it, lies included. */
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

/** Archives that are as good as any, with what their files hold. */
export const good: readonly (readonly [what: string, zip: Buffer, texts: readonly string[]])[] = [
  ["stored and packed", zipWith([one, two]), ["one", "two"]],
  ["nothing in a file", zipWith([{ text: "" }, { text: "", packed: true }]), ["", ""]],
  [
    "texts that look like parts of a ZIP",
    zipWith([{ text: marks }, { text: marks, packed: true }]),
    [marks, marks],
  ],
  [
    "lengths behind the files",
    zipWith([
      { text: marks, packed: true, descriptor: "marked" },
      { ...two, descriptor: "plain" },
    ]),
    [marks, "two"],
  ],
  [
    "lengths of 64 bits",
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
        `a file called ${JSON.stringify(name.slice(0, 20))}`,
        zipWith([{ ...one, name }, two]),
        ["one", "two"],
      ] as const,
  ),
  // Files are read one after the other: where the directory looks for them plays no part.
  ["entries that overlap", zipWith([one, { ...two, offset: 0 }]), ["one", "two"]],
];

/** Archives that lie or are damaged, with what is said of them. */
export const bad: readonly (readonly [what: string, zip: Buffer, said: RegExp])[] = [
  ["nothing at all", Buffer.alloc(0), /unexpected end/],
  ["no ZIP", Buffer.from("<html>no</html>"), /invalid ZIP: unknown data/],
  ["an encrypted file", zipWith([{ ...one, flags: 1 }, two]), /invalid ZIP: encrypted/],
  [
    "an unknown packing",
    zipWith([{ ...one, method: 99 }, two]),
    /invalid ZIP: unknown compression/,
  ],
  ["a wrong sum", zipWith([{ ...one, sum: 7 }, two]), /wrong checksum of a file/],
  ["a length that is too small", zipWith([{ ...one, inside: 2, length: 2 }, two]), /invalid ZIP/],
  ["a length that is too large", zipWith([{ ...one, inside: 9, length: 9 }, two]), /invalid ZIP/],
  ["a packed length too small", zipWith([{ ...two, inside: 2 }, one]), /invalid ZIP/],
  ["a packed length too large", zipWith([{ ...two, inside: 40 }, one]), /invalid ZIP/],
  ["another unpacked length", zipWith([{ ...two, length: 9 }, one]), /the length of a file/],
  [
    "a length beyond the end",
    zipWith([{ ...one, inside: 1e6, length: 1e6 }, two]),
    /unexpected end/,
  ],
  ["2 GB that are not there", zipWith([{ ...one, inside: 2e9, length: 2e9 }, two]), /256 MiB/],
  [
    "16 EiB",
    zipWith([{ ...one, inside: none, length: none, extra: wide(2n ** 64n - 1n, 3n) }, two]),
    /256 MiB/,
  ],
  [
    "64 bits that are missing",
    zipWith([{ ...one, inside: none, extra: wide() }]),
    /invalid ZIP|256 MiB/,
  ],
  ["a stored file without an end", zipWith([{ ...one, flags: 8 }, two]), /a file has no length/],
  ["a wrong length behind a file", zipWith([{ ...two, descriptor: "wrong" }, one]), /length/],
  ["a file that the directory hides", zipWith([one, { ...two, hidden: true }]), /does not match/],
  ["a directory that tells of more", zipWith([one, two], 3), /does not match/],
];
