import { previewFile, uploadFile } from "../../operations/files.ts";
import { findApp } from "./app-definitions.ts";
import { type Handler, on, HttpError } from "../http/handler.ts";
import type { FileLookup } from "./input-form.ts";
import { fixedId, newId, toSeconds, tenantId } from "../storage/ids.ts";
import { type RunStore } from "../storage/runs-store.ts";

interface StoredFile {
  readonly id: string;
  readonly app: string;
  readonly end_user_id: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly created_at: number;
}

const columns = "id, app, end_user_id, name, type, length(bytes) AS size, created_at";
/** Largest upload in bytes, as /parameters tells it (server §9). */
const largest = 15 * 1024 * 1024;

const extensionOf = (name: string) =>
  name.includes(".") ? name.slice(name.lastIndexOf(".") + 1) : "";

/** Looks like the signed address of the server; nobody checks the signature. */
const addressOf = (file: StoredFile, origin: string) => {
  const sign = (what: string) => fixedId(what, file.id).replaceAll("-", "");
  const query = `timestamp=${toSeconds(file.created_at)}&nonce=${sign("nonce")}&sign=${sign("sign")}`;
  return `${origin}/files/${file.id}/file-preview?${query}`;
};

/** Files of one end user; a file of somebody else is as good as none (server §13). */
export const fileLookup =
  (records: RunStore, app: string, endUserId: string): FileLookup =>
  (id) => {
    const file = records.store.get<StoredFile>(
      `SELECT ${columns} FROM app_files WHERE app = ? AND end_user_id = ? AND id = ?`,
      app,
      endUserId,
      id,
    );
    if (!file) return undefined;
    return {
      id: file.id,
      tenant_id: tenantId,
      type: file.type.startsWith("image/") ? "image" : "document",
      transfer_method: "local_file",
      remote_url: null,
      related_id: file.id,
      filename: file.name,
      extension: `.${extensionOf(file.name)}`,
      mime_type: file.type,
      size: file.size,
    };
  };

/** A file as the message history shows it. `messageId` makes the id of the pair. */
export function messageFileResponse(
  records: RunStore,
  messageId: string,
  fileId: string,
  origin: string,
): object | undefined {
  const file = records.store.get<StoredFile>(
    `SELECT ${columns} FROM app_files WHERE id = ?`,
    fileId,
  );
  return (
    file && {
      id: fixedId(messageId, fileId),
      filename: file.name,
      type: file.type.startsWith("image/") ? "image" : "document",
      url: addressOf(file, origin),
      mime_type: file.type,
      size: file.size,
      transfer_method: "local_file",
      belongs_to: "user",
      upload_file_id: file.id,
    }
  );
}

/** Upload of files for runs and messages, and their preview. */
export function fileHandlers(records: RunStore): readonly Handler[] {
  return [
    on(uploadFile, (input, call) => {
      const app = findApp(call.app);
      if (!app) throw new HttpError(403, "forbidden", "The app no longer exists.");
      const file = call.files.get("file");
      if (!file || file.name === "") {
        throw new HttpError(400, "no_file_uploaded", "Please upload your file.");
      }
      if (call.files.size > 1) {
        throw new HttpError(400, "too_many_files", "Only one file is allowed.");
      }
      if (file.bytes.byteLength > largest) throw new HttpError(413, "file_too_large", "");
      const user = records.endUser(app.name, input.user ?? "DEFAULT-USER");
      const stored: StoredFile = {
        id: newId(records.random),
        app: app.name,
        end_user_id: user.id,
        name: file.name,
        type: file.type.split(";")[0] || "application/octet-stream",
        size: file.bytes.byteLength,
        created_at: records.now(),
      };
      records.store.run(
        "INSERT INTO app_files VALUES (?, ?, ?, ?, ?, ?, ?)",
        stored.id,
        stored.app,
        stored.end_user_id,
        stored.name,
        stored.type,
        file.bytes,
        stored.created_at,
      );
      return {
        status: 201,
        json: {
          id: stored.id,
          reference: null,
          name: stored.name,
          size: stored.size,
          extension: extensionOf(stored.name),
          mime_type: stored.type,
          created_by: user.id,
          created_at: toSeconds(stored.created_at),
          preview_url: null,
          source_url: addressOf(stored, call.origin),
          original_url: null,
          user_id: null,
          tenant_id: tenantId,
          conversation_id: null,
          file_key: null,
        },
      };
    }),

    on(previewFile, (input, call) => {
      const app = call.app ?? "";
      const file = records.store.get<StoredFile & { readonly bytes: Uint8Array }>(
        `SELECT ${columns}, bytes FROM app_files WHERE app = ? AND id = ?`,
        app,
        input.file_id,
      );
      const used = records.store.get(
        "SELECT id FROM messages WHERE app = ? AND files LIKE ?",
        app,
        `%"${input.file_id}"%`,
      );
      if (!file || !used) {
        throw new HttpError(404, "file_not_found", "File not found in message context");
      }
      const attached = input.as_attachment === true;
      const text = file.type.startsWith("text/") ? "; charset=utf-8" : "";
      return {
        bytes: file.bytes,
        headers: {
          "Content-Type": attached ? "application/octet-stream" : `${file.type}${text}`,
          "Content-Length": String(file.size),
          "Cache-Control": "public, max-age=3600",
          ...(attached && {
            "Content-Disposition": `attachment; filename*=UTF-8''${encodeURIComponent(file.name)}`,
          }),
        },
      };
    }),
  ];
}
