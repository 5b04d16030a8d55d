import type * as operations from "../../operations/audio.ts";
import { raise, HttpError, WorkerFailure } from "../protocol/errors.ts";
import { Marks } from "../models/marks.ts";
import { errorKind, ModelError } from "../models/model-error.ts";
import { requireApp, requireDefaultModel, type AppHandlers } from "./context.ts";
import { appError } from "./records/shapes.ts";

/** Maximum recording in bytes (server §18). */
const MAX_AUDIO = 30 * 1024 * 1024;

/** The accepted types (server §18). */
const AUDIO_TYPES = ["audio/mp3", "audio/m4a", "audio/wav", "audio/amr", "audio/mpga"];

/** Speech to text and text to speech, in applications of every mode. */
export const audioHandlers: AppHandlers<typeof operations> = {
  transcribeAudio(context, _input, call) {
    const { features } = requireApp(call);
    if (!features.speech_to_text?.enabled) throw appError("speech to text off");
    const file = call.files.get("file") ?? raise(appError("audio missing"));
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
    const { features } = requireApp(call);
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
};

const SAMPLE_RATE = 8000;
const SECONDS_PER_WORD = 0.1;

/**
 * Speaks a text: a WAV with a short silence for each word, 8-bit mono. Throws ModelError for the mark
 * `tts-error`.
 */
export function speak(text: string): Uint8Array<ArrayBuffer> {
  const marks = new Marks(text);
  const error = marks.text("tts-error");
  if (error !== undefined) throw new ModelError(errorKind(error));
  const words = marks.rest.split(/\s+/u).filter(Boolean).length;
  const samples = Math.round(Math.max(1, words) * SECONDS_PER_WORD * SAMPLE_RATE);
  const wav = new DataView(new ArrayBuffer(44 + samples));
  const ascii = (offset: number, label: string) =>
    [...label].forEach((letter, index) => wav.setUint8(offset + index, letter.charCodeAt(0)));
  ascii(0, "RIFF");
  wav.setUint32(4, 36 + samples, true);
  ascii(8, "WAVEfmt ");
  wav.setUint32(16, 16, true); // bytes of the format
  wav.setUint16(20, 1, true); // PCM
  wav.setUint16(22, 1, true); // channels
  wav.setUint32(24, SAMPLE_RATE, true);
  wav.setUint32(28, SAMPLE_RATE, true); // bytes per second
  wav.setUint16(32, 1, true); // bytes per sample
  wav.setUint16(34, 8, true); // bits per sample
  ascii(36, "data");
  wav.setUint32(40, samples, true);
  return new Uint8Array(wav.buffer).fill(128, 44);
}

/** Bytes of a recording that may hold a mark. */
const MARKED_BYTES = 1000;

/** Transcribes a recording: the words of its file name. Throws ModelError for the mark `stt-error` in it. */
export function transcribe(file: { readonly name: string; readonly bytes: Uint8Array }): string {
  const start = new TextDecoder("latin1").decode(file.bytes.subarray(0, MARKED_BYTES));
  const error = new Marks(start).text("stt-error");
  if (error !== undefined) throw new ModelError(errorKind(error));
  return file.name
    .replace(/\.[^.]*$/, "")
    .replace(/[-_.]+/g, " ")
    .trim();
}
