import { HTML, shownText, type Markup, OFFICE, XML } from "./markup.ts";
import { crc32, inflateRawSync } from "node:zlib";
import { budget, UnreadableFile } from "./limits.ts";

/** Makes a reader of a text in UTF-8. */
const textReader = (markup: Markup) => (bytes: Uint8Array) => [
  shownText(new TextDecoder().decode(bytes), markup),
];

/** Makes a reader of the texts at these paths of a ZIP: a part for each. */
const zipReader = (paths: RegExp, markup: Markup) => (bytes: Uint8Array) =>
  textsAt(openArchive(bytes), paths).map((text) => shownText(text, markup));

export const readHtml = textReader(HTML);
export const readXml = textReader(XML);
export const readDocx = zipReader(/^word\/(?:document|footnotes|endnotes)\d*\.xml$/, OFFICE);
export const readPptx = zipReader(/^ppt\/slides\/[^/]+\.xml$/, OFFICE);
export const readEpub = zipReader(/\.x?html?$/i, HTML);

/** The texts in a ZIP, by their paths. */
export type Archive = ReadonlyMap<string, string>;

/** The files of an archive that hold text: pictures and fonts are not unpacked. */
const TEXTS = /\.(?:xml|x?html?)$/i;

/** Bytes of all unpacked texts. */
const MAX_UNPACKED = 64 * 1024 * 1024;

/** Start of the files of older Office versions, which are also the cover of encrypted ones. */
const OLDER_OFFICE = Buffer.from("d0cf11e0", "hex");

/** Unpacks the texts of a ZIP; throws UnreadableFile if they are too long, encrypted or damaged. */
export function openArchive(bytes: Uint8Array): Archive {
  const zip = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (zip.indexOf(OLDER_OFFICE) === 0) {
    throw new UnreadableFile("it is encrypted, or a file of an older Office version");
  }
  const texts = entriesOf(zip).filter(({ path }) => TEXTS.test(path));
  // The sizes come first: nothing is unpacked of a file that promises too much.
  texts
    .map(({ size }) => size)
    .forEach(budget(MAX_UNPACKED, "it unpacks to more than 64 MB of text"));
  const decoder = new TextDecoder();
  const archive = new Map(texts.map((each) => [each.path, decoder.decode(unpack(zip, each))]));
  // Books list what is encrypted, which may be fonts alone.
  const encrypted = archive.get("META-INF/encryption.xml") ?? "";
  if (/\.x?html?["']/i.test(encrypted)) throw new UnreadableFile("it is encrypted");
  return archive;
}

/** What the directory of a ZIP says of a file. */
interface Entry {
  readonly path: string;
  readonly flags: number;
  readonly method: number;
  readonly checksum: number;
  readonly packedSize: number;
  readonly size: number;
  /** Where its own header begins. */
  readonly offset: number;
}

const END = Buffer.from("504b0506", "hex");

/** The entries of the directory at the end of a ZIP; a read behind its end throws RangeError. */
function entriesOf(zip: Buffer): Entry[] {
  const end = zip.lastIndexOf(END);
  if (end === -1) throw new UnreadableFile("it is not a complete ZIP archive");
  const entries: Entry[] = [];
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const nameEnd = at + 46 + zip.readUInt16LE(at + 28);
    entries.push({
      path: zip.toString("utf8", at + 46, nameEnd),
      flags: zip.readUInt16LE(at + 8),
      method: zip.readUInt16LE(at + 10),
      checksum: zip.readUInt32LE(at + 16),
      packedSize: zip.readUInt32LE(at + 20),
      size: zip.readUInt32LE(at + 24),
      offset: zip.readUInt32LE(at + 42),
    });
    at = nameEnd + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  return entries;
}

/** The content of a file; never more than its entry promises, and exactly that if it is whole. */
function unpack(zip: Buffer, { path, flags, method, checksum, packedSize, size, offset }: Entry) {
  if ((flags & 1) === 1) throw new UnreadableFile("it is encrypted");
  const start = offset + 30 + zip.readUInt16LE(offset + 26) + zip.readUInt16LE(offset + 28);
  const packed = zip.subarray(start, start + packedSize);
  const content = method === 0 ? packed : inflateRawSync(packed, { maxOutputLength: size || 1 });
  if (content.length === size && crc32(content) === checksum) return content;
  throw new UnreadableFile(`it is damaged (the checksum of ${path} is wrong)`);
}

/**
 * The texts at these paths, in the order of their names: `2.xml` before `10.xml`. Throws
 * UnreadableFile if there are none.
 */
export function textsAt(archive: Archive, paths: RegExp): readonly string[] {
  const found = [...archive].filter(([path]) => paths.test(path));
  if (found.length === 0) throw new UnreadableFile("it has no text of its kind");
  return found
    .toSorted(([one], [other]) => one.localeCompare(other, "en", { numeric: true }))
    .map(([, text]) => text);
}
