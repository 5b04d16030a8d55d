import { attempt } from "./attempt.ts";

/** Decodes strict UTF-8 and keeps a byte order mark; undefined for any other bytes. */
export const decodeUtf8 = (bytes: Uint8Array): string | undefined =>
  attempt(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));

/** Counts the code points of a text without splitting it. */
export const countCharacters = (text: string): number =>
  text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);

/** Decodes text to send; undefined for bytes that are not UTF-8 or have a NUL. */
export function decodeText(bytes: Uint8Array): string | undefined {
  const text = decodeUtf8(bytes);
  return text?.includes("\0") ? undefined : text;
}
