import type { StoredFileRow } from "../../storage/knowledge-store.ts";
import { knowledgeError } from "../responses.ts";

/** Extensions of text files; other kinds are stored, and fail to index. */
const TEXT_EXTENSIONS = "txt md markdown mdx html htm csv vtt properties".split(" ");

/** The text of a stored file. Throws HttpError with the reason if there is none. */
export function textOfFile(file: StoredFileRow | undefined): string {
  if (!file || !TEXT_EXTENSIONS.includes(file.extension)) {
    throw knowledgeError("file without text");
  }
  return new TextDecoder().decode(file.bytes);
}
