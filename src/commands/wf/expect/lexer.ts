import { parseDuration } from "../../../lib/duration.ts";
import { CliError } from "../../../errors.ts";
import { didYouMean } from "../../../lib/did-you-mean.ts";

/** Reads a sentence from left to right; what does not fit is a usage error with its position. */
export interface Words {
  /** The phrase that comes next, of these. */
  oneOf<P extends string>(...phrases: readonly P[]): P;
  /** The same, or undefined at the end of the sentence. */
  maybe<P extends string>(...phrases: readonly P[]): P | undefined;
  /** Does the phrase come next? Reads it if so. */
  takes(phrase: string): boolean;
  isQuoted(): boolean;
  /** Text in quotes. */
  text(): string;
  /** Text in quotes, or one word. */
  name(): string;
  count(): number;
  number(): number;
  /** Seconds of `30s`, `1m30s` or `2.5`. */
  seconds(): number;
  /** `/refund/i` */
  pattern(): RegExp;
  /** The rest of the sentence as JSON. */
  json(): unknown;
  isAtEnd(): boolean;
  /** Throws when something is left. */
  end(): void;
}

// A class of a pattern may hold a slash.
const patternForm = /\/((?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\[])+)\/(\w*)/sy;
const quotedForm = /"((?:\\.|[^"\\])*)"|'([^']*)'/sy;
const wordForm = /[<>=!]+|[^\s"'<>=!]+/y;

/** `where`: what stands before the sentence in errors, such as `--expect`. */
export function wordsOf(sentence: string, where: string): Words {
  let at = 0;

  const fail = (from: number, problem: string, hint?: string) =>
    new CliError(
      "usage",
      `${where} ${JSON.stringify(sentence)}, position ${from + 1}: ${problem}`,
      {
        sideEffect: "none",
        hint: hint ?? "`wf help expect` lists what can be expected",
      },
    );
  const skipBlanks = () => {
    while (/\s/.test(sentence[at] ?? "")) at++;
  };
  /** What the form matches here, after blanks. */
  const next = (form: RegExp): RegExpExecArray | undefined => {
    skipBlanks();
    form.lastIndex = at;
    return form.exec(sentence) ?? undefined;
  };
  const read = (form: RegExp): RegExpExecArray | undefined => {
    const found = next(form);
    if (found) at += found[0].length;
    return found;
  };
  const missing = (what: string) => {
    skipBlanks();
    const found = /^\S+/.exec(sentence.slice(at))?.[0];
    return fail(at, found === undefined ? `${what} is missing` : `${found} is not ${what}`);
  };

  /** The words that come next, at most so many, with their places. */
  const ahead = (most: number) => {
    const start = at;
    const found: { word: string; from: number; to: number }[] = [];
    while (found.length < most) {
      const word = read(wordForm)?.[0];
      if (word === undefined) break;
      found.push({ word, from: at - word.length, to: at });
    }
    at = start;
    return found;
  };

  /** Reads the longest of the phrases that comes next, or says how many words of one did. */
  const phrase = <P extends string>(phrases: readonly P[]): P | number => {
    const typed = ahead(Math.max(...phrases.map((each) => each.split(" ").length)));
    let furthest = 0;
    for (const each of phrases.toSorted((a, b) => b.length - a.length)) {
      const words = each.split(" ");
      const other = words.findIndex((word, index) => typed[index]?.word.toLowerCase() !== word);
      if (other < 0) {
        at = typed[words.length - 1]?.to ?? at;
        return each;
      }
      furthest = Math.max(furthest, other);
    }
    return furthest;
  };

  const oneOf = <P extends string>(...phrases: readonly P[]): P => {
    const found = phrase(phrases);
    if (typeof found === "string") return found;
    const typed = ahead(found).map(({ word }) => word.toLowerCase());
    const words = [
      ...new Set(
        phrases
          .map((each) => each.split(" "))
          .filter((each) => typed.every((word, index) => each[index] === word))
          .map((each) => each[found] ?? ""),
      ),
    ];
    const list = words.length === 1 ? words[0] : `one of ${words.join(", ")}`;
    const wrong = ahead(found + 1)[found];
    if (wrong === undefined) {
      at = ahead(found).at(-1)?.to ?? at;
      throw missing(String(list));
    }
    const near = didYouMean(wrong.word.toLowerCase(), words);
    throw fail(
      wrong.from,
      `${wrong.word} is not ${list}`,
      near === undefined ? undefined : `did you mean ${near}?`,
    );
  };

  const isAtEnd = () => {
    skipBlanks();
    return at === sentence.length;
  };

  const text = (what = "a text in quotes"): string => {
    const found = read(quotedForm);
    if (!found) {
      const open = /^\s*["']/.test(sentence.slice(at));
      throw open ? fail(at, "missing closing quote") : missing(what);
    }
    const [whole, double, single = ""] = found;
    if (double === undefined) return single;
    try {
      // A line end may stand in a text as it is.
      const inner = double.replace(/[\n\r\t]/g, (blank) => JSON.stringify(blank).slice(1, -1));
      return JSON.parse(`"${inner}"`) as string;
    } catch {
      throw fail(at - whole.length, 'a backslash in double quotes stands before \\ " n t or uXXXX');
    }
  };

  const number = (what: string, form: RegExp): number => {
    const from = at;
    const word = read(wordForm)?.[0];
    if (word === undefined || !form.test(word)) {
      at = from;
      throw missing(what);
    }
    return Number(word);
  };

  return {
    oneOf,
    maybe: (...phrases) => (isAtEnd() ? undefined : oneOf(...phrases)),
    isAtEnd,
    takes: (each) => typeof phrase([each]) === "string",
    isQuoted: () => /^\s*["']/.test(sentence.slice(at)),
    text,
    name: () => read(wordForm)?.[0] ?? text("a name"),
    count: () => number("a whole number", /^\d+$/),
    number: () => number("a number", /^-?\d+(\.\d+)?$/),
    seconds() {
      const from = at;
      const word = read(wordForm)?.[0] ?? "";
      const ms = parseDuration(word);
      if (ms !== undefined) return ms / 1000;
      at = from;
      return number("a duration such as 30s or 1m30s", /^\d+(\.\d+)?$/);
    },
    pattern() {
      const found = read(patternForm);
      if (!found) throw missing("a pattern such as /refund/i");
      const [whole, source = "", flags = ""] = found;
      const from = at - whole.length;
      const wrong = /[^imsuv]/.exec(flags);
      if (wrong)
        throw fail(at - flags.length + wrong.index, "a pattern has the flags i, m, s, u, v");
      try {
        return new RegExp(source, flags);
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message.split(": ").at(-1) : "";
        throw fail(from, `the pattern is wrong: ${reason}`);
      }
    },
    json() {
      if (isAtEnd()) throw missing("a value");
      if (sentence[at] === "'") return text();
      try {
        const value: unknown = JSON.parse(sentence.slice(at));
        at = sentence.length;
        return value;
      } catch {
        throw fail(at, "this is no JSON value", 'texts stand in quotes: is "yes"');
      }
    },
    end() {
      if (!isAtEnd()) throw fail(at, "the sentence ends before this");
    },
  };
}
