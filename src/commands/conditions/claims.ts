import { isDeepStrictEqual } from "node:util";
import { Script } from "node:vm";
import { isNumeric, isSameValue, compareNumbers, typedNumber } from "../../lib/exact-number.ts";
import type { Numeric } from "../../lib/exact-number.ts";
import { secondsMeant, spanOf, type SecondRange } from "../../lib/times.ts";
import { parseDuration } from "../../lib/numbers.ts";
import { tryParseJson, valueAt, stringifyJson } from "../../lib/json.ts";
import type { ConditionReader, Operator } from "./reader.ts";

/** Type of a field: a number, seconds, a share from 0 to 1, Unix seconds, text, or any JSON value. */
export type FieldKind = "number" | "seconds" | "share" | "time" | "text" | "any";

/** The state of a field. */
export interface Reading {
  /** Undefined if it does not exist or is unknown. */
  readonly value: unknown;
  /** Without a value: whether even that is unknown, or whether nothing differs from every value. */
  readonly missing?: "unknown" | "differs" | undefined;
  /** Why the existing value cannot be compared. */
  readonly hidden?: string | undefined;
  /** The state on one line, with server text in quotes. */
  readonly actual: string;
}

/** The result of a check; `passed` is undefined if it cannot be decided. */
export interface Result {
  readonly passed: boolean | undefined;
  /** The actual state, on one line with server text in quotes. */
  readonly actual: string;
  /** The measured duration. */
  readonly seconds?: number | undefined;
}

/** A claim about a field. */
export interface Claim {
  readonly evaluate: (reading: Reading) => Result;
  /** The value that the field must have, if it is a single one. */
  readonly equals?: unknown;
}

/** Whether a value meets a claim; a text is the reason why that cannot be decided. */
type Test = (value: unknown, actual: string) => boolean | string;

const claim = (test: Test, negated = false): Claim => ({
  evaluate({ value, missing, hidden, actual }) {
    if (hidden !== undefined) return { passed: undefined, actual: hidden };
    if (value === undefined) return { passed: missing === "differs" ? negated : undefined, actual };
    const met = test(value, actual);
    if (typeof met === "string") return { passed: undefined, actual: met };
    return { passed: met !== negated, actual };
  },
});

const exists = (expected: boolean): Claim => ({
  evaluate({ value, missing, actual }) {
    const unknown = value === undefined && missing === "unknown";
    return { passed: unknown ? undefined : (value !== undefined) === expected, actual };
  },
});

/** Claims that a number or a numeric text is within a limit. */
export const isWithin = (limit: Limit): Claim =>
  claim((value, actual) => {
    const number = numericIn(value);
    return number === undefined ? `${actual}, not a number` : meetsLimit(limit, number);
  });

const numericIn = (value: unknown): Numeric | undefined =>
  isNumeric(value) ? value : typedNumber(typeof value === "string" ? value : "");

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : stringifyJson(value);

const isSameJson = (one: unknown, other: unknown): boolean =>
  isSameValue(one, other) || isDeepStrictEqual(one, other);

export const equals = (expected: unknown, negated = false): Claim => ({
  ...claim((value) => isSameJson(value, expected), negated),
  ...(!negated && { equals: expected }),
});

