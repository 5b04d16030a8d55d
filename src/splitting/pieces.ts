import { countCharacters } from "../lib/text.ts";
import { strip } from "./clean.ts";

/** How long chunks are and where they end; counted in Unicode characters, whatever the API calls them. */
export interface Segmentation {
  readonly separator: string;
  readonly max_tokens: number;
  readonly chunk_overlap: number;
}

/**
 * A part of a text, and the offset of its end there. A chunk has the characters before its end in the same order;
 * it lacks white space, and what servers remove from its start.
 */
export interface Part {
  readonly text: string;
  readonly end: number;
}

/** Where a text is split that has no separator of its own, best first; "" is between any two characters. */
const SEPARATORS: readonly string[] = ["\n\n", "。", ". ", " ", ""];

/** Splits a text as the automatic rule does, whose separator servers do not use (server §9.9). */
export const splitAutomatically = (text: string, limits: Segmentation): Part[] =>
  splitFurther({ text, end: text.length }, SEPARATORS, limits);

/**
 * Splits a text at its separator, and parts that are too long further (server §9.9). `gluesWords`: servers before
 * 1.16.1 lose the spaces of a part that they split at spaces first.
 */
export function splitAtSeparator(
  text: string,
  segmentation: Segmentation,
  gluesWords: boolean,
): Part[] {
  const separator = asServersRead(segmentation.separator);
  let end = -separator.length;
  const parts = (separator === "" ? [text] : text.split(separator)).map((part) => {
    end += separator.length + part.length;
    return { text: part, end };
  });
  return parts.flatMap((part) =>
    countCharacters(part.text) <= segmentation.max_tokens
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

function chooseSeparator(text: string, separators: readonly string[]): [string, readonly string[]] {
  const index = separators.findIndex((separator) => text.includes(separator));
  return [separators[index] ?? "", separators.slice(index + 1)];
}

/** Splits a part at spaces without regard to their number, and at anything else like splitFurther. */
function splitPart(part: Part, limits: Segmentation, gluesWords: boolean): Part[] {
  const [separator, others] = chooseSeparator(part.text, SEPARATORS);
  if (separator === "") return splitAnywhere(part, limits);
  const pieces = separator === " " ? wordsOf(part, gluesWords) : keepSeparator(part, separator);
  return joinOrSplit(pieces, others, limits);
}

function splitFurther(part: Part, separators: readonly string[], limits: Segmentation): Part[] {
  const [separator, others] = chooseSeparator(part.text, separators);
  return joinOrSplit(keepSeparator(part, separator), others, limits);
}

/** The words of a part, each but the last with one of the spaces behind it, or without. */
function* wordsOf({ text, end }: Part, gluesWords: boolean): Generator<Part> {
  let next = end - text.length;
  const tokens = text.split(/( +)/); // words, and between them spaces
  for (const [index, token] of tokens.entries()) {
    const word = gluesWords || index === tokens.length - 1 ? token : `${token} `;
    if (index % 2 === 0) yield { text: word, end: next + word.length };
    next += token.length;
  }
}

/** Splits a part behind each separator, "" behind each character; joined, the pieces are the part again. */
function* keepSeparator({ text, end }: Part, separator: string): Generator<Part> {
  let next = end - text.length;
  for (const piece of separator === "" ? text : text.split(separator)) {
    const kept = next + piece.length < end ? piece + separator : piece;
    next += kept.length;
    yield { text: kept, end: next };
  }
}

interface Piece extends Part {
  readonly length: number;
}

/**
 * Joins pieces to chunks of at most `max_tokens`, and splits those that are too long at the other separators. A chunk
 * repeats pieces of the one before, at most `chunk_overlap` characters: with 3 and 1, of pieces of one character,
 * `a b c d e` → `abc`, `cde`.
 */
function joinOrSplit(
  pieces: Iterable<Part>,
  others: readonly string[],
  limits: Segmentation,
): Part[] {
  const { max_tokens, chunk_overlap } = limits;
  const chunks: Part[] = [];
  let joined: Piece[] = [];
  let size = 0;
  function endChunk(): void {
    const text = strip(joined.map((piece) => piece.text).join(""));
    if (text !== "") chunks.push({ text, end: joined.at(-1)?.end ?? 0 });
  }
  for (const { text, end } of pieces) {
    if (text === "" || text === "\n") continue;
    const length = countCharacters(text);
    if (length >= max_tokens) {
      endChunk();
      [joined, size] = [[], 0];
      const more =
        others.length === 0 ? [{ text, end }] : splitFurther({ text, end }, others, limits);
      for (const chunk of more) chunks.push(chunk);
      continue;
    }
    if (size + length > max_tokens && joined.length > 0) {
      endChunk();
      let first = 0;
      while (size > chunk_overlap || (size + length > max_tokens && size > 0))
        size -= joined[first++]?.length ?? 0;
      joined = joined.slice(first);
    }
    joined.push({ text, end, length });
    size += length;
  }
  endChunk();
  return chunks;
}

/**
 * Splits a text that has no separator at any character, without its line breaks. The overlap is the part of a
 * chunk behind its first `max_tokens - chunk_overlap` characters.
 */
function splitAnywhere({ text, end }: Part, { max_tokens, chunk_overlap }: Segmentation): Part[] {
  const chunks: Part[] = [];
  let chunk: string[] = [];
  let repeated: string[] = [];
  let next = end - text.length;
  for (const character of text) {
    const start = next;
    next += character.length;
    if (character === "\n") continue;
    if (chunk.length === max_tokens) {
      chunks.push({ text: chunk.join(""), end: start });
      chunk = repeated;
      repeated = [];
    } else if (chunk.length >= max_tokens - chunk_overlap) {
      repeated.push(character);
    }
    chunk.push(character);
  }
  return [...chunks, { text: chunk.join(""), end }];
}
