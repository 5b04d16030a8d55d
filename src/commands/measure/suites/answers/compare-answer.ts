import { distance } from "fastest-levenshtein";
import { usage } from "../../../../errors.ts";
import { diffJson, fromDifference } from "../../../../lib/formats/json-diff.ts";
import { tryParseJson } from "../../../../lib/json.ts";
import { segmentsOf } from "../../../../lib/word-diff.ts";
import { counted, unicodeForm } from "../../../../lib/text.ts";
import { matches, parseValue } from "../../../conditions/index.ts";
import { quoted } from "../../../wf/expect/index.ts";
import type { CompareMode, SuiteTurn } from "../../suite-file/index.ts";
import { differingFacts, firstDifferences, fullWords } from "./facts.ts";
import { figuresIn } from "./figures.ts";

/** How an answer compares with one expected answer. */
interface Compared {
  readonly passed: boolean;
  /** What differs, on one line with the answer's text in quotes. */
  readonly actual: string;
  /** From 0 to 1, of `similar` only; none if a fact differs. */
  readonly score?: number;
}

/** Compares an answer with one expected answer. */
type Comparison = (answer: string) => Compared;

/** Expected answers, at least one, with the way to compare them. */
export interface ExpectedAnswer extends Pick<
  SuiteTurn,
  "answer" | "similarity" | "facts" | "from"
> {
  readonly compare: CompareMode;
}

/** What an answer is compared with. */
export type AnswerComparison = ReturnType<typeof openComparison>;

/** Prepares the comparison. Throws `usage` with the line for an expected answer that is not of its kind. */
export function openComparison(expected: ExpectedAnswer) {
  const { answer: texts, compare: mode, similarity } = expected;
  const comparisons = texts.map((text) => modes[mode].open(text, expected));
  const limit = mode === "similar" ? ` (at least ${similarity})` : "";
  return {
    /** The expectation as a sentence. */
    check: `${modes[mode].check} ${listed(texts.map((text) => modes[mode].shown(text)))}${limit}`,
    /** The best of the comparisons. Calls `pause` before each, since one may take a tenth of a second. */
    async compare(answer: string, pause: () => Promise<void>) {
      const compared: Compared[] = [];
      for (const comparison of comparisons) {
        await pause();
        compared.push(comparison(answer));
      }
      return compared.reduce((best, other) => (rank(other) > rank(best) ? other : best));
    },
  };
}

const rank = ({ passed, score = 0 }: Compared): number => Number(passed) + score;

const MAX_LISTED = 3;

/** `"a" or "b" or 2 others`. */
function listed(texts: readonly string[]): string {
  const first = texts.slice(0, MAX_LISTED);
  const more = texts.length - first.length;
  return [...first, ...(more > 0 ? [counted(more, "other")] : [])].join(" or ");
}

/** A way to compare: how its checks begin, how they show the expected text, and how it is prepared. */
interface Mode {
  readonly check: string;
  readonly shown: (text: string) => string;
  readonly open: (text: string, expected: ExpectedAnswer) => Comparison;
}

const modes: Readonly<Record<CompareMode, Mode>> = {
  exact: { check: "answer is", shown: quoted, open: (text) => isExactly(plain(text)) },
  contains: { check: "answer contains", shown: quoted, open: (text) => hasPart(plain(text)) },
  regex: { check: "answer matches", shown: (text) => text.trim(), open: openPattern },
  json: { check: "answer is the JSON", shown: compact, open: openJson },
  similar: { check: "answer is similar to", shown: quoted, open: isSimilar },
};

/** Without the blanks around it, and with line ends of one kind. */
const plain = (text: string): string => text.trim().replaceAll(/\r\n?/g, "\n");

const isExactly =
  (expected: string): Comparison =>
  (answer) => {
    const text = plain(answer);
    if (text === expected) return { passed: true, actual: "it is equal" };
    const [here, there] = fromDifference(text, expected);
    return { passed: false, actual: `it is ${quoted(here)} instead of ${quoted(there)}` };
  };

