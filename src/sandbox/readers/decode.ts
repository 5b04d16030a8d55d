import { attempt } from "../../lib/attempt.ts";

/** Decodes a text: UTF-16 if it starts with its byte order mark, else in the given encoding. */
export function decodeBytes(bytes: Uint8Array, encoding = "utf-8"): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  const decoder = attempt(() => new TextDecoder(encoding)) ?? new TextDecoder();
  return decoder.decode(bytes);
}
