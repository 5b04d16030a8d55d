import { crc32 } from "node:zlib";

/** A file to pack; the name has no folders. */
export interface ZipEntry {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Bit 11: names are UTF-8. */
const utf8Names = 0x0800;

/** A ZIP archive of files as they are, without compression, in the order given. */
export function createZip(entries: readonly ZipEntry[], modified: Date): Uint8Array {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, bytes } of entries) {
    const path = Buffer.from(name, "utf8");
    const common = commonFields(path, bytes, modified);
    const header = Buffer.concat([unsigned(4, 0x04034b50), common, path]);
    files.push(header, Buffer.from(bytes));
    directory.push(
      // Around the common fields: version made by; comment, disk, attributes, where the file is.
      Buffer.concat([unsigned(4, 0x02014b50), unsigned(2, 20), common, unsigned(2, 0)]),
      Buffer.concat([unsigned(2, 0), unsigned(2, 0), unsigned(4, 0), unsigned(4, offset), path]),
    );
    offset += header.byteLength + bytes.byteLength;
  }
  const list = Buffer.concat(directory);
  const count = unsigned(2, entries.length);
  const sizes = [unsigned(4, list.byteLength), unsigned(4, offset), unsigned(2, 0)];
  const end = Buffer.concat([unsigned(4, 0x06054b50), unsigned(4, 0), count, count, ...sizes]);
  return Buffer.concat([...files, list, end]);
}

/** What the header of a file and its line in the directory share, from the version needed on. */
function commonFields(path: Buffer, bytes: Uint8Array, modified: Date): Buffer {
  const time = (modified.getUTCHours() << 11) | (modified.getUTCMinutes() << 5);
  const date =
    ((modified.getUTCFullYear() - 1980) << 9) |
    ((modified.getUTCMonth() + 1) << 5) |
    modified.getUTCDate();
  const size = unsigned(4, bytes.byteLength);
  return Buffer.concat([
    unsigned(2, 20),
    unsigned(2, utf8Names),
    unsigned(2, 0),
    unsigned(2, time | (modified.getUTCSeconds() >> 1)),
    unsigned(2, date),
    unsigned(4, crc32(bytes)),
    size,
    size,
    unsigned(2, path.byteLength),
    unsigned(2, 0),
  ]);
}

/** A number in so many bytes, the lowest first. */
function unsigned(length: number, value: number): Buffer {
  const bytes = Buffer.alloc(length);
  bytes.writeUIntLE(value, 0, length);
  return bytes;
}

/** Names as the server packs them: the last part only, and told apart by a number (server §9.7). */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((each) => {
    const base = each.trim().split(/[/\\]/).pop() || "file";
    const dot = base.lastIndexOf(".");
    const [stem, extension] = dot > 0 ? [base.slice(0, dot), base.slice(dot)] : [base, ""];
    let name = base;
    for (let number = 1; taken.has(name); number++) name = `${stem} (${number})${extension}`;
    taken.add(name);
    return name;
  });
}