const hasPart =
  (part: string): Comparison =>
  (answer) => ({ passed: plain(answer).includes(part), actual: `it is ${quoted(answer)}` });

function openPattern(text: string, { from }: ExpectedAnswer): Comparison {
  const source = `${from.path} line ${from.line}: answer`;
  const claim = matches(parseValue(source, text.trim(), (reader) => reader.pattern()));
  return (answer) => {
    const { passed, actual } = claim.evaluate({ value: answer, actual: `it is ${quoted(answer)}` });
    return { passed: passed === true, actual };
  };
}

function openJson(text: string, { from }: ExpectedAnswer): Comparison {
  const expected = tryParseJson(text);
  if (expected === undefined)
    throw usage(
      `${from.path} line ${from.line}: answer ${quoted(text)} is not valid JSON`,
      "compare: json needs JSON, such as answer: '{\"days\": 30}'",
    );
  return (answer) => {
    const found = jsonIn(answer);
    if (found === undefined) return { passed: false, actual: `it is not JSON: ${quoted(answer)}` };
    const differences = [...diffJson(found, expected)];
    if (differences.length === 0) return { passed: true, actual: "it is equal" };
    const actual = firstDifferences(differences, ({ path, a, b }) => {
      const place = path === "" ? "it" : quoted(path);
      return `${place} is ${quoted(a)} instead of ${quoted(b)}`;
    });
    return { passed: false, actual };
  };
}

/** JSON on one line, shortened like other texts. */
function compact(text: string): string {
  const value = tryParseJson(text);
  return typeof value === "string" ? quoted(value) : quoted(value).replaceAll(/\s+/g, " ");
}

function isSimilar(
  expected: string,
  { similarity: least, facts }: Pick<ExpectedAnswer, "similarity" | "facts">,
): Comparison {
  return (answer) => {
    const { similarity: score, difference } = compareWords(answer, expected);
    if (score === undefined)
      return { passed: false, actual: "both texts are too long to be compared" };
    const passed = score >= least;
    const figure = `similarity ${Math.floor(score * 1000 + 1e-9) / 1000}`;
    const differing = facts ? differingFacts(answer, expected) : undefined;
    if (differing !== undefined) return { passed: false, actual: `${figure}; ${differing}` };
    if (!difference) return { passed, score, actual: figure };
    const { word, one, other } = difference;
    const [here, there] = [one, other].map((words) => (words === "" ? "the end" : quoted(words)));
    return { passed, score, actual: `${figure}; from word ${word} ${here} instead of ${there}` };
  };
}

/** A text as its words: what is compared, and where each begins in the text that is shown. */
type Words = ReturnType<typeof wordsOf>;

/**
 * How alike two texts are: one minus the edit distance over their words (inserted, deleted and replaced
 * ones) divided by the number of words of the longer text. Case, punctuation and Unicode forms do not
 * matter, except in texts without any word.
 */
export function compareWords(one: string, other: string) {
  const [a, b] = [wordsOf(one), wordsOf(other)];
  const longer = Math.max(a.keys.length, b.keys.length);
  const isList = [a, b].every(({ text }) => (text.match(LIST)?.length ?? 0) >= MIN_JOINTS);
  const distance = isList ? sortedDistance(a.keys, b.keys) : wordDistance(a.keys, b.keys);
  return {
    // Undefined if both texts are too long to be compared. Divided once, so that four of five words are 0.8 exactly.
    similarity: distance === undefined ? undefined : (longer - distance) / longer,
    difference: firstDifference(a, b),
  };
}

/** The words of a text; all of it for one without words, such as a sign or nothing. A date or a time is one word. */
function wordsOf(original: string) {
  const text = unicodeForm(original);
  const keys: string[] = [];
  const starts: number[] = [];
  const add = (key: string, start: number) => {
    keys.push(key);
    starts.push(start);
  };
  let at = 0;
  const addWords = (end: number) => {
    for (const { segment, index, isWordLike } of segmentsOf(text.slice(at, end)))
      if (isWordLike) for (const key of fullWords(segment.toLowerCase())) add(key, at + index);
  };
  for (const { start, end, readings, unit, amount, kind } of figuresIn(text)) {
    addWords(start);
    const [figure = "", measure = unit] = amount?.split(" ") ?? readings.slice(0, 1);
    add(figure, start);
    if (kind === "number" && measure !== undefined) add(measure, start);
    at = end;
  }
  addWords(text.length);
  return keys.length > 0 ? { text, keys, starts } : { text, keys: [text.trim()], starts: [0] };
}

