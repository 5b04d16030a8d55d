import { countCharacters } from "../../../lib/text.ts";
import { tooManyFiles, type HttpError } from "../../protocol/response.ts";
import type { BytesReply, Call, ReceivedFile } from "../../protocol/handler.ts";
import { atLeast } from "../../../lib/version.ts";
import { textsOfUpload } from "../../../splitting/upload.ts";
import { decodeFile } from "../../readers/decode.ts";
import { readFile } from "../../readers/read-file.ts";
import { signedQuery } from "../../protocol/ids.ts";
import type { StoredFileRow, KnowledgeContext } from "./knowledge-store.ts";
import { knowledgeError } from "./responses.ts";

/** A stored file, and the name that it gives its document. */
export interface FileContent {
  readonly name: string;
  readonly file_id: string;
}

/** Maximum upload size in bytes, and the supported kinds (server §9). */
const MAX_UPLOAD = 15 * 1024 * 1024;
const EXTENSIONS = "txt markdown md mdx pdf html htm xlsx xls docx csv vtt properties".split(" ");

/** Kinds that a server with models accepts, too: its ETL_TYPE is Unstructured (server §9.3). */
const MORE_EXTENSIONS = "epub pptx xml".split(" ");

const extensionOf = (name: string): string =>
  name.includes(".") ? (name.split(".").pop() ?? "").toLowerCase() : "";

/** Reads the file of a request; those of requests that are rejected, too large or too many, stay unread. */
export async function readUpload(files: Call["files"]): Promise<Call["files"]> {
  const [[field, file] = []] = files;
  if (!field || !file || files.size > 1 || file.bytes.byteLength > MAX_UPLOAD) return files;
  return new Map([[field, { ...file, text: await readFile(extensionOf(file.name), file.bytes) }]]);
}

function addFile(
  { files }: KnowledgeContext,
  file: Omit<StoredFileRow, "id" | "created_at">,
): FileContent {
  const { id: file_id, name } = files.insert(file);
  return { name, file_id };
}

/** The error of a file on the routes that gave it no text; from 1.16 on, its size has a code (server §3). */
export const rejectedFile = (
  reason: "size" | "kind",
  { version }: Pick<Call, "version">,
): HttpError =>
  knowledgeError(
    reason === "size" && atLeast(version, "1.16.0") ? "file too large" : "file rejected",
  );

/** Returns the only file of a form; a part without a file name does not count. */
export function onlyFile(files: Call["files"]): ReceivedFile | undefined {
  if (files.size > 1) throw tooManyFiles();
  const file = files.get("file");
  return file?.name ? file : undefined;
}

/** Stores the text of a document, always as `txt`. */
export function addText(context: KnowledgeContext, name: string, text: string): FileContent {
  const bytes = new TextEncoder().encode(text);
  return addFile(context, {
    name,
    // Before 1.16, the size of a text was that in characters (server §9.7).
    size: atLeast(context.version, "1.16.0") ? bytes.byteLength : countCharacters(text),
    extension: "txt",
    mime_type: "text/plain",
    is_text: true,
    text: null,
    bytes,
  });
}

/** Stores an upload. For one of unsupported kind or size, throws the error that `rejected` returns. */
export function addUpload(
  context: KnowledgeContext,
  file: ReceivedFile,
  rejected: (reason: "size" | "kind") => HttpError | undefined,
): FileContent {
  const extension = extensionOf(file.name);
  const size = file.bytes.byteLength;
  const accepted = context.model ? [...EXTENSIONS, ...MORE_EXTENSIONS] : EXTENSIONS;
  const error =
    (accepted.includes(extension) ? undefined : rejected("kind")) ??
    (size > MAX_UPLOAD ? rejected("size") : undefined);
  if (error) throw error;
  return addFile(context, {
    name: file.name,
    size,
    extension,
    mime_type: file.type.split(";")[0] || "application/octet-stream",
    is_text: false,
    bytes: file.bytes,
    text: file.text ?? null,
  });
}

export const downloadUrl = ({ now }: KnowledgeContext, fileId: string, origin: string): string =>
  `${origin}/files/${fileId}/file-preview?${signedQuery(fileId, now())}&as_attachment=true`;

/** The download of a file; texts have as many bytes as characters, so some lose their end (server §9.7). */
export function fileResponse({ files }: KnowledgeContext, id: string): BytesReply | undefined {
  const file = files.find({ id });
  if (!file) return undefined;
  const bytes = file.is_text ? file.bytes.subarray(0, file.size) : file.bytes;
  const headers = {
    "Content-Type": "application/octet-stream",
    "Content-Length": String(bytes.byteLength),
    "Content-Disposition": `attachment; filename*=UTF-8''${encodeURIComponent(file.name)}`,
  };
  return { bytes, headers };
}

/** Extensions of files whose bytes are their text; those of other kinds are stored, and fail to index. */
const TEXT_EXTENSIONS = "txt md markdown mdx html htm csv vtt properties".split(" ");

/** The text of a stored file in parts: pages, rows. Throws HttpError if it has none. */
function partsOf(file: StoredFileRow | undefined): readonly string[] {
  if (file?.text && "parts" in file.text) return file.text.parts;
  if (file?.text) throw knowledgeError("file unreadable", file.text);
  if (!file || !TEXT_EXTENSIONS.includes(file.extension)) throw knowledgeError("file without text");
  return [decodeFile(file.bytes)];
}

/** The texts of a stored file that are chunked separately: pages, rows, sections; throws as `partsOf` does. */
export const textParts = (file: StoredFileRow | undefined): readonly string[] =>
  partsOf(file).flatMap((part) => textsOfUpload(file?.extension ?? "", part));

/** The whole text of a stored file, as pipelines read it; throws as `partsOf` does. */
export const textOfFile = (file: StoredFileRow | undefined): string => partsOf(file).join("\n");
