import { crc32 } from "node:zlib";

/** A file to archive; the name has no directories. */
export interface ZipEntry {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Flag bit 11: names are UTF-8. */
const UTF8_NAMES = 0x0800;

/** Creates a ZIP archive without compression; unlike a library, also with hostile and equal names. */
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
      // besides the common fields: creator version; comment, disk, attributes, offset
      Buffer.concat([unsigned(4, 0x02014b50), unsigned(2, 20), common, unsigned(2, 0)]),
      Buffer.concat([unsigned(2, 0), unsigned(2, 0), unsigned(4, 0), unsigned(4, offset), path]),
    );
    offset += header.byteLength + bytes.byteLength;
  }
  const entryList = Buffer.concat(directory);
  const count = unsigned(2, entries.length);
  const sizes = [unsigned(4, entryList.byteLength), unsigned(4, offset), unsigned(2, 0)];
  const end = Buffer.concat([unsigned(4, 0x06054b50), unsigned(4, 0), count, count, ...sizes]);
  return Buffer.concat([...files, entryList, end]);
}

/** The fields that a local header and its directory entry share, from the required version on. */
function commonFields(path: Buffer, bytes: Uint8Array, modified: Date): Buffer {
  const time = (modified.getUTCHours() << 11) | (modified.getUTCMinutes() << 5);
  const date =
    ((modified.getUTCFullYear() - 1980) << 9) |
    ((modified.getUTCMonth() + 1) << 5) |
    modified.getUTCDate();
  const size = unsigned(4, bytes.byteLength);
  return Buffer.concat([
    unsigned(2, 20),
    unsigned(2, UTF8_NAMES),
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

/** Encodes a number in little-endian bytes. */
function unsigned(length: number, value: number): Buffer {
  const bytes = Buffer.alloc(length);
  bytes.writeUIntLE(value, 0, length);
  return bytes;
}
