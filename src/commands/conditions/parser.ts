import { didYouMean } from "../../lib/did-you-mean.ts";
import { own } from "../../lib/json.ts";
import {
  claimForms,
  equals,
  exampleOf,
  isWithin,
  readAmount,
  readComparison,
  readDuration,
  readForm,
  readTimeLimit,
} from "./claims.ts";
import type { Claim, FieldKind, Forms, Limit, Reading, Result } from "./claims.ts";
import { ConditionReader, operators } from "./reader.ts";

/** A field of a subject `T`, such as a run. */
export interface ConditionField<T> {
  readonly kind: FieldKind;
  readonly read: (subject: T) => Reading;
}

export type ConditionFields<T> = Readonly<Record<string, ConditionField<T>>>;

/** A check of a subject. */
export interface Check<T> {
  readonly evaluate: (subject: T) => Result;
  /** The fields that it reads, with the value that they must have if it names one. */
  readonly named: readonly { readonly field: string; readonly equals?: unknown }[];
}

/** What conditions can be about. */
export interface Scope<T> {
  readonly fields: ConditionFields<T>;
  /** Reads the rest of a sentence by its first word. */
  readonly sentences?: Readonly<Record<string, (reader: ConditionReader) => Check<T>>>;
  /** Reads a sentence that begins with a text in quotes, which is else the name of a field. */
  readonly quoted?: (reader: ConditionReader) => Check<T>;
}

/**
 * Parses a condition (`help conditions`): comparisons such as `p95>20s` and sentences, joined by `and`,
 * `or`, `not` and parentheses. Throws `usage` with the source and the position of a mistake.
 */
export function parseCondition<T>(source: string, text: string, scope: Scope<T>): Check<T> {
  const reader = new ConditionReader(source, text, hintFor(scope), {
    fields: Object.keys(scope.fields),
    sentences: Object.keys(scope.sentences ?? {}),
  });
  const check = readAlternatives(reader, scope);
  reader.end();
  return check;
}

/** Parses a single value of a condition, such as a duration. Throws `usage` like `parseCondition`. */
export function parseValue<R>(
  source: string,
  text: string,
  read: (reader: ConditionReader) => R,
): R {
  const reader = new ConditionReader(source, text);
  const value = read(reader);
  reader.end();
  return value;
}

/** An example with the first field, or the help if there are sentences, too. */
function hintFor<T>({ fields, sentences }: Scope<T>): string | undefined {
  const [first] = Object.entries(fields);
  return sentences || !first ? undefined : exampleOf({ name: first[0], kind: first[1].kind });
}

function readAlternatives<T>(reader: ConditionReader, scope: Scope<T>): Check<T> {
  const series = (word: "and" | "or", readPart: () => Check<T>) => {
    const parts = [readPart()];
    while (reader.takesConnective(word)) parts.push(readPart());
    return joined(parts, word === "or");
  };
  return series("or", () => series("and", () => readTerm(reader, scope)));
}

function readTerm<T>(reader: ConditionReader, scope: Scope<T>): Check<T> {
  let isNegated = false;
  while (reader.takesConnective("not")) isNegated = !isNegated;
  const check =
    reader.inParentheses(() => readAlternatives(reader, scope)) ?? readCheck(reader, scope);
  return isNegated ? negated(check) : check;
}

/**
 * Several checks of which one decides: a met one of `or`, a failed one of `and`. Without it, the result
 * is the opposite, or undecided if any part is.
 */
function joined<T>(parts: readonly Check<T>[], decisive: boolean): Check<T> {
  const [only, ...others] = parts;
  if (only && others.length === 0) return only;
  return {
    named: parts.flatMap(({ named }) => named),
    evaluate(subject) {
      const results = parts.map(({ evaluate }) => evaluate(subject));
      const passed = [decisive, undefined, !decisive].find((each) =>
        results.some((result) => result.passed === each),
      );
      const deciding = results.filter((result) => result.passed === passed);
      return { passed, actual: [...new Set(deciding.map(({ actual }) => actual))].join(", ") };
    },
  };
}

