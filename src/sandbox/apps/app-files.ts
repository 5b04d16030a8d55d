import { own } from "../../lib/json.ts";
import type * as operations from "../../operations/files.ts";
import { noFileUploaded, raise, tooManyFiles } from "../protocol/errors.ts";
import { fixedId, signedQuery } from "../protocol/ids.ts";
import type { RunStore, StoredEndUser, StoredFile, StoredMessage } from "./records/runs-store.ts";
import { requireApp, type AppHandlers } from "./context.ts";
import type { FileLookup } from "./input-form.ts";
import { fillShape, appError } from "./records/shapes.ts";

/** Maximum upload size in MB, by the kind of file; /parameters reports it (server §9.3). */
const MAX_UPLOAD: Readonly<Record<string, number>> = { image: 10, audio: 50, video: 100 };
const MAX_OTHER_UPLOAD = 15;

/** Upload and preview of files for runs and messages. */
export const fileHandlers: AppHandlers<typeof operations> = {
  uploadFile({ records }, input, call) {
    const app = requireApp(call).name;
    const uploaded = call.files.get("file");
    if (!uploaded?.name) throw noFileUploaded();
    if (call.files.size > 1) throw tooManyFiles();
    const { name, type, bytes } = uploaded;
    const limit = own(MAX_UPLOAD, type.split("/")[0] ?? "") ?? MAX_OTHER_UPLOAD;
    if (bytes.byteLength > limit * 1024 * 1024) throw appError("file too large");
    const file = {
      id: records.newId(),
      app,
      end_user_id: records.endUser(app, input.user ?? "DEFAULT-USER").id,
      name,
      type: type.split(";")[0] || "application/octet-stream",
      bytes,
      created_at: records.now(),
    };
    records.app_files.insert(file);
    return { status: 201, json: fillShape("uploaded file", fileValues(file, call.origin)) };
  },

  previewFile({ records }, { file_id: id, as_attachment }, call) {
    const app = requireApp(call).name;
    const messages = records.messages.select("WHERE app = ? AND files LIKE ?", app, `%"${id}"%`);
    const sent = messages.length > 0 ? records.app_files.find({ app, id }) : undefined;
    const { name, type, bytes } = sent ?? raise(appError("file missing"));
    const charset = type.startsWith("text/") ? "; charset=utf-8" : "";
    return {
      bytes,
      headers: {
        "Content-Type": as_attachment ? "application/octet-stream" : `${type}${charset}`,
        "Content-Length": String(bytes.byteLength),
        "Cache-Control": "public, max-age=3600",
        ...(as_attachment && {
          "Content-Disposition": `attachment; filename*=UTF-8''${encodeURIComponent(name)}`,
        }),
      },
    };
  },
};

/** The values of a file for its shapes. */
function fileValues(file: StoredFile, origin = "") {
  const { id, name, type, bytes, created_at } = file;
  const extension = name.includes(".") ? name.slice(name.lastIndexOf(".") + 1) : "";
  return {
    file,
    size: bytes.byteLength,
    extension,
    dotted: `.${extension}`,
    kind: type.startsWith("image/") ? "image" : "document",
    url: `${origin}/files/${id}/file-preview?${signedQuery(id, created_at)}`,
  };
}

/** Finds the files of one end user; files of other users are not found (server §13). */
export const fileLookup =
  ({ app_files }: RunStore, { app, id: end_user_id }: StoredEndUser): FileLookup =>
  (id) => {
    const file = app_files.find({ app, end_user_id, id });
    if (!file) return undefined;
    return fillShape("input file", fileValues(file));
  };

/** The uploaded files of a message, in the history or at the end of its stream. */
export const messageFiles = (
  { app_files }: RunStore,
  { id: messageId, files }: StoredMessage,
  origin: string,
  shape: "message file" | "sent file" = "message file",
): object[] =>
  files.flatMap(({ related_id }) => {
    const file = app_files.find({ id: related_id ?? "" });
    if (!file) return [];
    // Its ID is derived from the message's.
    return [fillShape(shape, { ...fileValues(file, origin), id: fixedId(messageId, file.id) })];
  });
