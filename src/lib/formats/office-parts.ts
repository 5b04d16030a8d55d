import { crc32, inflateRawSync } from "node:zlib";
import { budget, UnreadableFile } from "./unreadable-file.ts";

/** Start of the files of older Office versions, which are also the cover of encrypted ones. */
const OLDER_OFFICE = Buffer.from("d0cf11e0", "hex");

const MAX_UNPACKED = 64 * 1024 * 1024;

/** Unpacks the parts of an Office document whose paths match, in the order of their paths. Throws UnreadableFile. */
export function officeParts(
  bytes: Uint8Array,
  wanted: RegExp,
): readonly { readonly path: string; readonly content: Buffer }[] {
  const zip = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (zip.indexOf(OLDER_OFFICE) === 0) {
    throw new UnreadableFile("it is encrypted, or a file of an older Office version");
  }
  const parts = entriesOf(zip)
    .filter(({ path }) => wanted.test(path))
    .toSorted((one, other) => (one.path < other.path ? -1 : 1));
  if (parts.length === 0) throw new UnreadableFile("it has no text of its kind");
  // The sizes come first: nothing is unpacked of a file that promises too much.
  const sizes = parts.map(({ size }) => size);
  sizes.forEach(budget(MAX_UNPACKED, "it unpacks to more than 64 MB of text"));
  return parts.map((part) => ({ path: part.path, content: unpack(zip, part) }));
}

const END = Buffer.from("504b0506", "hex");

type Entry = ReturnType<typeof entriesOf>[number];

/** What the directory at the end of a ZIP says of its files; a read behind its end throws RangeError. */
function entriesOf(zip: Buffer) {
  const end = zip.lastIndexOf(END);
  if (end === -1) throw new UnreadableFile("it is not a complete ZIP archive");
  let at = zip.readUInt32LE(end + 16);
  return Array.from({ length: zip.readUInt16LE(end + 10) }, () => {
    const nameEnd = at + 46 + zip.readUInt16LE(at + 28);
    const entry = {
      path: zip.toString("utf8", at + 46, nameEnd),
      isEncrypted: (zip.readUInt16LE(at + 8) & 1) === 1,
      isPacked: zip.readUInt16LE(at + 10) !== 0,
      checksum: zip.readUInt32LE(at + 16),
      packedSize: zip.readUInt32LE(at + 20),
      size: zip.readUInt32LE(at + 24),
      /** Where its own header begins. */
      offset: zip.readUInt32LE(at + 42),
    };
    at = nameEnd + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
    return entry;
  });
}

/** The content of a file; never more than its entry promises, and exactly that if it is whole. */
function unpack(zip: Buffer, { path, offset, size, ...entry }: Entry): Buffer {
  if (entry.isEncrypted) throw new UnreadableFile("it is encrypted");
  const start = offset + 30 + zip.readUInt16LE(offset + 26) + zip.readUInt16LE(offset + 28);
  const packed = zip.subarray(start, start + entry.packedSize);
  const content = entry.isPacked ? inflateRawSync(packed, { maxOutputLength: size || 1 }) : packed;
  if (content.length === size && crc32(content) === entry.checksum) return content;
  throw new UnreadableFile(`it is damaged (the checksum of ${path} is wrong)`);
}