/** A JSON value in a text: all of it, or from its first opening to its last closing bracket. */
function holdsJson(value: unknown): boolean {
  if (typeof value !== "string") return true;
  const end = Math.max(value.lastIndexOf("}"), value.lastIndexOf("]")) + 1;
  const inner = value.slice(value.search(/[[{]/), end);
  return [value, inner].some((each) => tryParseJson(each) !== undefined);
}

const contains = (part: string, negated = false): Claim =>
  claim((value) => textOf(value).includes(part), negated);

/** Maximum number of characters to search, and maximum duration of a search. */
const MAX_SEARCHED = 64 * 1024;
const SEARCH_TIMEOUT_MS = 1000;
const script = new Script("work()");

/** The result of work with patterns, of which some take exponential time; undefined after a second. */
export function withinSecond<T>(work: () => T): T | undefined {
  try {
    // Only the timeout of a script can stop a regular expression.
    return script.runInNewContext({ work }, { timeout: SEARCH_TIMEOUT_MS }) as T;
  } catch (error) {
    // The error comes from the script's context, which has its own Error class.
    if (valueAt(error, "code") === "ERR_SCRIPT_EXECUTION_TIMEOUT") return undefined;
    throw error;
  }
}

/** Searches for a pattern in the first 64 Ki characters. */
export const matches = (pattern: RegExp, negated = false): Claim =>
  claim((value) => {
    const text = textOf(value);
    const start = text.slice(0, MAX_SEARCHED);
    const isMatch = withinSecond(() => pattern.test(start));
    if (isMatch === undefined) return `${pattern} timed out after ${SEARCH_TIMEOUT_MS} ms`;
    if (isMatch || start.length === text.length) return isMatch;
    return `no match in the first ${MAX_SEARCHED} of ${text.length} characters; the rest is not searched`;
  }, negated);

/** A field that a condition names. */
export interface NamedField {
  readonly name: string;
  readonly kind: FieldKind;
}

const examples = {
  number: ">10",
  seconds: ">20s",
  share: ">2%",
  time: ">=2026-05-01",
  text: "=word",
  any: undefined,
};

/** A hint with a comparison of the field. */
export const exampleOf = ({ name, kind }: NamedField): string | undefined =>
  examples[kind] && `example: '${name}${examples[kind]}'`;

/** Reads the value of a comparison. Throws `usage` if the field has other operators or values. */
export function readComparison(
  reader: ConditionReader,
  field: NamedField,
  { operator, at }: { readonly operator: Operator; readonly at: number },
): Claim {
  const { name, kind } = field;
  const hint = exampleOf(field);
  const isOrder = operator in comparisons && operator !== "=";
  if (kind === "text" && isOrder)
    throw reader.error(at, `${name} is text; valid operators: = != ~ !~`, hint);
  if (kind !== "text" && kind !== "any" && operator.endsWith("~"))
    throw reader.error(
      at,
      `${name} is a ${kind === "time" ? "time" : "number"}; valid operators: > >= < <= = !=`,
      hint,
    );

  const written = reader.value();
  const negated = operator.startsWith("!");
  if (operator.endsWith("~")) {
    const part = unquoted(written.text).toLowerCase();
    return claim((value) => textOf(value).toLowerCase().includes(part), negated);
  }
  if (!isOrder && (kind === "text" || kind === "any")) {
    const text = unquoted(written.text);
    const json = kind === "any" ? tryParseJson(text) : undefined;
    const test = (value: unknown) => textOf(value) === text || isSameJson(value, json);
    return { ...claim(test, negated), ...(!negated && { equals: text }) };
  }
  if (kind === "time") {
    const span = spanOf(unquoted(written.text));
    if (!span) {
      const meant = secondsMeant(unquoted(written.text));
      const other =
        meant === undefined ? hint : `times are in seconds: '${name}${operator}${meant}'`;
      throw reader.error(written.at, "invalid time; valid: 2026-05-01, 2026-05-01T10:00Z", other);
    }
    const order = isOrder ? (operator as Limit["operator"]) : "=";
    return claim((value) => meetsSpan(order, span, Number(value)), negated);
  }
  const number = numberIn(written.text, kind);
  if (typeof number === "string") throw reader.error(written.at, number, hint);
  if (negated) return claim((value) => isSameValue(numericIn(value), number), true);
  return isWithin({ operator: operator as Limit["operator"], value: number });
}

const unquoted = (text: string): string => /^(["'])(.*)\1$/s.exec(text)?.[2] ?? text;

function numberIn(text: string, kind: FieldKind): Numeric | string {
  const isNumber = /^-?\d+(\.\d+)?$/.test(text);
  const number = isNumber ? Number(text) : undefined;
  if (kind === "seconds") {
    const ms = parseDuration(text);
    return number ?? (ms === undefined ? "invalid duration; valid: 20s, 1m30s" : ms / 1000);
  }
  if (kind === "share") {
    const percent = /^(\d+(?:\.\d+)?)%$/.exec(text)?.[1];
    if (percent !== undefined) return Number(percent) / 100;
    if (number === undefined) return "invalid share; valid: 2%, 0.02";
    return number > 1 || number < 0 ? "a share is at most 1; valid: 2%, 0.02" : number;
  }
  const exact = isNumber ? typedNumber(text) : undefined;
  return exact ?? (kind === "any" ? `${text} is not a number` : "invalid number");
}

/** What a sentence can say about a field. */
export const claimForms: Forms<Claim, NamedField> = {
  exists: () => exists(true),
  "does not exist": () => exists(false),
  "is JSON": (reader) => equals(reader.json()),
  "is not JSON": (reader) => equals(reader.json(), true),
  "is valid json": () =>
    claim((value) => typeof value !== "string" || tryParseJson(value) !== undefined),
  "contains json": () => claim(holdsJson),
  'contains "text"': (reader) => contains(reader.text()),
  'does not contain "text"': (reader) => contains(reader.text(), true),
  "matches /pattern/i": (reader) => matches(reader.pattern()),
  "does not match /pattern/i": (reader) => matches(reader.pattern(), true),
  "at least|at most|exactly|less than|more than VALUE": (reader, field, phrase) =>
    readComparison(reader, field, {
      operator: bounds[phrase as keyof typeof bounds], // the phrases of the pattern
      at: reader.at - phrase.length,
    }),
};

/** The comparisons by their operators, of the order of two numbers. */
export const comparisons = {
  ">=": (order: number) => order >= 0,
  "<=": (order: number) => order <= 0,
  ">": (order: number) => order > 0,
  "<": (order: number) => order < 0,
  "=": (order: number) => order === 0,
} as const;

/** The comparisons in words. */
export const bounds = {
  "at least": ">=",
  "at most": "<=",
  exactly: "=",
  "less than": "<",
  "more than": ">",
} as const satisfies Readonly<Record<string, keyof typeof comparisons>>;

const boundPhrases = Object.keys(bounds) as (keyof typeof bounds)[]; // the keys of a constant

/** A number with its comparison: `at most 3`. */
export interface Limit {
  readonly operator: keyof typeof comparisons;
  readonly value: Numeric;
}

export const meetsLimit = ({ operator, value }: Limit, actual: Numeric): boolean =>
  comparisons[operator](compareNumbers(actual, value));

/** Compares a second with a span: `>` is after all of it, `>=` not before it, `=` within it. */
const meetsSpan = (
  operator: Limit["operator"],
  { first, last }: SecondRange,
  second: number,
): boolean =>
  operator === "="
    ? second >= first && second <= last
    : comparisons[operator](second - (operator === ">" || operator === "<=" ? last : first));

/** Reads `at most 30s`. */
export const readDuration = (reader: ConditionReader): Limit => ({
  operator: bounds[reader.oneOf(boundPhrases)],
  value: reader.seconds(),
});

/** Reads `within 30s`, or nothing. */
export function readTimeLimit(reader: ConditionReader): Limit | undefined {
  if (reader.isAtEnd()) return undefined;
  reader.oneOf(["within"]);
  return { operator: "<=", value: reader.seconds() };
}

/** Reads `at most 3`, or `3` for exactly three. */
export function readAmount(reader: ConditionReader): Limit {
  const bound = reader.takes(...boundPhrases) ?? "exactly";
  return { operator: bounds[bound], value: reader.count() };
}

/** Reads what follows the first words of a sentence about a subject. */
type Form<R, S> = (reader: ConditionReader, subject: S, phrase: string) => R;

/**
 * Forms of a sentence by their patterns, which the help shows. A pattern begins with lower-case words,
 * where `|` separates phrases, and then shows what the function of the form reads:
 *
 *     "failed|did not run [within TIME]"    begins with "failed" or "did not run"
 */
export type Forms<R, S = undefined> = Readonly<Record<string, Form<R, S>>>;

const phrasesOf = (pattern: string): string[] =>
  (/^[a-z|-]+(?: [a-z|-]+)*/.exec(pattern)?.[0] ?? "").split("|");

/** Reads one of the forms. `otherwise` is the error if none begins here. */
export function readForm<R, S>(
  reader: ConditionReader,
  forms: Forms<R, S>,
  subject: S,
  otherwise?: { readonly problem: string; readonly hint: string | undefined },
): R {
  const byPhrase = new Map(
    Object.entries(forms).flatMap(([pattern, form]) =>
      phrasesOf(pattern).map((phrase) => [phrase, form]),
    ),
  );
  const phrase = reader.oneOf([...byPhrase.keys()], otherwise);
  const form = byPhrase.get(phrase) as Form<R, S>; // one of its keys
  return form(reader, subject, phrase);
}
