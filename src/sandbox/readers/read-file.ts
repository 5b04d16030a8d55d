import { budget, UnreadableFile } from "../../lib/formats/unreadable-file.ts";

/** The text of a file in parts that are chunked separately: pages, rows. */
export type FileText =
  | { readonly parts: readonly string[] }
  /** Why it has none, as a sentence. */
  | { readonly problem: string };

/** Reads the text of a file; throws UnreadableFile, or any error of a parser if it is damaged. */
type Reader = (bytes: Uint8Array) => Iterable<string> | Promise<readonly string[]>;

/** The readers by extension. They are loaded with the first file that needs them. */
const READERS: Readonly<Record<string, () => Promise<Reader>>> = {
  csv: async () => (await import("./csv.ts")).readCsv,
  docx: async () => (await import("./docx.ts")).readDocx,
  htm: async () => (await import("./markup.ts")).readHtml,
  html: async () => (await import("./markup.ts")).readHtml,
  pdf: async () => (await import("./pdf.ts")).readPdf,
  xlsx: async () => (await import("./xlsx.ts")).readXlsx,
  xml: async () => (await import("./markup.ts")).readXml,
};

/** Characters of the text of a file. */
const MAX_TEXT = 16 * 1024 * 1024;

/**
 * Reads the text of a file whose format is not plain text; undefined for other extensions. Never
 * rejects: a damaged, encrypted or too large file has a problem instead of a text.
 */
export async function readFile(
  extension: string,
  bytes: Uint8Array,
): Promise<FileText | undefined> {
  const load = Object.hasOwn(READERS, extension) ? READERS[extension] : undefined;
  if (!load) return undefined;
  try {
    const read = await load();
    const spend = budget(MAX_TEXT, "its text is longer than 16 million characters");
    const parts: string[] = [];
    for (const part of await read(bytes)) {
      spend(part.length);
      parts.push(part);
    }
    return { parts };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const reason =
      error instanceof UnreadableFile ? message : `it is damaged (${message.replace(/\.$/, "")})`;
    return { problem: `The ${extension} file cannot be read: ${reason}.` };
  }
}
