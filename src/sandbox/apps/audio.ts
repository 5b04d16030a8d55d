import type * as operations from "../../operations/files.ts";
import { raise, HttpError, WorkerFailure } from "../protocol/response.ts";
import { atLeast } from "../../lib/version.ts";
import { Marks, ModelError } from "../models/marks.ts";
import { requireDefaultModel, type AppHandlers } from "./context.ts";
import { appError } from "./records/shapes.ts";

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
