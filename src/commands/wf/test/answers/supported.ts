import type { SuiteSupport } from "../file/index.ts";
import { segmentsOf } from "./compare-answer.ts";
import { missingNumbers, negationsIn } from "./facts.ts";

/** The sentences of an answer, and those that its chunks do not support by their words. */
export interface SupportedSentences {
  /** Those with a word or a number to look for. */
  readonly all: readonly string[];
  readonly open: readonly string[];
}

/**
 * Which sentences of an answer are in its chunks. One is, if a chunk has the share of its words, all of
 * its numbers and dates, and a negation if it has one.
 */
export function supportedSentences(
  answer: string,
  chunks: readonly string[],
  { share }: Pick<SuiteSupport, "share">,
): SupportedSentences {
  const sources = chunks.map((text) => ({ text, words: contentWords(text) }));
  const isSupported = (sentence: string) => {
    const words = [...contentWords(sentence)];
    return sources.some(
      (source) =>
        words.filter((word) => source.words.has(word)).length >= share * words.length - 1e-9 &&
        missingNumbers(sentence, source.text).length === 0 &&
        (negationsIn(sentence) === 0 || negationsIn(source.text) > 0),
    );
  };
  const all = sentencesOf(answer);
  return { all, open: all.filter((sentence) => !isSupported(sentence)) };
}

const sentences = new Intl.Segmenter("und", { granularity: "sentence" });

/** Line by line: the time grows with the square of a text's length. */
const sentencesOf = (text: string): string[] =>
  text
    .split(/\r?\n/)
    .flatMap((line) => [...sentences.segment(line)].map(({ segment }) => segment.trim()))
    .filter((sentence) => /\d/.test(sentence) || contentWords(sentence).size > 0);

/** Words of four letters and more, or of two in a script without capital letters. */
function contentWords(text: string): ReadonlySet<string> {
  const words = new Set<string>();
  for (const { segment, isWordLike } of segmentsOf(text.normalize("NFKC").toLowerCase())) {
    const least = segment.toUpperCase() === segment ? 2 : 4;
    if (isWordLike && segment.length >= least && !/\d/.test(segment)) words.add(segment);
  }
  return words;
}
