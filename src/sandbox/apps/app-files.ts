import * as operations from "../../operations/files.ts";
import { noFileUploaded, tooManyFiles } from "../http/errors.ts";
import { bindHandlers, type Handlers, HttpError } from "../http/handler.ts";
import { fixedId, tenantId, toSeconds } from "../storage/ids.ts";
import type { RunStore, StoredEndUser } from "../storage/runs-store.ts";
import { type AppContext, requireApp } from "./context.ts";
import type { FileLookup } from "./input-form.ts";

interface StoredFile {
  readonly id: string;
  readonly app: string;
  readonly end_user_id: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly created_at: number;
}

const COLUMNS = "id, app, end_user_id, name, type, length(bytes) AS size, created_at";
/** Maximum upload size in bytes; /parameters reports it (server §9). */
const MAX_UPLOAD = 15 * 1024 * 1024;

/** Upload and preview of files for runs and messages. */
const handlers: Handlers<typeof operations, AppContext> = {
  uploadFile({ records }, input, call) {
    const app = requireApp(call);
    const uploaded = call.files.get("file");
    if (!uploaded?.name) throw noFileUploaded();
    if (call.files.size > 1) throw tooManyFiles();
    const { name, type, bytes } = uploaded;
    if (bytes.byteLength > MAX_UPLOAD) throw new HttpError(413, "file_too_large", "");
    const user = records.endUser(app.name, input.user ?? "DEFAULT-USER");
    const file = {
      id: records.newId(),
      app: app.name,
      end_user_id: user.id,
      name,
      type: type.split(";")[0] || "application/octet-stream",
      created_at: records.now(),
    };
    records.store.insert("app_files", { ...file, bytes });
    const size = bytes.byteLength;
    return {
      status: 201,
      json: {
        id: file.id,
        reference: null,
        name,
        size,
        extension: extensionOf(name),
        mime_type: file.type,
        created_by: user.id,
        created_at: toSeconds(file.created_at),
        preview_url: null,
        source_url: previewUrl({ ...file, size }, call.origin),
        original_url: null,
        user_id: null,
        tenant_id: tenantId,
        conversation_id: null,
        file_key: null,
      },
    };
  },

  previewFile({ records: { store } }, { file_id, as_attachment }, call) {
    const app = call.app ?? "";
    const file = store.get<StoredFile & { readonly bytes: Uint8Array }>(
      `SELECT ${COLUMNS}, bytes FROM app_files WHERE app = ? AND id = ?`,
      app,
      file_id,
    );
    const isUsed =
      store.count("messages WHERE app = ? AND files LIKE ?", app, `%"${file_id}"%`) > 0;
    if (!file || !isUsed) {
      throw new HttpError(404, "file_not_found", "File not found in message context");
    }
    const charset = file.type.startsWith("text/") ? "; charset=utf-8" : "";
    return {
      bytes: file.bytes,
      headers: {
        "Content-Type": as_attachment ? "application/octet-stream" : `${file.type}${charset}`,
        "Content-Length": String(file.size),
        "Cache-Control": "public, max-age=3600",
        ...(as_attachment && {
          "Content-Disposition": `attachment; filename*=UTF-8''${encodeURIComponent(file.name)}`,
        }),
      },
    };
  },
};

export const fileHandlers = bindHandlers(operations, handlers);

const extensionOf = (name: string) =>
  name.includes(".") ? name.slice(name.lastIndexOf(".") + 1) : "";

const fileType = ({ type }: StoredFile) => (type.startsWith("image/") ? "image" : "document");

/** A URL that looks signed like the server's; the sandbox does not check the signature. */
const previewUrl = (file: StoredFile, origin: string) => {
  const sign = (word: string) => fixedId(word, file.id).replaceAll("-", "");
  const query = `timestamp=${toSeconds(file.created_at)}&nonce=${sign("nonce")}&sign=${sign("sign")}`;
  return `${origin}/files/${file.id}/file-preview?${query}`;
};

/** Finds the files of one end user; files of other users are not found (server §13). */
export const fileLookup =
  ({ store }: RunStore, endUser: StoredEndUser): FileLookup =>
  (id) => {
    const file = store.get<StoredFile>(
      `SELECT ${COLUMNS} FROM app_files WHERE app = ? AND end_user_id = ? AND id = ?`,
      endUser.app,
      endUser.id,
      id,
    );
    if (!file) return undefined;
    return {
      id: file.id,
      tenant_id: tenantId,
      type: fileType(file),
      transfer_method: "local_file",
      remote_url: null,
      related_id: file.id,
      filename: file.name,
      extension: `.${extensionOf(file.name)}`,
      mime_type: file.type,
      size: file.size,
    };
  };

/** A file in the message history; its ID is derived from the message and the upload. */
export function messageFileResponse(
  { store }: RunStore,
  messageId: string,
  fileId: string,
  origin: string,
): object | undefined {
  const file = store.get<StoredFile>(`SELECT ${COLUMNS} FROM app_files WHERE id = ?`, fileId);
  if (!file) return undefined;
  return {
    id: fixedId(messageId, fileId),
    filename: file.name,
    type: fileType(file),
    url: previewUrl(file, origin),
    mime_type: file.type,
    size: file.size,
    transfer_method: "local_file",
    belongs_to: "user",
    upload_file_id: file.id,
  };
}
