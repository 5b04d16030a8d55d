import type { diffArrays as DiffArrays } from "diff";

/** A part of two texts: `in` says which of them has it. */
export interface DiffPart {
  readonly text: string;
  readonly in: "both" | "first" | "second";
}

/** Longer texts are compared up to here, in characters. */
const MAX_LENGTH = 100_000;
/** With more different words than this, texts count as different from beginning to end. */
const MAX_EDITS = 1000;
/** Characters of unchanged text beside a difference. */
const CONTEXT = 200;

/** Finds the words that two texts share, and those that only one of them has. */
export type WordDiff = (first: string, second: string) => DiffPart[];

/** Loads what compares texts word by word. */
export async function openWordDiff(): Promise<WordDiff> {
  const { diffArrays } = await import("diff");
  return (first, second) => diffOf(first, second, diffArrays);
}

function diffOf(first: string, second: string, diffArrays: typeof DiffArrays): DiffPart[] {
  const changes = diffArrays(
    wordsOf(first.slice(0, MAX_LENGTH)),
    wordsOf(second.slice(0, MAX_LENGTH)),
    { comparator: (one, other) => one.trimEnd() === other.trimEnd(), maxEditLength: MAX_EDITS },
  );
  if (!changes)
    return [
      { text: first, in: "first" },
      { text: second, in: "second" },
    ];
  return changes.map(({ value, added, removed }, index) => {
    const text = value.join("");
    if (added) return { text, in: "second" };
    if (removed) return { text, in: "first" };
    const ends = { starts: index > 0, ends: index < changes.length - 1 };
    return { text: nearDifferences(text, ends), in: "both" };
  });
}

/** Words and punctuation, each with the white space behind it. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const { segment } of segmentsOf(text))
    if (segment.trim() !== "" || words.length === 0) words.push(segment);
    else words.push((words.pop() ?? "") + segment);
  return words;
}

/** Unchanged text without the middle, which is far from a difference. */
function nearDifferences(
  text: string,
  { starts, ends }: { readonly starts: boolean; readonly ends: boolean },
): string {
  const before = starts ? text.slice(0, CONTEXT) : "";
  const after = ends ? text.slice(-CONTEXT) : "";
  return text.length <= 2 * CONTEXT ? text : `${before}…${after}`;
}

const segmenter = new Intl.Segmenter("und", { granularity: "word" });

/** The words of a text and what is between them, of one piece after the other. */
export function* segmentsOf(text: string): Generator<Intl.SegmentData> {
  for (let start = 0; start < text.length;) {
    const end = pieceEnd(text, start);
    for (const each of segmenter.segment(text.slice(start, end)))
      yield { ...each, index: start + each.index };
    start = end;
  }
}

/** Characters that are segmented at once: the time grows with the square of their number. */
const MIN_PIECE = 500;
const MAX_PIECE = 1000;

/** Where to cut a long text: after a blank or a sign that is in no word, if there is one. */
function pieceEnd(text: string, start: number): number {
  if (text.length <= start + MAX_PIECE) return text.length;
  const blank = text
    .slice(start + MIN_PIECE, start + MAX_PIECE)
    .search(/[\s\u3000-\u3003！，：；？]/);
  if (blank >= 0) return start + MIN_PIECE + blank + 1;
  const isInPair = (text.codePointAt(start + MAX_PIECE - 1) ?? 0) > 0xffff;
  return start + MAX_PIECE - Number(isInPair);
}

const sentences = new Intl.Segmenter("und", { granularity: "sentence" });

/** The same for sentences. */
const MAX_SENTENCES = 5000;

/** The sentences of a text, with the blanks behind them; one that is longer than a piece becomes several. */
export function* sentencesIn(text: string): Generator<string> {
  for (let start = 0; start < text.length;) {
    const found = [...sentences.segment(text.slice(start, start + MAX_SENTENCES))];
    // The last one may go on in the next piece.
    if (start + MAX_SENTENCES < text.length && found.length > 1) found.pop();
    for (const { segment } of found) {
      yield segment;
      start += segment.length;
    }
  }
}
