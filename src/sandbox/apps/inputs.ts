/** What runs and messages get: uploaded files, and the fields of the input form. */
import type * as operations from "../../operations/files.ts";
import { define, isObject, own } from "../../lib/json.ts";
import { countCharacters } from "../../lib/text.ts";
import {
  noFileUploaded,
  raise,
  tooManyFiles,
  HttpError,
  WorkerFailure,
} from "../protocol/response.ts";
import { fixedId, signedQuery } from "../protocol/ids.ts";
import { pythonRepr } from "../protocol/validation.ts";
import type { AppDefinition, InputField } from "./definitions/app-definitions.ts";
import type { RunStore, StoredEndUser, StoredFile, StoredMessage } from "./records/runs-store.ts";
import { type AppHandlers, requireDefaultModel } from "./context.ts";
import { fillShape, appError } from "./records/shapes.ts";
import { isNumeric, typedNumber } from "../../lib/exact-number.ts";
import type { Numeric } from "../../lib/exact-number.ts";
import { atLeast } from "../../lib/version.ts";
import { Marks, ModelError } from "../models/marks.ts";

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

/** Maximum recording in bytes (server §18). */
const MAX_AUDIO = 30 * 1024 * 1024;

/** The accepted types (server §18). */
const AUDIO_TYPES = ["audio/mp3", "audio/m4a", "audio/wav", "audio/amr", "audio/mpga"];

/** Speech to text and text to speech, in applications of every mode. */
export const audioHandlers = {
  transcribeAudio(context, _input, call) {
    const { features } = call.app;
    const isNew = atLeast(call.version, "1.16.0"); // has codes of its own (server §18)
    if (!features.speech_to_text?.enabled)
      throw appError(isNew ? "speech to text disabled" : "speech to text off");
    const file = call.files.get("file") ?? raise(appError(isNew ? "no audio" : "audio missing"));
    const [type = ""] = file.type.split(";");
    if (!AUDIO_TYPES.includes(type)) throw appError("audio type");
    if (file.bytes.byteLength > MAX_AUDIO) throw appError("audio too large");
    requireDefaultModel(context, "speech2text");
    try {
      return { json: { text: transcribe(file) } };
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      throw new HttpError(400, error.code, error.runText);
    }
  },

  speakText(context, { message_id, text, voice }, call) {
    const { features } = call.app;
    const message =
      message_id === undefined ? undefined : context.records.messages.find({ id: message_id });
    // For an unknown message, and for one without an answer, the server sends null (server §18).
    if (message_id !== undefined && !message?.answer) return { json: null };
    const words = message?.answer ?? text ?? raise(appError("text missing"));
    // A voice skips the check (server §18).
    if (voice === undefined && !features.text_to_speech?.enabled) {
      throw appError("text to speech off");
    }
    requireDefaultModel(context, "tts");
    try {
      return { bytes: speak(words), headers: { "Content-Type": "audio/mpeg" } };
    } catch (error) {
      throw error instanceof ModelError ? new WorkerFailure() : error;
    }
  },
} satisfies Partial<AppHandlers<typeof operations>>;

const SAMPLE_RATE = 8000;
const SECONDS_PER_WORD = 0.1;

/** The header of a WAV of 8-bit mono, before the length of its samples; its own length is at 4. */
const WAV_HEADER = Buffer.concat([
  Buffer.from("RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0", "latin1"),
  new Uint8Array(Uint32Array.of(SAMPLE_RATE, SAMPLE_RATE).buffer), // and bytes per second
  Buffer.from("\x01\0\x08\0data", "latin1"),
]);

/** Speaks a text: a short silence for each word. Throws ModelError for the mark `tts-error`. */
export function speak(text: string): Uint8Array {
  const marks = new Marks(text);
  marks.fail("tts-error");
  const words = marks.rest.split(/\s+/u).filter(Boolean).length;
  const samples = Math.round(Math.max(1, words) * SECONDS_PER_WORD * SAMPLE_RATE);
  const wav = Buffer.alloc(44 + samples, 128);
  WAV_HEADER.copy(wav);
  wav.writeUInt32LE(36 + samples, 4);
  wav.writeUInt32LE(samples, 40);
  return wav;
}

/** Bytes of a recording that may hold a mark. */
const MARKED_BYTES = 1000;

/** Transcribes a recording: the words of its file name. Throws ModelError for the mark `stt-error` in it. */
export function transcribe(file: { readonly name: string; readonly bytes: Uint8Array }): string {
  const start = new TextDecoder("latin1").decode(file.bytes.subarray(0, MARKED_BYTES));
  new Marks(start).fail("stt-error");
  return file.name
    .replace(/\.[^.]*$/, "")
    .replace(/[-_.]+/g, " ")
    .trim();
}
