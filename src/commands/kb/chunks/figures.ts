import { percentile } from "../../../lib/statistics/averages.ts";
import { counted, countCharacters } from "../../../lib/text.ts";
import type { ProcessRule } from "../../../splitting/rule.ts";
import { type Part, splitText } from "../../../splitting/split.ts";
import { textsOfUpload, textsToSplit } from "../../../splitting/upload.ts";

/** How texts are split. */
export interface Splitting {
  readonly rule: ProcessRule;
  /** Of the server. */
  readonly version: string;
}

/** A chunk as the server will store it; lengths are in Unicode characters. */
export interface ChunkPreview {
  readonly position: number;
  readonly length: number;
  /** Length of its start that repeats the end of the chunk before. */
  readonly overlap: number;
  readonly content: string;
  readonly children?: readonly string[];
  /** The same lengths for the child chunks. */
  readonly child_overlaps?: readonly number[];
}

/**
 * What is counted by comparing a text with its chunks. Cuts and glued words are those of the chunks that searches
 * compare: of hierarchical rules, the child chunks.
 */
const noCounts = {
  child_chunks: 0,
  /** Chunks whose end is inside a line and not behind a sentence mark. */
  cut_sentences: 0,
  /** Chunks whose end is inside a Markdown table or fenced code block. */
  cut_blocks: 0,
  /** Words that follow the one before without the white space between them; those of overlaps once. */
  glued_words: 0,
  /** Characters that the server deletes from the text wherever they are, `|` of `<|` and `|>` included. */
  deleted_characters: 0,
};

/** What is counted, and the lengths of the chunks. */
export interface Figures {
  readonly counts: typeof noCounts;
  readonly lengths: number[];
}

export const newFigures = (): Figures => ({ counts: { ...noCounts }, lengths: [] });

/** Adds the figures of one text to those of all. */
export function addFigures(total: Figures, { counts, lengths }: Figures): void {
  for (const length of lengths) total.lengths.push(length);
  for (const name of Object.keys(counts) as (keyof typeof counts)[])
    total.counts[name] += counts[name];
}

/** The figures as they are compared; a length is null without chunks. */
export function namedFigures({ counts, lengths }: Figures) {
  const sorted = Float64Array.from(lengths).sort();
  const median_length = percentile(sorted, 50);
  return { chunks: sorted.length, median_length, longest: sorted.at(-1) ?? null, ...counts };
}

/** The figures as one line. */
export function figuresLine(figures: Figures): string {
  const { chunks, median_length, longest, child_chunks, ...counts } = namedFigures(figures);
  return [
    counted(chunks, "chunk") +
      (child_chunks > 0 ? ` with ${counted(child_chunks, "child chunk")}` : "") +
      (longest === null ? "" : `, median length ${median_length}, longest ${longest}`),
    `cut: ${counted(counts.cut_sentences, "sentence")}, ${counted(counts.cut_blocks, "table or code block", "tables and code blocks")}`,
    `${counted(counts.glued_words, "glued word")}, ${counted(counts.deleted_characters, "deleted character")}`,
  ].join("; ");
}

/** The chunks of a text, and what they were compared for. */
interface Preview {
  readonly chunks: readonly ChunkPreview[];
  readonly figures: Figures;
}

/** Splits the text of an uploaded file; its tags are counted with the characters that the server deletes. */
export function previewUpload(extension: string, text: string, splitting: Splitting): Preview {
  const texts = textsOfUpload(extension, text);
  const figures = newFigures();
  const chunks: ChunkPreview[] = [];
  for (const each of textsToSplit(texts, splitting.rule)) {
    const preview = previewText(each, splitting);
    for (const chunk of preview.chunks) chunks.push({ ...chunk, position: chunks.length + 1 });
    addFigures(figures, preview.figures);
  }
  figures.counts.deleted_characters += lettersIn([text]) - lettersIn(texts);
  return { chunks, figures };
}

