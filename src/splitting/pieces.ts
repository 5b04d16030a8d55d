import { countCharacters } from "../lib/text.ts";
import { strip } from "./spaces.ts";

/** How long chunks are and where they end; counted in Unicode characters, whatever the API calls them. */
export interface Segmentation {
  readonly separator: string;
  readonly max_tokens: number;
  readonly chunk_overlap: number;
}

/** Where a text is split that has no separator of its own, best first; "" is between any two characters. */
const SEPARATORS: readonly string[] = ["\n\n", "。", ". ", " ", ""];

/** Splits a text as the automatic rule does, whose separator servers do not use (server §9.9). */
export const splitAutomatically = (text: string, limits: Segmentation): string[] =>
  splitFurther(text, SEPARATORS, limits);

/**
 * Splits a text at its separator, and parts that are too long further (server §9.9). `gluesWords`: servers before
 * 1.16.1 lose the spaces of a part that they split at spaces first.
 */
export function splitAtSeparator(
  text: string,
  segmentation: Segmentation,
  gluesWords: boolean,
): string[] {
  const separator = asServersRead(segmentation.separator);
  const parts = separator === "" ? [text] : text.split(separator);
  return parts.flatMap((part) =>
    countCharacters(part) <= segmentation.max_tokens
      ? [part]
      : splitPart(part, segmentation, gluesWords),
  );
}

/**
 * A separator as servers read it: `\n` for a line break, and the bytes of its UTF-8 as characters. So one that is
 * not ASCII, such as `。`, is in no text.
 */
const asServersRead = (separator: string): string =>
  Array.from(new TextEncoder().encode(separator.replaceAll("\\n", "\n")), (byte) =>
    String.fromCharCode(byte),
  ).join("");

/** The first separator that a text contains, and those after it. */
function chooseSeparator(text: string, separators: readonly string[]): [string, readonly string[]] {
  const index = separators.findIndex((separator) => text.includes(separator));
  return [separators[index] ?? "", separators.slice(index + 1)];
}

/** Splits a part at spaces without regard to their number, and at anything else like splitFurther. */
function splitPart(text: string, limits: Segmentation, gluesWords: boolean): string[] {
  const [separator, others] = chooseSeparator(text, SEPARATORS);
  if (separator === "") return splitAnywhere(text, limits);
  if (separator !== " ") return joinOrSplit(keepSeparator(text, separator), others, limits);
  const words = text.split(/ +/);
  const pieces = gluesWords
    ? words
    : words.map((word, index) => (index < words.length - 1 ? `${word} ` : word));
  return joinOrSplit(pieces, others, limits);
}

function splitFurther(text: string, separators: readonly string[], limits: Segmentation): string[] {
  const [separator, others] = chooseSeparator(text, separators);
  const pieces = separator === "" ? [...text] : keepSeparator(text, separator);
  return joinOrSplit(pieces, others, limits);
}

/** Splits a text behind each separator; joined, the pieces are the text again. */
function keepSeparator(text: string, separator: string): string[] {
  const pieces = text.split(separator);
  return pieces.map((piece, index) => (index < pieces.length - 1 ? piece + separator : piece));
}

/** Joins pieces to chunks, and splits those that are too long at the other separators. */
function joinOrSplit(
  pieces: readonly string[],
  others: readonly string[],
  limits: Segmentation,
): string[] {
  const chunks: string[] = [];
  let short: Piece[] = [];
  for (const text of pieces) {
    if (text === "" || text === "\n") continue;
    const length = countCharacters(text);
    if (length < limits.max_tokens) {
      short.push({ text, length });
      continue;
    }
    chunks.push(...joinPieces(short, limits));
    short = [];
    chunks.push(...(others.length === 0 ? [text] : splitFurther(text, others, limits)));
  }
  return [...chunks, ...joinPieces(short, limits)];
}

interface Piece {
  readonly text: string;
  readonly length: number;
}

/**
 * Joins pieces to chunks of at most `max_tokens`; each chunk repeats pieces of the one before, at most
 * `chunk_overlap` characters. With 3 and 1, of pieces of one character: `a b c d e` → `abc`, `cde`.
 */
function joinPieces(
  pieces: readonly Piece[],
  { max_tokens, chunk_overlap }: Segmentation,
): string[] {
  const chunks: string[] = [];
  let first = 0;
  let size = 0;
  function endChunk(end: number): void {
    const chunk = strip(
      pieces
        .slice(first, end)
        .map(({ text }) => text)
        .join(""),
    );
    if (chunk !== "") chunks.push(chunk);
  }
  for (const [index, { length }] of pieces.entries()) {
    if (size + length > max_tokens && index > first) {
      endChunk(index);
      while (size > chunk_overlap || (size + length > max_tokens && size > 0))
        size -= pieces[first++]?.length ?? 0;
    }
    size += length;
  }
  endChunk(pieces.length);
  return chunks;
}

/**
 * Splits a text that has no separator at any character, without its line breaks. The overlap is the
 * part of a chunk behind its first
 * `max_tokens - chunk_overlap` characters.
 */
function splitAnywhere(text: string, { max_tokens, chunk_overlap }: Segmentation): string[] {
  const chunks: string[] = [];
  let chunk: string[] = [];
  let repeated: string[] = [];
  for (const character of text.replaceAll("\n", "")) {
    if (chunk.length === max_tokens) {
      chunks.push(chunk.join(""));
      chunk = repeated;
      repeated = [];
    } else if (chunk.length >= max_tokens - chunk_overlap) {
      repeated.push(character);
    }
    chunk.push(character);
  }
  return [...chunks, chunk.join("")];
}
