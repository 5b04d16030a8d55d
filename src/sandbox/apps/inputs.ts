/** What runs and messages get: uploaded files, and the fields of the input form. */
import { define, isObject, own } from "../../lib/json.ts";
import { countCharacters } from "../../lib/text.ts";
import type * as operations from "../../operations/files.ts";
import { noFileUploaded, raise, tooManyFiles } from "../protocol/response.ts";
import { fixedId, signedQuery } from "../protocol/ids.ts";
import { pythonRepr } from "../protocol/validation.ts";
import type { AppDefinition, InputField } from "./definitions/app-definitions.ts";
import type { RunStore, StoredEndUser, StoredFile, StoredMessage } from "./records/runs-store.ts";
import { type AppHandlers } from "./context.ts";
import { fillShape, appError } from "./records/shapes.ts";
import { isNumeric, typedNumber } from "../../lib/exact-number.ts";
import type { Numeric } from "../../lib/exact-number.ts";

/** Maximum upload size in MB, by the kind of file; /parameters reports it (server §9.3). */
const MAX_UPLOAD: Readonly<Record<string, number>> = { image: 10, audio: 50, video: 100 };
const MAX_OTHER_UPLOAD = 15;

/** Upload and preview of files for runs and messages. */
export const fileHandlers = {
  uploadFile({ records }, input, call) {
    const app = call.app.name;
    const uploaded = call.files.get("file");
    if (!uploaded?.name) throw noFileUploaded();
    if (call.files.size > 1) throw tooManyFiles();
    const { name, type, bytes } = uploaded;
    const limit = own(MAX_UPLOAD, type.split("/")[0] ?? "") ?? MAX_OTHER_UPLOAD;
    if (bytes.byteLength > limit * 1024 * 1024) throw appError("file too large");
    const file = records.app_files.insert({
      app,
      end_user_id: records.endUser(app, input.user ?? "DEFAULT-USER").id,
      name,
      type: type.split(";")[0] || "application/octet-stream",
      bytes,
    });
    return { status: 201, json: fillShape("uploaded file", fileValues(file, call.origin)) };
  },

  previewFile({ records }, { file_id: id, as_attachment }, call) {
    const { name: app, mode } = call.app;
    const messages = records.messages.select("WHERE app = ? AND files LIKE ?", app, `%"${id}"%`);
    const isAttached = messages.length > 0 && mode !== "agent"; // new agents attach no files (server §18)
    const sent = isAttached ? records.app_files.find({ app, id }) : undefined;
    const { name, type, bytes } = sent ?? raise(appError("file missing"));
    const charset = type.startsWith("text/") ? "; charset=utf-8" : "";
    const disposition = `attachment; filename*=UTF-8''${encodeURIComponent(name)}`;
    const headers = {
      "Content-Type": as_attachment ? "application/octet-stream" : `${type}${charset}`,
      "Content-Length": String(bytes.byteLength),
      "Cache-Control": "public, max-age=3600",
      ...(as_attachment && { "Content-Disposition": disposition }),
    };
    return { bytes, headers };
  },
} satisfies Partial<AppHandlers<typeof operations>>;

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

/** Finds an uploaded file of the end user by its ID. */
export type FileLookup = (uploadId: string) => object | undefined;

/**
 * Validates and converts the inputs of a run as the server does: drops unknown names, accepts
 * numbers as text. Throws HttpError with the server's texts (server §13).
 */
export function validateInputs(
  app: AppDefinition,
  sent: unknown,
  findFile: FileLookup,
): Record<string, unknown> {
  const values = isObject(sent) ? sent : {};
  const checked: Record<string, unknown> = {};
  for (const field of app.inputs) {
    const name = field.variable;
    const value = own(values, name) ?? null;
    if (value === null && field.required) throw appError("input missing", { name });
    if (value !== null) define(checked, name, validateValue(field, value, findFile));
  }
  return checked;
}

function validateValue(field: InputField, value: unknown, findFile: FileLookup): unknown {
  const { variable: name, type, options, max_length } = field;
  const max = max_length ?? Infinity;
  switch (type) {
    case "number":
      return parseNumber(name, value);
    case "checkbox":
      if (typeof value !== "boolean") throw appError("input not a flag", { name });
      return value;
    case "file":
      return resolveFile(value, findFile);
    case "file-list": {
      const list = Array.isArray(value) ? value : [value];
      if (list.length > max) throw appError("too many input files", { name, max });
      return list.map((file) => resolveFile(file, findFile));
    }
    default: {
      if (typeof value !== "string") throw appError("input not text", { name, type });
      if (options && !options.includes(value)) {
        throw appError("input not a choice", { name, choices: pythonRepr(options) });
      }
      // characters, not UTF-16 units
      if (countCharacters(value) > max) throw appError("input too long", { name, max });
      return value;
    }
  }
}

function parseNumber(name: string, value: unknown): Numeric | null {
  if (isNumeric(value)) return value;
  if (typeof value === "string" && value.trim() === "") return null;
  const number = typeof value === "string" ? typedNumber(value) : undefined;
  if (number === undefined) throw appError("input not a number", { name });
  return number;
}

/** Returns a file of a run or message: an upload or a URL. */
export function resolveFile(sent: unknown, findFile: FileLookup): object {
  const { type, transfer_method, upload_file_id, url } = isObject(sent) ? sent : {};
  if (transfer_method === "remote_url" && typeof url === "string")
    return { type, transfer_method, remote_url: url };
  const file = typeof upload_file_id === "string" ? findFile(upload_file_id) : undefined;
  return file ?? raise(appError("input file invalid"));
}
