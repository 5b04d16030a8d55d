import { tooManyFiles } from "../http/errors.ts";
import type { Call, HttpError, ReceivedFile } from "../http/handler.ts";
import type { UploadRow, KnowledgeContext } from "../storage/knowledge-store.ts";
import { fixedId, toSeconds } from "../storage/ids.ts";
import { countCharacters } from "./characters.ts";

/** A stored file, and the name that it gives its document. */
export interface FileContent {
  readonly name: string;
  readonly file_id: string;
}

/** Maximum upload size in bytes, and the supported kinds (server §9). */
const MAX_UPLOAD = 15 * 1024 * 1024;
const EXTENSIONS = new Set(
  "txt markdown md mdx pdf html htm xlsx xls docx csv vtt properties".split(" "),
);

interface NewFile extends Omit<UploadRow, "id" | "created_at"> {
  readonly bytes: Uint8Array;
}

function addFile({ store, newId, now }: KnowledgeContext, file: NewFile): string {
  const id = newId();
  store.insert("files", { id, ...file, created_at: now() });
  return id;
}

/** Returns the only file of a form; a part without a file name does not count. */
export function onlyFile(files: Call["files"]): ReceivedFile | undefined {
  if (files.size > 1) throw tooManyFiles();
  const file = files.get("file");
  return file?.name ? file : undefined;
}

/** Stores the text of a document, always as `txt`. */
export const addText = (context: KnowledgeContext, name: string, text: string): FileContent => ({
  name,
  file_id: addFile(context, {
    name,
    size: countCharacters(text),
    extension: "txt",
    mime_type: "text/plain",
    is_text: 1,
    bytes: new TextEncoder().encode(text),
  }),
});

/** Stores an upload. For one of unsupported kind or size, throws the error that `rejected` returns. */
export function addUpload(
  context: KnowledgeContext,
  file: ReceivedFile,
  rejected: (reason: "size" | "kind") => HttpError | undefined,
): FileContent {
  const extension = file.name.includes(".") ? (file.name.split(".").pop() ?? "").toLowerCase() : "";
  const reasons = [
    ...(EXTENSIONS.has(extension) ? [] : ["kind" as const]),
    ...(file.bytes.byteLength > MAX_UPLOAD ? ["size" as const] : []),
  ];
  const [error] = reasons.flatMap((reason) => rejected(reason) ?? []);
  if (error) throw error;
  const stored = {
    name: file.name,
    size: file.bytes.byteLength,
    extension,
    mime_type: file.type.split(";")[0] || "application/octet-stream",
    is_text: 0,
    bytes: file.bytes,
  };
  return { name: file.name, file_id: addFile(context, stored) };
}

export const getFile = ({ store }: KnowledgeContext, id: string) =>
  store.get<UploadRow & { readonly bytes: Uint8Array }>("SELECT * FROM files WHERE id = ?", id);

/** A URL that looks signed; the sandbox does not check the signature. */
export function downloadUrl(context: KnowledgeContext, fileId: string, origin: string): string {
  const sign = (word: string) => fixedId(word, fileId).replaceAll("-", "");
  const signed = `timestamp=${toSeconds(context.now())}&nonce=${sign("nonce")}&sign=${sign("sign")}`;
  return `${origin}/files/${fileId}/file-preview?${signed}&as_attachment=true`;
}

/**
 * The download of a file. A text is truncated to as many bytes as it has characters, so non-ASCII
 * texts lose their end (server §9.7).
 */
export function fileResponse(
  context: KnowledgeContext,
  id: string,
): { readonly bytes: Uint8Array; readonly headers: Readonly<Record<string, string>> } | undefined {
  const file = getFile(context, id);
  if (!file) return undefined;
  const bytes = file.is_text === 1 ? file.bytes.subarray(0, file.size) : file.bytes;
  return {
    bytes,
    headers: {
      "Content-Type": "application/octet-stream",
      "Content-Length": String(bytes.byteLength),
      "Content-Disposition": `attachment; filename*=UTF-8''${encodeURIComponent(file.name)}`,
    },
  };
}
