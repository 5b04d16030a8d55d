import * as operations from "../../operations/audio.ts";
import { raise } from "../http/errors.ts";
import { bindHandlers, type Handlers, HttpError, WorkerFailure } from "../http/handler.ts";
import { ModelError } from "../models/model-error.ts";
import { speak, transcribe } from "../models/speech.ts";
import { type AppContext, requireApp } from "./context.ts";
import { requireDefaultModel } from "./required-models.ts";
import { appError } from "./shapes.ts";

/** Maximum recording in bytes (server §18). */
const MAX_AUDIO = 30 * 1024 * 1024;

/** The accepted types (server §18). */
const AUDIO_TYPES = ["audio/mp3", "audio/m4a", "audio/wav", "audio/amr", "audio/mpga"];

/** Speech to text and text to speech, in applications of every mode. */
const handlers: Handlers<typeof operations, AppContext> = {
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

export const audioHandlers = bindHandlers(operations, handlers);
