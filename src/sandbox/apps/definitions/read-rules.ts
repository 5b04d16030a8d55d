import { didYouMean } from "../../../lib/did-you-mean.ts";
import { parseDuration } from "../../../lib/numbers.ts";
import { isObject, own } from "../../../lib/json.ts";
import { isErrorKind, modelErrorKinds } from "../../models/model-error.ts";
import type { CitedText, RuleAnswer } from "../../models/rule-model.ts";
import { countTokens } from "../../models/tokens.ts";
import {
  type AnswerRule,
  type AnswerRules,
  folded,
  type QuestionPattern,
  exportOfRules,
  ruleModes,
} from "./answer-rules.ts";

/** The keys and indexes that lead to a value. */
type RulePath = readonly (string | number)[];

/** A mistake in a file of rules, and where it is. */
class RuleMistake extends Error {
  readonly path: RulePath;

  constructor(path: RulePath, message: string) {
    super(message);
    this.path = path;
  }
}

/** Reads a value in a file of rules; throws RuleMistake for one of another kind. */
type ReadValue<T> = (value: unknown, path: RulePath) => T;

/** The readers of the keys of a mapping. */
type ReadKeys<T> = { readonly [Key in keyof T]-?: ReadValue<T[Key]> };

/** A mapping with these keys, each of them optional. */
const mapping =
  <T extends object>(readers: ReadKeys<T>): ReadValue<Partial<T>> =>
  (value, path) => {
    if (!isObject(value)) throw new RuleMistake(path, "expected a mapping of keys");
    const known = readers as Readonly<Record<string, ReadValue<unknown>>>;
    const entries = Object.entries(value).map(([key, each]) => {
      const read = own(known, key);
      if (!read) throw new RuleMistake([...path, key], unknownKey(key, Object.keys(known)));
      return [key, read(each, [...path, key])];
    });
    return Object.fromEntries(entries) as Partial<T>; // each by the reader of its key
  };

function unknownKey(key: string, names: readonly string[]): string {
  const near = didYouMean(key, names);
  const help = near === undefined ? `the keys are ${names.join(", ")}` : `did you mean ${near}?`;
  return `unknown key ${JSON.stringify(key)} (${help})`;
}

/** A list with at least one item. */
const listOf =
  <T>(item: ReadValue<T>): ReadValue<readonly T[]> =>
  (value, path) => {
    if (!Array.isArray(value) || value.length === 0)
      throw new RuleMistake(path, "expected a list that is not empty");
    return value.map((each, index) => item(each, [...path, index]));
  };

const plainText: ReadValue<string> = (value, path) => {
  if (["string", "number", "boolean"].includes(typeof value)) return String(value);
  throw new RuleMistake(path, "expected a text");
};

/** A number that is valid; `what` names such a number. */
const numberThat =
  (what: string, isValid: (value: number) => boolean): ReadValue<number> =>
  (value, path) => {
    if (typeof value === "number" && Number.isFinite(value) && isValid(value)) return value;
    throw new RuleMistake(path, `expected ${what}`);
  };

const oneOfWords =
  <T extends string>(words: readonly T[]): ReadValue<T> =>
  (value, path) => {
    const found = words.find((word) => word === value);
    if (found !== undefined) return found;
    throw new RuleMistake(path, `expected one of ${words.join(", ")}`);
  };

/** A duration in ms. */
const durationText: ReadValue<number> = (value, path) => {
  const ms = typeof value === "string" ? parseDuration(value) : undefined;
  if (ms !== undefined) return ms;
  throw new RuleMistake(path, "expected a duration such as 300ms or 2s");
};

/** An answer as a file has it. */
interface WrittenAnswer {
  readonly answer: string;
  readonly weight: number;
  readonly cites: readonly Partial<CitedText>[];
  readonly tokens: number | Partial<NonNullable<RuleAnswer["tokens"]>>;
  readonly delay: number;
  readonly error: string;
  readonly status: number;
}

/** A rule as a file has it: with one answer, or several to draw from. */
interface WrittenRule extends WrittenAnswer {
  readonly question: QuestionPattern;
  readonly after: QuestionPattern;
  readonly answers: readonly Partial<WrittenAnswer>[];
}

/** Part of a question as `/pattern/flags`, or a whole one. */
const pattern: ReadValue<QuestionPattern> = (value, path) => {
  const source = plainText(value, path);
  const [, body, flags = ""] = /^\/(.+)\/([a-z]*)$/su.exec(source) ?? [];
  const whole = folded(source);
  if (body === undefined) return (question) => question.folded === whole;
  try {
    const regex = new RegExp(body, [...new Set(`u${flags}`)].join(""));
    return ({ text }) => text.search(regex) >= 0; // unlike test, it keeps no position
  } catch (error) {
    throw new RuleMistake(path, error instanceof Error ? error.message : "invalid pattern");
  }
};

