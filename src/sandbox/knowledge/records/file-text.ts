import type { StoredFileRow } from "./knowledge-store.ts";
import { knowledgeError } from "./responses.ts";

/** Extensions of files whose bytes are their text; those of other kinds are stored, and fail to index. */
const TEXT_EXTENSIONS = "txt md markdown mdx html htm csv vtt properties".split(" ");

/**
 * The text of a stored file in parts that are chunked separately: pages, rows, chapters. Throws
 * HttpError with the reason if there is no file, or no text in it.
 */
export function textParts(file: StoredFileRow | undefined): readonly string[] {
  if (file?.text && "parts" in file.text) return file.text.parts;
  if (file?.text) throw knowledgeError("file unreadable", file.text);
  if (!file || !TEXT_EXTENSIONS.includes(file.extension)) throw knowledgeError("file without text");
  return [new TextDecoder().decode(file.bytes)];
}

/** The whole text of a stored file; throws as `textParts` does. */
export const textOfFile = (file: StoredFileRow | undefined): string => textParts(file).join("\n");
