import { usage } from "../../errors.ts";
import { didYouMean } from "../did-you-mean.ts";
import { attempt } from "../json.ts";

const frequent =
  "gbk gb18030 big5 shift_jis euc-jp euc-kr utf-8 utf-16le utf-16be windows-1252 iso-8859-1 koi8-r";

/** The name of an encoding by a label of the Encoding Standard. Throws usage. */
export async function encodingName(label: string): Promise<string> {
  const { normalizeEncoding } = await import("@exodus/bytes/encoding.js");
  const name = normalizeEncoding(label) ?? "replacement"; // which stands for those that are not decoded
  if (name !== "replacement") return name;
  const near = didYouMean(label, frequent.split(" "));
  const hint = near === undefined ? `for example: ${frequent}` : `did you mean ${near}?`;
  throw usage(`unknown encoding ${JSON.stringify(label)}`, hint);
}

/** The encoding that a byte order mark names, if that is neither UTF-8 nor UTF-32. */
export function markedEncoding(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 4)).toString("hex");
  if (start.startsWith("feff")) return "UTF-16BE";
  return /^fffe(?!0000)/.test(start) ? "UTF-16LE" : undefined;
}

/**
 * The bytes of a text as UTF-8. A byte order mark decides over the label; what is to be UTF-8 is not checked. Throws
 * usage for bytes that are no text. The decoder is not that of Node.js, which takes some bytes for other characters.
 */
export async function toUtf8(bytes: Uint8Array, label = "utf-8", place = ""): Promise<Uint8Array> {
  if (label === "utf-8" && markedEncoding(bytes) === undefined) return bytes;
  const { getBOMEncoding, TextDecoder } = await import("@exodus/bytes/encoding.js");
  const name = getBOMEncoding(bytes) ?? (await encodingName(label));
  if (name === "utf-8") return bytes;
  const text = attempt(() => new TextDecoder(name, { fatal: true }).decode(bytes));
  if (text === undefined) throw usage(`${place}not valid ${name} text`);
  return new TextEncoder().encode(text);
}
