import { CliError, usage } from "../../errors.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { parseDuration } from "../../lib/numbers.ts";
import { commandLine } from "../../lib/command-line.ts";
import { parseJson } from "../../lib/json.ts";

// A character class of a pattern may contain a slash.
const PATTERN = /\/((?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\[])+)\/(\w*)/sy;
const QUOTED = /"((?:\\.|[^"\\])*)"|'([^']*)'/sy;
const WORD = /[<>=!]+|[^\s"'<>=!]+/y;
/** In parentheses, a word ends at the closing one. */
const NESTED_WORD = /[<>=!]+|[^\s"'<>=!)]+/y;
const NAME = /[\p{L}_][\p{L}\p{N}_.@-]*/uy;
const OPERATOR = />=|<=|!=|!~|[<>=~]/y;
/** Each one takes a part of the stack. */
const MAX_DEPTH = 100;
const CONNECTIVE = /(?:and|or)(?=[\s(]|$)/iy;

export const operators = [">=", "<=", "!=", "!~", ">", "<", "=", "~"] as const;
export type Operator = (typeof operators)[number];

/** The value of a comparison as it is written, and its position. */
export interface Written {
  readonly text: string;
  readonly at: number;
}

/**
 * Reads a condition from left to right. Every method throws `usage` with the position of a mistake.
 *
 *     took at most 30s    oneOf(["took", …]) → "took", oneOf(["at most", …]), seconds() → 30
 */
export class ConditionReader {
  private readonly condition: string;
  private readonly source: string;
  /** The hint of errors without a better one. */
  private readonly hint: string;
  /** The words with which a condition can begin. */
  private readonly firstWords: Readonly<Record<"fields" | "sentences", readonly string[]>>;
  private position = 0;
  private depth = 0;

  constructor(
    source: string,
    condition: string,
    hint = `run ${commandLine("wf help", ["conditions"])} for the syntax`,
    firstWords: ConditionReader["firstWords"] = { fields: [], sentences: [] },
  ) {
    this.source = source;
    this.condition = condition;
    this.hint = hint;
    this.firstWords = firstWords;
  }

  /** The position of the next character, from 0. */
  get at(): number {
    return this.position;
  }

  /** Reads one of the phrases. `otherwise` is the error if not even the first word of one comes next. */
  oneOf<P extends string>(
    phrases: readonly P[],
    otherwise?: { readonly problem: string; readonly hint: string | undefined },
  ): P {
    const found = this.takes(...phrases);
    if (found !== undefined) return found;
    const matching = phrases.map((phrase) => this.matching(phrase));
    const furthest = Math.max(...matching);
    const possible = phrases.filter((_, index) => matching[index] === furthest);
    const words = [...new Set(possible.map((phrase) => phrase.split(" ")[furthest] ?? ""))];
    for (let read = 0; read < furthest; read++) this.word();
    const list = words.length === 1 ? String(words[0]) : `one of ${words.join(", ")}`;
    this.skipBlanks();
    const at = this.position;
    const wrong = this.word();
    const near = wrong && didYouMean(wrong.toLowerCase(), words);
    const hint = near ? `did you mean ${near}?` : undefined;
    if (otherwise && furthest === 0)
      throw this.error(at, otherwise.problem, hint ?? otherwise.hint);
    throw wrong === undefined
      ? this.missing(list)
      : this.error(at, `${wrong} is not ${list}`, hint);
  }

  /** Reads the longest of the phrases that comes next, if one does. */
  takes<P extends string>(...phrases: readonly P[]): P | undefined {
    const found = phrases
      .filter((phrase) => this.matching(phrase) === phrase.split(" ").length)
      .sort((a, b) => b.length - a.length)[0];
    for (const _ of found?.split(" ") ?? []) this.word();
    return found;
  }

  private matching(phrase: string): number {
    const start = this.position;
    const words = phrase.split(" ");
    const other = words.findIndex((word) => this.word()?.toLowerCase() !== word);
    this.position = start;
    return other < 0 ? words.length : other;
  }

  /** Reads `and`, `or` or `not` if it comes next. */
  takesConnective(word: "and" | "or" | "not"): boolean {
    return this.read(new RegExp(`${word}(?=[\\s(]|$)`, "iy")) !== undefined;
  }

  /** Reads the content of parentheses if one opens next. */
  inParentheses<T>(content: () => T): T | undefined {
    if (!this.read(/\(/y)) return undefined;
    if (++this.depth > MAX_DEPTH)
      throw this.error(this.position - 1, `more than ${MAX_DEPTH} parentheses`);
    const result = content();
    if (!this.read(/\)/y)) throw this.missing("a closing parenthesis");
    this.depth--;
    return result;
  }

  /** Reads the name of a field or the first word of a sentence, and returns where it starts. */
  fieldName(): Written {
    const text = this.read(NAME)?.[0];
    if (text === undefined) throw this.error(this.position, "missing name");
    return { text, at: this.position - text.length };
  }

  /** Reads the operator of a comparison if one comes next. */
  operator(): { readonly operator: Operator; readonly at: number } | undefined {
    const operator = this.read(OPERATOR)?.[0] as Operator | undefined; // the pattern has no others
    return operator && { operator, at: this.position - operator.length };
  }

  /** Reads the value of a comparison: a text in quotes, or all before a further condition. */
  value(): Written {
    this.skipBlanks();
    const at = this.position;
    if (!this.read(/"[^"]*"|'[^']*'/y) || !this.isAtEnd()) {
      const rest = this.condition.slice(at);
      const ends = [rest.search(this.nextCondition()), this.depth > 0 ? rest.indexOf(")") : -1];
      this.position = at + Math.min(...ends.map((end) => (end < 0 ? rest.length : end)));
    }
    return { text: this.condition.slice(at, this.position).trim(), at };
  }

  /**
   * A connective with what begins a condition. A connective with any other text belongs to a value
   * without quotes: `error~read and write`.
   */
  private nextCondition(): RegExp {
    const { fields, sentences } = this.firstWords;
    const begin = [
      `${NAME.source}\\s*(?:[<>=~]|![=~])`,
      `(?:${fields.join("|")})\\s+(?:is|contains|matches|exists|does|at|less|more|exactly)\\b`,
      ...sentences.map((word) => `${word}\\s+\\S`),
    ];
    return new RegExp(`(?<=\\s)(?:and|or)\\s+(?:not\\s+|\\(\\s*)*(?:${begin.join("|")})`, "iu");
  }

  isQuoted(): boolean {
    return /^\s*["']/.test(this.condition.slice(this.position));
  }

  /** Reads a quoted string. */
  text(what = "a text in quotes"): string {
    const match = this.read(QUOTED);
    if (!match && this.isQuoted()) throw this.error(this.position, "missing closing quote");
    if (!match) throw this.missing(what);
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
    return this.word() ?? this.text("a name");
  }

  /** Reads a path: a quoted string, or one word before an operator. */
  path(): string {
    return this.read(/[^\s"'<>=!~)]+/y)?.[0] ?? this.text("a name");
  }

  count(): number {
    return this.numeric("a whole number", /^\d+$/);
  }

  /** Reads `30s`, `1m30s` or `2.5` in seconds. */
  seconds(): number {
    const from = this.position;
    const ms = parseDuration(this.word() ?? "");
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

  /** Reads a JSON value. */
  json(): unknown {
    if (this.isAtEnd()) throw this.missing("a value");
    if (this.condition[this.position] === "'") return this.text();
    const start = this.position;
    try {
      return parseJson(this.jsonText());
    } catch {
      throw this.error(start, "invalid JSON value", 'put texts in quotes: is "yes"');
    }
  }

  private jsonText(): string {
    const start = this.position;
    let open = 0;
    let token: RegExpExecArray | undefined;
    do {
      token = this.read(/"(?:\\.|[^"\\])*"|([[{])|([\]}])|[^\s"[\]{})]+/sy);
      if (token?.[1] !== undefined) open++;
      if (token?.[2] !== undefined) open--;
    } while (token && open > 0);
    return this.condition.slice(start, this.position);
  }

  /** Whether the condition, or its part before a connective or a parenthesis, ends here. */
  isAtEnd(): boolean {
    this.skipBlanks();
    if (this.position === this.condition.length) return true;
    CONNECTIVE.lastIndex = this.position;
    if (CONNECTIVE.test(this.condition)) return true;
    return this.depth > 0 && this.condition[this.position] === ")";
  }

  /** Throws if text is left. */
  end(): void {
    this.skipBlanks();
    if (this.position < this.condition.length)
      throw this.error(this.position, "unexpected text after the sentence");
  }

  /** The error for a mistake at a position from 0. */
  error(position: number, problem: string, hint = this.hint): CliError {
    const place = `${this.source} ${JSON.stringify(this.condition)}, position ${position + 1}`;
    return usage(`${place}: ${problem}`, hint);
  }

  private missing(what: string): CliError {
    this.skipBlanks();
    const word = /^\S+/.exec(this.condition.slice(this.position))?.[0];
    const problem = word === undefined ? `${what} is missing` : `${word} is not ${what}`;
    return this.error(this.position, problem);
  }

  private skipBlanks(): void {
    while (/\s/.test(this.condition[this.position] ?? "")) this.position++;
  }

  /** Reads what the expression matches here, after blanks. */
  private read(expression: RegExp): RegExpExecArray | undefined {
    this.skipBlanks();
    expression.lastIndex = this.position;
    const match = expression.exec(this.condition) ?? undefined;
    if (match) this.position += match[0].length;
    return match;
  }

  private word(): string | undefined {
    return this.read(this.depth > 0 ? NESTED_WORD : WORD)?.[0];
  }

  private numeric(what: string, form: RegExp): number {
    const from = this.position;
    const word = this.word();
    if (word !== undefined && form.test(word)) return Number(word);
    this.position = from;
    throw this.missing(what);
  }
}