const negated = <T>({ evaluate, named }: Check<T>): Check<T> => ({
  named: named.map(({ field }) => ({ field })),
  evaluate(subject) {
    const result = evaluate(subject);
    return { ...result, passed: result.passed === undefined ? undefined : !result.passed };
  },
});

function readCheck<T>(reader: ConditionReader, scope: Scope<T>): Check<T> {
  const isQuoted = reader.isQuoted();
  if (scope.quoted && isQuoted) return scope.quoted(reader);
  const { text: name, at } = isQuoted ? { at: reader.at, text: reader.text() } : reader.fieldName();
  const sentence = isQuoted ? undefined : own(scope.sentences, name.toLowerCase());
  if (sentence) return sentence(reader);
  const field = own(scope.fields, name);
  if (field) return readFieldCheck(reader, name, field);
  // `outputs.answer`, as in programs that read JSON
  const [, path] = /^outputs?\.(.+)$/.exec(name) ?? [];
  if (path !== undefined && own(scope.sentences, "output"))
    throw reader.error(at, `unknown field ${name}`, `an output is named like this: output ${path}`);
  const [fields, starts] = [Object.keys(scope.fields), Object.keys(scope.sentences ?? {})];
  const near = didYouMean(name, [...starts, ...fields]);
  const sentences = starts.length === 0 ? "" : `; sentences begin with ${starts.join(", ")}`;
  const hint =
    near === undefined ? `valid fields: ${fields.join(", ")}${sentences}` : `did you mean ${near}?`;
  throw reader.error(at, `unknown field ${name}`, hint);
}

/** Reads what a condition says about a field: a comparison or a phrase. */
export function readFieldCheck<T>(
  reader: ConditionReader,
  name: string,
  field: ConditionField<T>,
): Check<T> {
  const named = { name, kind: field.kind };
  const operator = reader.operator();
  if (operator) return fieldCheck(name, field, readComparison(reader, named, operator));
  const problem = `missing operator: ${operators.join(" ")}`;
  const otherwise = { problem, hint: exampleOf(named) };
  return fieldCheck(name, field, readForm(reader, claimForms, named, otherwise));
}

/** The check of a claim about a field. */
function fieldCheck<T>(
  name: string,
  { kind, read }: ConditionField<T>,
  { evaluate, equals }: Claim,
): Check<T> {
  return {
    named: [{ field: name, equals }],
    evaluate(subject) {
      const reading = read(subject);
      const { value } = reading;
      const seconds = kind === "seconds" && typeof value === "number" ? value : undefined;
      return { ...evaluate(reading), seconds };
    },
  };
}

type RunFields<T> = Readonly<Record<"status" | "elapsed" | "tokens" | "steps", ConditionField<T>>>;

const isLimited = <T>(
  fields: RunFields<T>,
  name: "elapsed" | "tokens" | "steps",
  limit: Limit,
): Check<T> => fieldCheck(name, fields[name], isWithin(limit));

function hasEnded<T>(fields: RunFields<T>, status: string, limit: Limit | undefined): Check<T> {
  const end = fieldCheck("status", fields.status, equals(status));
  if (limit === undefined) return end;
  const time = isLimited(fields, "elapsed", limit);
  return {
    named: [...end.named, ...time.named],
    evaluate(run) {
      const result = end.evaluate(run);
      return result.passed ? time.evaluate(run) : result;
    },
  };
}

/** The sentences that begin with `run`, as checks of its fields. */
export const runForms: Forms<<T>(fields: RunFields<T>) => Check<T>> = {
  "succeeded|partial-succeeded|failed|stopped|paused [within TIME]": (reader, _, status) => {
    const limit = readTimeLimit(reader);
    return (fields) => hasEnded(fields, status, limit);
  },
  "took BOUND TIME": (reader) => {
    const limit = readDuration(reader);
    return (fields) => isLimited(fields, "elapsed", limit);
  },
  "used [BOUND] N tokens|steps": (reader) => {
    const limit = readAmount(reader);
    const unit = reader.oneOf(["tokens", "steps"]);
    return (fields) => isLimited(fields, unit, limit);
  },
};
