import { segmentsOf, sentencesIn } from "../../../lib/word-diff.ts";
import { unicodeForm } from "../../../lib/text.ts";
import { MAX_QUERY } from "../eval/index.ts";

/** Longest and shortest text that a question is written about, in characters. */
export const MAX_PASSAGE = 400;
const MIN_PASSAGE = 60;

/** Which part of `kb tune` a question belongs to. */
type Part = "tune" | "proof";

/** A text of a document that a question is written about. */
export interface DrawnPassage {
  readonly document: string;
  readonly text: string;
  readonly part: Part;
}

/** A question of the file, as `kb eval` reads it. */
export interface MadeQuestion {
  readonly id: string;
  readonly question: string;
  readonly passages: readonly { readonly document: string; readonly text: string }[];
  readonly part: Part;
}

/** A document with its chunks, which are read when it has its turn. */
interface SampledDocument {
  readonly name: string;
  chunks(): Promise<readonly string[]>;
}

/**
 * Draws passages: the documents have their turns in a random order, and of each a chunk is drawn that was not drawn
 * before, with a chance in proportion to its length. Every other document is for the proof, so that no document is in
 * both parts.
 */
export async function* drawPassages(
  documents: readonly SampledDocument[],
  random: () => number,
): AsyncGenerator<DrawnPassage> {
  const order = documents
    .map((document) => ({ document, rank: random() }))
    .toSorted((one, other) => one.rank - other.rank);
  let open = order.map(({ document }, index) => ({
    document,
    part: index % 2 === 0 ? ("tune" as const) : ("proof" as const),
    left: undefined as string[] | undefined,
  }));
  while (open.length > 0) {
    for (const each of open) {
      each.left ??= (await each.document.chunks()).filter(({ length }) => length >= MIN_PASSAGE);
      const chunk = drawn(each.left, random);
      if (chunk === undefined) continue;
      each.left = each.left.filter((other) => other !== chunk);
      yield { document: each.document.name, part: each.part, text: passageIn(chunk, random) };
    }
    open = open.filter(({ left }) => left === undefined || left.length > 0);
  }
}

/** One of some texts, with a chance in proportion to its length. */
function drawn(texts: readonly string[], random: () => number): string | undefined {
  let left = random() * texts.reduce((sum, { length }) => sum + length, 0);
  return texts.find(({ length }) => (left -= length) < 0) ?? texts.at(-1);
}

/** Whole sentences of a chunk, from one that is drawn on; longer ones are cut. */
function passageIn(chunk: string, random: () => number): string {
  const all = [...sentencesIn(chunk)];
  let left = chunk.length;
  const starts = all.flatMap((sentence, index) => {
    const isLong = left >= MIN_PASSAGE;
    left -= sentence.length;
    return isLong ? [index] : [];
  });
  const start = starts[Math.floor(random() * starts.length)] ?? 0;
  let text = all[start] ?? "";
  for (const next of all.slice(start + 1)) {
    if (text.length + next.length > MAX_PASSAGE) break;
    text += next;
  }
  return text.slice(0, MAX_PASSAGE).trim();
}

/** Marks of lists and quotes around a question. */
const MARKS = new Set("\"'“”„«»‘’`*•>-– ");

/** The question in what an application has answered: its first line, without marks of lists and quotes. */
export function questionIn(answer: string): string {
  const line = answer.split("\n").find((each) => each.trim() !== "") ?? "";
  const text = line.trim().replace(/^\d{1,3}[.)] /, "");
  let [start, end] = [0, text.length];
  while (MARKS.has(text[start] ?? "")) start++;
  while (end > start && MARKS.has(text[end - 1] ?? "")) end--;
  return text.slice(start, end);
}

const wordsOf = (text: string): string[] =>
  [...segmentsOf(unicodeForm(text).toLowerCase())].flatMap(({ segment, isWordLike }) =>
    isWordLike ? [segment] : [],
  );

/** The share of three words in a row of a question that are in its passage from which it copies it. */
const COPIED = 0.5;
/** The share of words that two questions have in common from which they are nearly the same. */
const SAME = 0.8;

/** Why a question is skipped; null if it is not. */
export function problemOf(
  question: string,
  passage: string,
  others: readonly string[],
): string | null {
  const length = [...question].length;
  if (length === 0) return "the application wrote no question";
  if (length > MAX_QUERY) return `longer than ${MAX_QUERY} characters`;
  const words = wordsOf(question);
  if (words.length < 3) return "fewer than three words";
  const threes = (all: readonly string[]) =>
    all.slice(2).map((_, at) => all.slice(at, at + 3).join(" "));
  const inPassage = new Set(threes(wordsOf(passage)));
  const own = threes(words);
  const copied = own.filter((three) => inPassage.has(three)).length;
  if (copied >= COPIED * own.length) return "copies its passage";
  const set = new Set(words);
  const twin = others.find((other) => {
    const theirs = new Set(wordsOf(other));
    const common = words.filter(
      (word, at) => theirs.has(word) && words.indexOf(word) === at,
    ).length;
    return common >= SAME * (set.size + theirs.size - common);
  });
  return twin === undefined ? null : `nearly the same as ${JSON.stringify(twin)}`;
}
