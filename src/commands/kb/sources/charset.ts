import { getBOMEncoding, normalizeEncoding, TextDecoder } from "@exodus/bytes/encoding.js";
import { Parser } from "htmlparser2";
import { attempt } from "../../../lib/json.ts";
import { sourceError } from "./program.ts";

/** Bytes of a page that may say how it is encoded. */
const START = 1024;

/**
 * Decodes a page in the encoding that it has by the HTML standard: a byte order mark decides, then the header
 * Content-Type, then the start of markup, otherwise it is UTF-8. Throws failure if the bytes are no text in it. The decoder
 * is not that of Node.js, which takes some bytes of legacy encodings for other characters.
 */
export function decodePage(bytes: Uint8Array, contentType: string, isMarkup: boolean): string {
  const declared = () => (isMarkup ? declaredIn(bytes) : undefined);
  const encoding = getBOMEncoding(bytes) ?? charsetIn(contentType) ?? declared() ?? "utf-8";
  const text = attempt(() => new TextDecoder(encoding, { fatal: true }).decode(bytes));
  if (text === undefined) throw sourceError(`its text is not valid ${encoding.toUpperCase()}`);
  if (text.includes("\0")) throw sourceError("its text has NUL characters, as UTF-16 has");
  return text;
}

/** The encoding that a media type names; undefined for none or an unknown one. */
function charsetIn(mediaType: string): string | undefined {
  const [, label = ""] = /charset\s*=\s*["']?([^"';,\s]+)/i.exec(mediaType) ?? [];
  return normalizeEncoding(label) ?? undefined;
}

/** The encoding that the start of a page declares; undefined for none or an unknown one. */
function declaredIn(bytes: Uint8Array): string | undefined {
  const start = String.fromCharCode(...bytes.subarray(0, START));
  const [, xml = ""] = /^<\?xml\s[^>]*?\bencoding\s*=\s*["']([^"'>]+)/.exec(start) ?? [];
  let found = normalizeEncoding(xml);
  const parser = new Parser({
    onopentag(name, { charset, content = "", "http-equiv": pragma = "" }) {
      if (found !== null || name !== "meta") return;
      const isPragma = charset === undefined && pragma.trim().toLowerCase() === "content-type";
      found = isPragma ? (charsetIn(content) ?? null) : normalizeEncoding(charset ?? "");
    },
  });
  parser.write(start);
  // Bytes that say so in ASCII are not UTF-16.
  if (found?.startsWith("utf-16")) return "utf-8";
  return (found === "x-user-defined" ? "windows-1252" : found) ?? undefined;
}
