import { isAscii } from "node:buffer";
import { attempt } from "./json.ts";

/** Decodes strict UTF-8 and keeps a byte order mark; undefined for any other bytes. */
export const decodeUtf8 = (bytes: Uint8Array): string | undefined =>
  attempt(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));

/** The bytes of a text file to send: a byte order mark would become part of its first chunk (server §9.2). */
export const withoutMark = (bytes: Uint8Array): Uint8Array =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;

/** Counts the code points of a text without splitting it. */
export const countCharacters = (text: string): number =>
  text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);

/** Decodes text to send; undefined for bytes that are not UTF-8 or have a NUL. */
export function decodeText(bytes: Uint8Array): string | undefined {
  const text = decodeUtf8(bytes);
  return text?.includes("\0") ? undefined : text;
}

/**
 * Decodes a stream of UTF-8 like a TextDecoder: call it with each piece, and without one at the end. A
 * piece of ASCII becomes a text of one byte per character: to decode and to parse 64 KB of events takes
 * 15 % less time.
 */
export function streamDecoder(): (piece?: Uint8Array) => string {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let hasBegun = false; // a byte order mark can only come before
  let endsInAscii = true; // so that no character is incomplete
  return (piece) => {
    if (piece === undefined) return decoder?.decode() ?? "";
    if (endsInAscii && isAscii(piece)) {
      hasBegun ||= piece.length > 0;
      return asciiText(piece);
    }
    decoder ??= new TextDecoder("utf-8", { ignoreBOM: hasBegun });
    endsInAscii = (piece.at(-1) ?? NOT_ASCII) < NOT_ASCII;
    return decoder.decode(piece, { stream: true });
  };
}

const NOT_ASCII = 0x80;

const asciiText = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("latin1");

/**
 * A pattern that is made on first use. For a literal with classes of Unicode (`\p{L}`), V8 searches all of Unicode
 * whenever it reads the file, used or not: 1 ms for each.
 */
export function patternOf(source: string, flags: string): () => RegExp {
  let pattern: RegExp | undefined;
  return () => (pattern ??= new RegExp(source, flags));
}

/** Marks that are sorted at once: the time grows with the square of their number. */
const longMarks = patternOf(String.raw`(?:(?!\u034f)[\p{M}\uff9e\uff9f]){30}(?!\u034f)`, "gu");

/** A text in a Unicode form. A character that is not seen divides long runs of marks (UAX #15, stream-safe text). */
export const unicodeForm = (text: string, form: "NFC" | "NFKC" = "NFKC"): string =>
  text.replaceAll(longMarks(), "$&\u034f").normalize(form);

/** Characters that control something or end lines, for a class of a pattern: Cc, Zl, Zp and Bidi_Control of Unicode. */
export const controls = String.raw`\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069`;

/** Half of a surrogate pair is not a character, either. */
const unsafe = patternOf(
  String.raw`\r\n|[${controls}\ud800-\udfff\p{Noncharacter_Code_Point}]`,
  "gu",
);

/** Text whose characters all take one column. */
export const plain = /^[ -~]*$/;

/**
 * Text from a server, safe for a terminal, a page and XML: characters that control something or are none become
 * visible ones, a line end becomes ⏎. With `newlines`, line ends stay and tabs become spaces.
 */
export function visible(
  text: string,
  { newlines = false }: { readonly newlines?: boolean } = {},
): string {
  if (plain.test(text)) return text;
  return text.replace(unsafe(), (match) => {
    if (match === "\n" || match === "\r\n") return newlines ? "\n" : "⏎";
    if (match === "\t" && newlines) return "    ";
    const code = match.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code); // ␀ … ␟, pictures of the controls
    if (code === 0x7f) return "␡";
    return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
}

/** A number with its noun: `1 row`, `2 rows`; `plural` where it does not end in s. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`;

/** A text of at most `max` characters; `…` follows one that is cut. */
export function shortened(text: string, max: number): string {
  const start = Array.from(text.slice(0, 2 * max))
    .slice(0, max)
    .join("");
  return start.length < text.length ? `${start}…` : text;
}

/** The first names of several: `a, b, c, d, e and 7 more`. */
export function firstNames(names: readonly string[], most = 5): string {
  const rest = names.length - most;
  // A last one alone takes no more room than its count.
  return rest > 1 ? `${names.slice(0, most).join(", ")} and ${rest} more` : names.join(", ");
}

/** Is the text a UUID, of any version and case? */
export const isUuid = (text: string): boolean =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

/** A name as a word of a command line: one that looks like a flag or an ID gets the prefix `name:`. */
export const nameWord = (name: string): string =>
  /^(-|id:|name:)/i.test(name) || isUuid(name) ? `name:${name}` : name;

/** Characters of a UUID that are enough to look it up. */
const MIN_PREFIX = 8;

/** Is the text the beginning of a UUID, long enough to stand for it? */
export const isIdPrefix = (text: string): boolean =>
  text.length >= MIN_PREFIX &&
  isUuid(`${text}${"00000000-0000-0000-0000-000000000000".slice(text.length)}`);

/** May the text be the beginning of a UUID that is too short to stand for it? */
export const isShortPrefix = (text: string): boolean => /^[0-9a-f]{3,7}$/i.test(text);

/** What stands for the newest run, conversation or message in place of its ID. */
export const NEWEST = "last";

/** A name of a document with `/` for `∕` (U+2215), which the names of uploaded files have instead. */
export const withSlashes = (name: string): string => name.replaceAll("∕", "/");

/** Does a word look like the name of a file: `a.md`? */
export const isFileName = (word: string): boolean => /^(?!\w+:\/\/).*\.\w{1,5}$/s.test(word);

/** Does a word look like a path: `./docs`? */
export const isPath = (word = ""): boolean => /^[.~]|[/\\]/.test(word);

/**
 * The keyword to list a name by. The server takes `%`, `_` and `\` as wildcards, so only the longest
 * part between them is sent (server §5).
 */
export function keywordOf(name: string, wildcards: RegExp = /[%_\\]/): string | undefined {
  const longest = name.split(wildcards).sort((a, b) => b.length - a.length)[0] ?? "";
  return [...longest].slice(0, 100).join("").trim() || undefined;
}

/** What there is to say, as one note; null if that is nothing. */
export const joinedNotes = (...notes: readonly (string | null | undefined | false)[]) =>
  notes.filter(Boolean).join("; ") || null;
