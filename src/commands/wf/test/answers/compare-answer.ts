import { usage } from "../../../../errors.ts";
import { diffJson, fromDifference } from "../../../../lib/formats/json-diff.ts";
import { tryParseJson } from "../../../../lib/json.ts";
import { counted } from "../../../../lib/text.ts";
import { matches, parseValue } from "../../../conditions/index.ts";
import { quoted } from "../../expect/index.ts";
import { jsonIn } from "./json-answer.ts";
import type { CompareMode, SuiteTurn } from "../file/index.ts";
import { compareWords } from "./similarity.ts";

/** How an answer compares with one expected answer. */
interface Compared {
  readonly passed: boolean;
  /** What differs, on one line with the answer's text in quotes. */
  readonly actual: string;
  /** From 0 to 1, of `similar` only. */
  readonly score?: number;
}

/** Compares an answer with one expected answer. */
type Comparison = (answer: string) => Compared;

/** Expected answers, at least one, with the way to compare them. */
export interface ExpectedAnswer extends Pick<SuiteTurn, "answer" | "similarity" | "from"> {
  readonly compare: CompareMode;
}

/** What an answer is compared with. */
export interface AnswerComparison {
  /** The expectation as a sentence. */
  readonly check: string;
  /**
   * Compares with each expected answer; the best result is that of the check. Calls `pause` before
   * each, since one may take a second.
   */
  compare(answer: string, pause: () => Promise<void>): Promise<Compared>;
}

/** Prepares the comparison. Throws `usage` with the line for an expected answer that is not of its kind. */
export function openComparison(expected: ExpectedAnswer): AnswerComparison {
  const { answer: texts, compare: mode, similarity } = expected;
  const comparisons = texts.map((text) => modes[mode].open(text, expected));
  const limit = mode === "similar" ? ` (at least ${similarity})` : "";
  return {
    check: `${modes[mode].check} ${listed(texts.map((text) => modes[mode].shown(text)))}${limit}`,
    async compare(answer, pause) {
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
  similar: {
    check: "answer is similar to",
    shown: quoted,
    open: (text, { similarity }) => isSimilar(text, similarity),
  },
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
    const first = differences.slice(0, MAX_LISTED).map(({ path, a, b }) => {
      const place = path === "" ? "it" : quoted(path);
      return `${place} is ${quoted(a)} instead of ${quoted(b)}`;
    });
    const more = differences.length - first.length;
    return {
      passed: false,
      actual: [...first, ...(more > 0 ? [counted(more, "more difference")] : [])].join(", "),
    };
  };
}

/** JSON on one line, shortened like other texts. */
function compact(text: string): string {
  const value = tryParseJson(text);
  return typeof value === "string" ? quoted(value) : quoted(value).replaceAll(/\s+/g, " ");
}

const isSimilar =
  (expected: string, least: number): Comparison =>
  (answer) => {
    const { similarity: score, difference } = compareWords(answer, expected);
    if (score === undefined)
      return { passed: false, actual: "both texts are too long to be compared" };
    const passed = score >= least;
    const figure = `similarity ${Math.floor(score * 1000 + 1e-9) / 1000}`;
    if (!difference) return { passed, score, actual: figure };
    const { word, one, other } = difference;
    const [here, there] = [one, other].map((words) => (words === "" ? "the end" : quoted(words)));
    return { passed, score, actual: `${figure}; from word ${word} ${here} instead of ${there}` };
  };
