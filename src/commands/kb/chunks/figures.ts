import { percentile } from "../../../lib/numbers.ts";
import { counted, countCharacters } from "../../../lib/text.ts";
import { isSpace } from "../../../splitting/spaces.ts";
import { type Part, splitText } from "../../../splitting/split.ts";
import { blocksOf, cutsSentence } from "./cuts.ts";
import type { Splitting } from "./rule.ts";

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
 * What a preview counts, by comparing a text with its chunks. Cuts and glued words are those of the chunks that
 * searches compare: of hierarchical rules, the child chunks.
 */
interface Counts {
  children: number;
  /** Chunks whose end is inside a line and not behind a sentence mark. */
  sentences: number;
  /** Chunks whose end is inside a Markdown table or fenced code block. */
  blocks: number;
  /** Words that follow the one before without the white space between them; those of overlaps once. */
  glued: number;
  /** Characters that the server deletes from the text wherever they are, `|` of `<|` and `|>` included. */
  deleted: number;
}

export interface Figures extends Counts {
  /** Lengths of the chunks. */
  readonly lengths: number[];
}

const countNames = ["children", "sentences", "blocks", "glued", "deleted"] as const;

export const newFigures = (): Figures => ({
  children: 0,
  sentences: 0,
  blocks: 0,
  glued: 0,
  deleted: 0,
  lengths: [],
});

/** Adds the figures of one text to those of all. */
export function addFigures(total: Figures, figures: Figures): void {
  for (const length of figures.lengths) total.lengths.push(length);
  for (const name of countNames) total[name] += figures[name];
}

/** The figures by name, as they are compared; a length is null without chunks. */
export function namedFigures(figures: Figures): Readonly<Record<string, number | null>> {
  const { lengths, children, sentences, blocks, glued, deleted } = figures;
  const sorted = Float64Array.from(lengths).sort();
  return {
    chunks: lengths.length,
    child_chunks: children,
    median_length: percentile(sorted, 50),
    longest: sorted.at(-1) ?? null,
    cut_sentences: sentences,
    cut_blocks: blocks,
    glued_words: glued,
    deleted_characters: deleted,
  };
}

/** The figures as one line. */
export function summaryOf(figures: Figures): string {
  const { children, sentences, blocks, glued, deleted } = figures;
  const { median_length: median, longest } = namedFigures(figures);
  return [
    counted(figures.lengths.length, "chunk") +
      (children > 0 ? ` with ${counted(children, "child chunk")}` : "") +
      (longest === null ? "" : ` of ${median} (median) to ${longest} characters`),
    `${counted(sentences, "cut sentence")}, ${counted(blocks, "cut table or code block", "cut tables and code blocks")}`,
    `${counted(glued, "glued word")}, ${counted(deleted, "deleted character")}`,
  ].join("; ");
}

/** Splits a text, and compares it with its chunks; linear in the length of the text. */
export function previewText(
  text: string,
  { rule, version }: Splitting,
): { readonly chunks: readonly ChunkPreview[]; readonly figures: Figures } {
  // The server reads all line ends as \n.
  const source = text.replace(/\r\n?/g, "\n");
  const { kept, cleaned, chunks: parts } = splitText(source, rule, version);
  const chunks: ChunkPreview[] = [];
  const figures = { ...newFigures(), deleted: source.length - kept.length };
  const blocks = blocksOf(cleaned);
  let block = 0;
  let covered = 0;
  const count = ({ text: content, places }: Placed) => {
    const end = (places.at(-1) ?? 0) + 1;
    while ((blocks[block]?.end ?? Infinity) <= end) block++;
    if ((blocks[block]?.start ?? Infinity) < end) figures.blocks++;
    if (cutsSentence(cleaned, end)) figures.sentences++;
    figures.glued += gluedWords(content, places, covered);
    covered = end;
  };
  for (const { part, ...chunk } of placed(cleaned, parts)) {
    const children = part.children && [...placed(chunk.text, part.children)];
    const length = countCharacters(chunk.text);
    figures.lengths.push(length);
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
    figures.children += children?.length ?? 0;
  }
  return { chunks, figures };
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
    yield { part, text, places, overlap: countCharacters(text.slice(0, Math.max(0, fresh))) };
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

function gluedWords(text: string, places: Uint32Array, covered: number): number {
  let count = 0;
  for (let index = 1; index < places.length; index++) {
    const [before = 0, at = 0] = [places[index - 1], places[index]];
    const isGap = at - before > 1 && at >= covered;
    if (isGap && !isSpace(text, index - 1) && !isSpace(text, index)) count++;
  }
  return count;
}