/** The kind of an error of a model, also as `mid-KIND`. */
const errorWord: ReadValue<string> = (value, path) => {
  const word = plainText(value, path);
  if (isErrorKind(word.replace(/^mid-/, ""))) return word;
  const kinds = modelErrorKinds.join(", ");
  throw new RuleMistake(path, `expected the error of a model: one of ${kinds}`);
};

const readCited = mapping<CitedText>({
  knowledge_base: plainText,
  document: plainText,
  text: plainText,
  score: numberThat("a number from 0 to 1", (score) => score >= 0 && score <= 1),
});

const readCount = numberThat("a whole number", (count) => Number.isInteger(count) && count >= 0);
const readTokens = mapping({ prompt: readCount, completion: readCount });

const answerKeys: ReadKeys<WrittenAnswer> = {
  answer: plainText,
  weight: numberThat("a number above 0", (weight) => weight > 0),
  cites: listOf((value, path) =>
    typeof value === "string" ? { document: value } : readCited(value, path),
  ),
  tokens: (value, path) =>
    typeof value === "number" ? readCount(value, path) : readTokens(value, path),
  delay: durationText,
  error: errorWord,
  status: numberThat(
    "a status from 400 to 599",
    (status) => Number.isInteger(status) && status >= 400 && status <= 599,
  ),
};

const readAnswer = mapping(answerKeys);
const readAnswers = listOf((value, path) =>
  typeof value === "string" ? { answer: value } : readAnswer(value, path),
);

const readRule = mapping<WrittenRule>({
  question: pattern,
  after: pattern,
  answers: readAnswers,
  ...answerKeys,
});

/** A file of rules. */
const readFile = mapping({
  description: plainText,
  mode: oneOfWords(ruleModes),
  inputs: listOf(plainText),
  knowledge_base: plainText,
  rules: listOf<AnswerRule>((value, path) => {
    const rule = readRule(value, path);
    const { question, after, answers, ...single } = rule;
    if (!question) throw new RuleMistake(path, "the rule has no question");
    if (answers && Object.keys(single).length > 0)
      throw new RuleMistake(path, "the rule has both answers and the keys of one");
    return { question, after, answers: (answers ?? [single]).map((each) => completed(each, path)) };
  }),
  otherwise: readAnswers,
});

/** An answer with the defaults of the keys that it omits. */
function completed(
  written: Partial<WrittenAnswer>,
  path: Parameters<typeof readAnswers>[1],
): RuleAnswer {
  const { answer, weight = 1, cites = [], tokens, delay = 0, error, status } = written;
  if (answer === undefined && error === undefined && status === undefined)
    throw new RuleMistake(path, "an answer needs the key answer, error or status");
  const text = answer ?? "";
  return {
    answer: text,
    weight,
    cites: cites.map(
      ({ knowledge_base = "", document = "", score = 0.9, text: passage = text }) => ({
        knowledge_base,
        document,
        score,
        text: passage,
      }),
    ),
    tokens: tokensOf(tokens, text),
    delay,
    error,
    status,
  };
}

/** A number of tokens is that of prompt and answer together. */
function tokensOf(tokens: WrittenAnswer["tokens"] | undefined, answer: string) {
  if (tokens === undefined) return undefined;
  const counted = countTokens(answer);
  if (typeof tokens !== "number") return { prompt: 0, completion: counted, ...tokens };
  const completion = Math.min(counted, tokens);
  return { prompt: tokens - completion, completion };
}

/**
 * Reads a file of rules as an application in the shape of an exported one (docs/sandbox.md describes
 * the keys). Throws an Error with the reason, and with the `path` of the value that is wrong.
 */
export function readAnswerRules(value: unknown, name: string): object {
  const file = readFile(value, []);
  const {
    rules = [],
    knowledge_base = "Handbook",
    otherwise = [{ answer: "I do not know." }],
  } = file;
  const inKnowledgeBase = (answer: RuleAnswer): RuleAnswer => ({
    ...answer,
    cites: answer.cites.map((cited) => ({
      ...cited,
      knowledge_base: cited.knowledge_base || knowledge_base,
    })),
  });
  const read: AnswerRules = {
    rules: rules.map((rule) => ({ ...rule, answers: rule.answers.map(inKnowledgeBase) })),
    otherwise: otherwise.map((each) => inKnowledgeBase(completed(each, ["otherwise"]))),
  };
  return { ...exportOfRules({ ...file, name }), rules: read };
}