/** Counts what is neither white space nor the sign of a heading, which chunks lack anyway. */
const lettersIn = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + text.replace(/[\s#]/g, "").length, 0);

/** Splits a text, and compares it with its chunks; linear in the length of the text. */
export function previewText(text: string, { rule, version }: Splitting): Preview {
  // The server reads all line ends as \n.
  const source = text.replace(/\r\n?/g, "\n");
  const { kept, cleaned, chunks: parts } = splitText(source, rule, version);
  const chunks: ChunkPreview[] = [];
  const { counts, lengths } = newFigures();
  counts.deleted_characters = source.length - kept.length;
  const blocks = blocksOf(cleaned);
  let block = 0;
  let covered = 0;
  const count = ({ text: content, places }: Placed) => {
    const end = (places.at(-1) ?? 0) + 1;
    // The child chunks of a chunk may begin before the last ones of the chunk before end.
    while ((blocks[block - 1]?.end ?? 0) > end) block--;
    while ((blocks[block]?.end ?? Infinity) <= end) block++;
    if ((blocks[block]?.start ?? Infinity) < end) counts.cut_blocks++;
    if (cutsSentence(cleaned, end)) counts.cut_sentences++;
    counts.glued_words += gluedWords(content, places, covered);
    covered = Math.max(covered, end);
  };
  for (const { part, ...chunk } of placed(cleaned, parts)) {
    const children = part.children && [...placed(chunk.text, part.children)];
    const length = countCharacters(chunk.text);
    lengths.push(length);
    chunks.push({
      position: chunks.length + 1,
      length,
      overlap: chunk.overlap,
      content: chunk.text,
      ...(children && {
        children: children.map((child) => child.text),
        child_overlaps: children.map(({ overlap }) => overlap),
      }),
    });
    for (const child of children ?? [])
      count({ ...child, places: child.places.map((at) => chunk.places[at] ?? 0) });
    if (!children) count(chunk);
    counts.child_chunks += children?.length ?? 0;
  }
  return { chunks, figures: { counts, lengths } };
}

/** A chunk with the places of its characters in the text that it was split from. */
interface Placed {
  readonly text: string;
  readonly places: Uint32Array;
  readonly overlap: number;
}

function* placed<P extends Part>(source: string, parts: readonly P[]) {
  let covered = 0;
  for (const part of parts) {
    const { text } = part;
    const places = placesIn(source, part);
    const fresh = places.findIndex((at) => at >= covered);
    const repeated = fresh === -1 ? text : text.slice(0, fresh);
    yield { part, text, places, overlap: countCharacters(repeated) };
    covered = (places.at(-1) ?? 0) + 1;
  }
}

/** Found from the end: before it, a chunk lacks white space only, until its start. */
function placesIn(source: string, { text, end }: Part): Uint32Array {
  const places = new Uint32Array(text.length);
  let at = end;
  for (let index = text.length - 1; index >= 0; index--) {
    do at--;
    while (at > 0 && source[at] !== text[index]);
    places[index] = at;
  }
  return places;
}

/** A letter or digit of a script that has spaces between its words. */
const WORD = String.raw`(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])[\p{L}\p{N}]`;
const WORD_END = new RegExp(`${WORD}\\p{M}*$`, "u");
const WORD_START = new RegExp(`^${WORD}`, "u");

function gluedWords(text: string, places: Uint32Array, covered: number): number {
  let count = 0;
  for (let index = 1; index < places.length; index++) {
    const [before = 0, at = 0] = [places[index - 1], places[index]];
    if (at - before === 1 || at < covered) continue;
    const isGlued =
      WORD_END.test(text.slice(Math.max(0, index - 4), index)) &&
      WORD_START.test(text.slice(index, index + 2));
    if (isGlued) count++;
  }
  return count;
}

/** Characters before an end that are enough to see a sentence mark. */
const CONTEXT = 8;

/**
 * Does an end in a text cut a sentence: is it inside a line, and neither behind a sentence mark nor before one that
 * was a separator? Marks of scripts without spaces end sentences anywhere, others before white space.
 */
export function cutsSentence(text: string, end: number): boolean {
  let next = end;
  while (text[next] === " " || text[next] === "\t") next++;
  if (next >= text.length || text[next] === "\n") return false;
  if (/[.!?…。！？｡]/.test(text[end] ?? "")) return false;
  const before = text
    .slice(Math.max(0, end - CONTEXT), end)
    .replace(/(?<!["'”’»)\]*_])["'”’»)\]*_]+$/, "");
  return !/[。！？｡]$/.test(before) && !(next > end && /[.!?…]$/.test(before));
}

/** A block of a text, from the first character of its first line to the last of its last one. */
interface Block {
  readonly start: number;
  end: number;
}

/** The tables and fenced code blocks of a text as Markdown writes them, in order. */
export function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = [];
  let kind: "code" | "table" | undefined;
  let fence = "";
  let above = { start: 0, hasCells: false };
  for (let start = 0; start < text.length;) {
    const feed = text.indexOf("\n", start);
    const end = feed === -1 ? text.length : feed;
    const line = text.slice(start, end);
    const block = blocks.at(-1);
    if (kind === "table" && line.trim() === "") kind = undefined;
    else if (kind !== undefined && block) block.end = end;
    const [, marks = "", info = ""] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (kind === "code") {
      if (marks.startsWith(fence) && info.trim() === "") kind = undefined;
    } else if (marks !== "") {
      kind = "code";
      fence = marks;
      blocks.push({ start, end });
    } else if (kind === undefined && above.hasCells && isUnderHead(line)) {
      kind = "table";
      blocks.push({ start: above.start, end });
    }
    above = { start, hasCells: line.includes("|") };
    start = end + 1;
  }
  return blocks;
}

/** Is it the line below the head of a table, such as `|---|:-:|`? */
const isUnderHead = (line: string): boolean =>
  /^[\s|:-]+$/.test(line) && line.includes("-") && line.includes("|");
