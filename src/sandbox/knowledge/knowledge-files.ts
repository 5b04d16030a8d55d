import type { HttpError, ReceivedFile } from "../http/handler.ts";
import type { FileRow, KnowledgeContext } from "../storage/knowledge-store.ts";
import { fixedId, toSeconds } from "../storage/ids.ts";
import { countCharacters } from "./characters.ts";

/** What a document is made of: a stored file and the name that it gives the document. */
export interface FileContent {
  readonly name: string;
  readonly file_id: string;
}

/** Largest upload in bytes, and what the server reads (server §9). */
const largest = 15 * 1024 * 1024;
const extensions = new Set(
  "txt markdown md mdx pdf html htm xlsx xls docx csv vtt properties".split(" "),
);

interface NewFile extends Omit<FileRow, "id" | "created_at"> {
  readonly bytes: Uint8Array;
}

function addFile({ store, newId, now }: KnowledgeContext, file: NewFile): string {
  const id = newId();
  store.run(
    "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    id,
    file.name,
    file.size,
    file.extension,
    file.mime_type,
    file.is_text,
    file.bytes,
    now(),
  );
  return id;
}

/** Stores the text of a document; whatever its name, it is a `txt`. */
export const addText = (room: KnowledgeContext, name: string, text: string): FileContent => ({
  name,
  file_id: addFile(room, {
    name,
    size: countCharacters(text),
    extension: "txt",
    mime_type: "text/plain",
    is_text: 1,
    bytes: new TextEncoder().encode(text),
  }),
});

/** Stores an uploaded file; throws what `refused` gives for one that is too large or of another kind. */
export function addUpload(
  room: KnowledgeContext,
  file: ReceivedFile,
  refused: (reason: "size" | "kind") => HttpError | undefined,
): FileContent {
  const extension = file.name.includes(".") ? (file.name.split(".").pop() ?? "").toLowerCase() : "";
  const reasons = [
    ...(extensions.has(extension) ? [] : ["kind" as const]),
    ...(file.bytes.byteLength > largest ? ["size" as const] : []),
  ];
  const [refusal] = reasons.flatMap((reason) => refused(reason) ?? []);
  if (refusal) throw refusal;
  const stored = {
    name: file.name,
    size: file.bytes.byteLength,
    extension,
    mime_type: file.type.split(";")[0] || "application/octet-stream",
    is_text: 0,
    bytes: file.bytes,
  };
  return { name: file.name, file_id: addFile(room, stored) };
}

export const getFile = ({ store }: KnowledgeContext, id: string) =>
  store.get<FileRow & { readonly bytes: Uint8Array }>("SELECT * FROM files WHERE id = ?", id);

/** An address that looks signed; nobody checks the signature. */
export function downloadUrl(room: KnowledgeContext, fileId: string, origin: string): string {
  const sign = (what: string) => fixedId(what, fileId).replaceAll("-", "");
  const signed = `timestamp=${toSeconds(room.now())}&nonce=${sign("nonce")}&sign=${sign("sign")}`;
  return `${origin}/files/${fileId}/file-preview?${signed}&as_attachment=true`;
}

/**
 * What the address of a file gives: of texts only as many bytes as they have characters, so that
 * others than ASCII lose their end (server §9.7).
 */
export function fileResponse(
  room: KnowledgeContext,
  id: string,
): { readonly bytes: Uint8Array; readonly headers: Readonly<Record<string, string>> } | undefined {
  const file = getFile(room, id);
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