/** Words that are shown of a difference. */
const SHOWN_WORDS = 4;

/** Where two texts begin to differ, from word 1, with some words from there; empty at the end of a text. */
function firstDifference(a: Words, b: Words) {
  const longer = Math.max(a.keys.length, b.keys.length);
  let at = 0;
  while (at < longer && a.keys[at] === b.keys[at]) at++;
  if (at === longer) return undefined;
  const shown = ({ text, starts }: Words) =>
    text.slice(starts[at] ?? text.length, starts[at + SHOWN_WORDS]).trim();
  return { word: at + 1, one: shown(a), other: shown(b) };
}

/** What stands between the items of a list, and of how many on a text counts as one: their order is free. */
const LIST = /[,;、，]\s?|\n[^\S\n]*(?:[-*•]|\d+[.)])\s|\s(?:and|or|und|oder|et|ou|y|o)\s/gu;
const MIN_JOINTS = 2;

/** The lesser of the distance of two lists of words, and that without their order. */
function sortedDistance(a: readonly string[], b: readonly string[]): number | undefined {
  const inOrder = wordDistance(a, b);
  const counts = new Map<string, number>();
  for (const word of a) counts.set(word, (counts.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of b) {
    const left = counts.get(word) ?? 0;
    if (left > 0) common++;
    counts.set(word, left - 1);
  }
  return inOrder === undefined
    ? undefined
    : Math.min(inOrder, Math.max(a.length, b.length) - common);
}

/** Steps that take a tenth of a second, each for 32 words of one text: two texts of 12,000 words. */
const MAX_STEPS = 5_000_000;

/** The edit distance of two lists of words; undefined if it would take too long. */
function wordDistance(a: readonly string[], b: readonly string[]): number | undefined {
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start++;
  let end = 0;
  while (end < shorter - start && a[a.length - end - 1] === b[b.length - end - 1]) end++;
  const [one, other] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  if (Math.ceil(one.length / 32) * other.length > MAX_STEPS) return undefined;
  const words = new Set(other);
  const shared = [...new Set(one)].filter((word) => words.has(word));
  // The package compares code units, and the steps allow for fewer words than there are. Words of one text alone are
  // equal to none, so they share one.
  const units = new Map(shared.map((word, index) => [word, String.fromCharCode(index)]));
  const coded = (list: readonly string[], unshared: string) =>
    list.map((word) => units.get(word) ?? unshared).join("");
  return distance(coded(one, "\ufffe"), coded(other, "\uffff"));
}

/** The JSON value in an answer: all of it, or that of its first fenced block that holds one. */
export function jsonIn(answer: string): unknown {
  for (const text of [answer, ...fencedBlocks(answer)]) {
    const value = tryParseJson(text);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The JSON value that an answer consists of, fenced or not. A block beside other text may be quoted from elsewhere. */
export function onlyJsonIn(answer: string): unknown {
  const lines = answer.trim().split(/\r?\n/);
  const isFenced = lines[0]?.startsWith("```") === true && lines.at(-1)?.trim() === "```";
  return tryParseJson((isFenced ? lines.slice(1, -1) : lines).join("\n"));
}

/** The contents of the fenced blocks of a Markdown text; the last one may be open. */
function fencedBlocks(text: string): string[] {
  const blocks: string[][] = [];
  let open: string[] | undefined;
  for (const line of text.split(/\r?\n/)) {
    const fence = /^ {0,3}```(.*)$/.exec(line);
    if (fence && open) open = undefined;
    else if (fence) blocks.push((open = []));
    else open?.push(line);
  }
  return blocks.map((lines) => lines.join("\n"));
}
