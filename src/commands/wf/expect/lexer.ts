import { CliError, usage } from "../../../errors.ts";
import { didYouMean } from "../../../lib/did-you-mean.ts";
import { parseDuration } from "../../../lib/duration.ts";

// A character class of a pattern may contain a slash.
const PATTERN = /\/((?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\[])+)\/(\w*)/sy;
const QUOTED = /"((?:\\.|[^"\\])*)"|'([^']*)'/sy;
const WORD = /[<>=!]+|[^\s"'<>=!]+/y;

/** A word of the sentence with its position. */
interface Token {
  readonly word: string;
  readonly from: number;
  readonly to: number;
}

/**
 * Reads a sentence from left to right. Every method throws `usage` with the position of a mistake.
 *
 *     run took at most 30s    phrase("run", …) → "run", phrase("took at most", …), seconds() → 30
 */
export class SentenceReader {
  private readonly sentence: string;
  /** The source of the sentence in errors, such as `--expect`. */
  private readonly source: string;
  private position = 0;

  constructor(sentence: string, source: string) {
    this.sentence = sentence;
    this.source = source;
  }

  /** Reads one of the phrases. */
  oneOf<P extends string>(...phrases: readonly P[]): P {
    const { match, words: matched } = this.longest(phrases);
    if (match !== undefined) return match;
    const typed = this.ahead(matched).map(({ word }) => word.toLowerCase());
    const possible = phrases
      .map((phrase) => phrase.split(" "))
      .filter((words) => typed.every((word, index) => words[index] === word))
      .map((words) => words[matched] ?? "");
    const words = [...new Set(possible)];
    const list = words.length === 1 ? String(words[0]) : `one of ${words.join(", ")}`;
    const wrong = this.ahead(matched + 1)[matched];
    if (wrong === undefined) {
      this.position = this.ahead(matched).at(-1)?.to ?? this.position;
      throw this.missing(list);
    }
    const near = didYouMean(wrong.word.toLowerCase(), words);
    const hint = near === undefined ? undefined : `did you mean ${near}?`;
    throw this.error(wrong.from, `${wrong.word} is not ${list}`, hint);
  }

  /** Reads one of the phrases; undefined at the end of the sentence. */
  maybe<P extends string>(...phrases: readonly P[]): P | undefined {
    return this.isAtEnd() ? undefined : this.oneOf(...phrases);
  }

  /** Reads the phrase if it comes next. */
  takes(phrase: string): boolean {
    return this.longest([phrase]).match !== undefined;
  }

  isQuoted(): boolean {
    return /^\s*["']/.test(this.sentence.slice(this.position));
  }

  /** Reads a quoted string. */
  text(what = "a text in quotes"): string {
    const match = this.read(QUOTED);
    if (!match) {
      throw this.isQuoted()
        ? this.error(this.position, "missing closing quote")
        : this.missing(what);
    }
    const [whole, double, single = ""] = match;
    if (double === undefined) return single;
    try {
      // A string may contain line breaks as they are.
      const inner = double.replace(/[\n\r\t]/g, (blank) => JSON.stringify(blank).slice(1, -1));
      return JSON.parse(`"${inner}"`) as string;
    } catch {
      throw this.error(
        this.position - whole.length,
        'invalid escape sequence; in double quotes use \\\\, \\", \\n, \\t or \\uXXXX',
      );
    }
  }

  /** Reads a quoted string or one word. */
  name(): string {
    return this.read(WORD)?.[0] ?? this.text("a name");
  }

  count(): number {
    return this.numeric("a whole number", /^\d+$/);
  }

  number(): number {
    return this.numeric("a number", /^-?\d+(\.\d+)?$/);
  }

  /** Reads `30s`, `1m30s` or `2.5` in seconds. */
  seconds(): number {
    const from = this.position;
    const ms = parseDuration(this.read(WORD)?.[0] ?? "");
    if (ms !== undefined) return ms / 1000;
    this.position = from;
    return this.numeric("a duration such as 30s or 1m30s", /^\d+(\.\d+)?$/);
  }

  /** Reads a pattern such as `/refund/i`. */
  pattern(): RegExp {
    const match = this.read(PATTERN);
    if (!match) throw this.missing("a pattern such as /refund/i");
    const [whole, source = "", flags = ""] = match;
    const from = this.position - whole.length;
    const wrong = /[^imsuv]/.exec(flags);
    if (wrong) {
      const at = this.position - flags.length + wrong.index;
      throw this.error(at, "invalid flag of a pattern; use i, m, s, u or v");
    }
    try {
      return new RegExp(source, flags);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message.split(": ").at(-1) : "";
      throw this.error(from, `invalid pattern: ${reason}`);
    }
  }

  /** Reads the rest of the sentence as JSON. */
  json(): unknown {
    if (this.isAtEnd()) throw this.missing("a value");
    if (this.sentence[this.position] === "'") return this.text();
    try {
      const value: unknown = JSON.parse(this.sentence.slice(this.position));
      this.position = this.sentence.length;
      return value;
    } catch {
      throw this.error(this.position, "invalid JSON value", 'put texts in quotes: is "yes"');
    }
  }

  isAtEnd(): boolean {
    this.skipBlanks();
    return this.position === this.sentence.length;
  }

  /** Throws if text is left. */
  end(): void {
    if (!this.isAtEnd()) throw this.error(this.position, "unexpected text after the sentence");
  }

  private error(position: number, problem: string, hint?: string): CliError {
    const place = `${this.source} ${JSON.stringify(this.sentence)}, position ${position + 1}`;
    return usage(`${place}: ${problem}`, hint ?? "run `wf help expect` for the syntax");
  }

  private missing(what: string): CliError {
    this.skipBlanks();
    const word = /^\S+/.exec(this.sentence.slice(this.position))?.[0];
    const problem = word === undefined ? `${what} is missing` : `${word} is not ${what}`;
    return this.error(this.position, problem);
  }

  private skipBlanks(): void {
    while (/\s/.test(this.sentence[this.position] ?? "")) this.position++;
  }

  /** Reads what the expression matches here, after blanks. */
  private read(expression: RegExp): RegExpExecArray | undefined {
    this.skipBlanks();
    expression.lastIndex = this.position;
    const match = expression.exec(this.sentence) ?? undefined;
    if (match) this.position += match[0].length;
    return match;
  }

  /** The next words, at most `max`, without reading them. */
  private ahead(max: number): Token[] {
    const start = this.position;
    const tokens: Token[] = [];
    while (tokens.length < max) {
      const word = this.read(WORD)?.[0];
      if (word === undefined) break;
      tokens.push({ word, from: this.position - word.length, to: this.position });
    }
    this.position = start;
    return tokens;
  }

  /** Reads the longest phrase that comes next; otherwise returns how many words of one match. */
  private longest<P extends string>(
    phrases: readonly P[],
  ): { readonly match?: P; readonly words: number } {
    const typed = this.ahead(Math.max(...phrases.map((phrase) => phrase.split(" ").length)));
    let furthest = 0;
    for (const match of phrases.toSorted((a, b) => b.length - a.length)) {
      const words = match.split(" ");
      const other = words.findIndex((word, index) => typed[index]?.word.toLowerCase() !== word);
      if (other < 0) {
        this.position = typed[words.length - 1]?.to ?? this.position;
        return { match, words: words.length };
      }
      furthest = Math.max(furthest, other);
    }
    return { words: furthest };
  }

  private numeric(what: string, form: RegExp): number {
    const from = this.position;
    const word = this.read(WORD)?.[0];
    if (word !== undefined && form.test(word)) return Number(word);
    this.position = from;
    throw this.missing(what);
  }
}
