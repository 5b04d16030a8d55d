import { Marks } from "./marks.ts";
import { errorKind, ModelError } from "./model-error.ts";

const SAMPLE_RATE = 8000;
const SECONDS_PER_WORD = 0.1;

/**
 * Speaks a text: a WAV with a short tone for each word, 8-bit mono. Throws ModelError for the mark
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
  for (let index = 0; index < samples; index++) {
    const tone = Math.sin((2 * Math.PI * 440 * index) / SAMPLE_RATE);
    wav.setUint8(44 + index, 128 + Math.round(tone * 60));
  }
  return new Uint8Array(wav.buffer);
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
