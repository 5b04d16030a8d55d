import { firstNames, unicodeForm } from "../../../../lib/text.ts";
import { segmentsOf, sentencesIn } from "../../../../lib/word-diff.ts";
import type { CitedChunk } from "../../../../runs/trace.ts";
import type { SuiteContext, SuiteSupport } from "../../suite-file/index.ts";
import { factsIn, hasFacts } from "./facts.ts";

/** A share as checks show it: `at least 1 of` would mean one. */
export const atLeastOf = (share: number): string =>
  `at least ${Number((share * 100).toFixed(6))} % of`;

const checks = {
  recall: (share: string) => `chunks are of ${share} the expected documents`,
  precision: (share: string) => `${share} the chunks are of expected documents`,
} as const;

/** Compares the documents of chunks with expected ones, by their names. Without chunks both shares are 0. */
export function checkContext(
  { measure, atLeast, documents }: SuiteContext,
  chunks: readonly CitedChunk[],
  nameOf: (written: string) => string,
) {
  const expected = [...new Set(documents.map(nameOf))];
  const names = chunks.map(({ document }) => document ?? "a document without a name");
  const [all, others] =
    measure === "recall"
      ? [expected, expected.filter((name) => !names.includes(name))]
      : [names, names.filter((name) => !expected.includes(name))];
  const met = all.length - others.length;
  const score = all.length === 0 ? 0 : met / all.length;
  const kind = measure === "recall" ? "missing" : "others";
  const listed = firstNames([...new Set(others)].map((name) => JSON.stringify(name)));
  return {
    kind: "context" as const,
    check: checks[measure](atLeastOf(atLeast)),
    passed: score >= atLeast,
    score,
    actual: `${met} of ${all.length}${others.length > 0 ? `; ${kind}: ${listed}` : ""}`,
  };
}

/**
 * Which sentences of an answer are in its chunks. One is, if a chunk has the share of its words, all of
 * its numbers and dates, and a negation if it has one.
 */
export function supportedSentences(
  answer: string,
  chunks: readonly string[],
  { share }: Pick<SuiteSupport, "share">,
) {
  const sources = chunks.map((text) => ({ facts: factsIn(text), words: contentWords(text) }));
  const isSupported = (sentence: string) => {
    const words = [...contentWords(sentence)];
    const facts = factsIn(sentence);
    return sources.some(
      (source) =>
        words.filter((word) => source.words.has(word)).length >= share * words.length - 1e-9 &&
        hasFacts(source.facts, facts),
    );
  };
  const all = sentencesOf(answer);
  return { all, open: all.filter((sentence) => !isSupported(sentence)) };
}

const sentencesOf = (text: string): string[] =>
  text
    .split(/\r?\n/)
    .flatMap((line) => [...sentencesIn(line)].map((sentence) => sentence.trim()))
    .filter((sentence) => /\d/.test(sentence) || contentWords(sentence).size > 0);

/** Words of four letters and more, or of two in a script without capital letters. */
function contentWords(text: string): ReadonlySet<string> {
  const words = new Set<string>();
  for (const { segment, isWordLike } of segmentsOf(unicodeForm(text).toLowerCase())) {
    const least = segment.toUpperCase() === segment ? 2 : 4;
    if (isWordLike && segment.length >= least && !/\d/.test(segment)) words.add(segment);
  }
  return words;
}
