import { didYouMean } from "../../../lib/did-you-mean.ts";
import { parseDuration } from "../../../lib/numbers.ts";
import { isObject, own } from "../../../lib/json.ts";
import { isErrorKind, modelErrorKinds } from "../../models/marks.ts";
import type { RuleAnswer } from "../../models/language-model.ts";
import { countTokens } from "../../models/tokens.ts";
import { PROVIDER } from "../../models/catalog.ts";
import { type AnyNode, type AppDefinition, defineApp } from "./app-definitions.ts";
import { type AnswerRules, folded, type QuestionPattern, ruleModes } from "./answer-rules.ts";

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

const yesOrNo: ReadValue<boolean> = (value, path) => {
  if (typeof value === "boolean") return value;
  throw new RuleMistake(path, "expected true or false");
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

const durationText: ReadValue<number> = (value, path) => {
  const ms = typeof value === "string" ? parseDuration(value) : undefined;
  if (ms !== undefined) return ms;
  throw new RuleMistake(path, "expected a duration such as 300ms or 2s");
};

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

const readCited = mapping({
  knowledge_base: plainText,
  document: plainText,
  text: plainText,
  score: numberThat("a number from 0 to 1", (score) => score >= 0 && score <= 1),
});

const readCount = numberThat("a whole number", (count) => count >= 0 && Number.isInteger(count));
const readTokens = mapping({ prompt: readCount, completion: readCount });

const answerKeys = {
  answer: plainText,
  weight: numberThat("a number above 0", (weight) => weight > 0),
  cites: listOf((value, path) =>
    typeof value === "string" ? { document: value } : readCited(value, path),
  ),
  tokens: (value: unknown, path: RulePath) =>
    typeof value === "number" ? readCount(value, path) : readTokens(value, path),
  delay: durationText,
  error: errorWord,
  status: numberThat("a status from 400 to 599", (status) => /^[45]\d\d$/.test(`${status}`)),
};

const readAnswer = mapping(answerKeys);
const readAnswers = listOf((value, path) =>
  typeof value === "string" ? { answer: value } : readAnswer(value, path),
);

const readRule = mapping({
  question: pattern,
  after: pattern,
  cache: yesOrNo,
  answers: readAnswers,
  ...answerKeys,
});

const readFile = mapping({
  description: plainText,
  mode: oneOfWords(ruleModes),
  inputs: listOf(plainText),
  knowledge_base: plainText,
  rules: listOf((value, path) => {
    const { question, after, cache = false, answers, ...single } = readRule(value, path);
    if (!question) throw new RuleMistake(path, "the rule has no question");
    if (answers && Object.keys(single).length > 0)
      throw new RuleMistake(path, "the rule has both answers and the keys of one");
    return { question, after, cache, answers: answers ?? [single], path };
  }),
  otherwise: readAnswers,
});

/** An answer with the defaults of the keys that it omits, some of which its file sets. */
function completed(
  written: ReturnType<typeof readAnswer>,
  knowledge_base: string,
  path: RulePath,
): RuleAnswer {
  const { answer, error, status } = written;
  if (answer === undefined && error === undefined && status === undefined)
    throw new RuleMistake(path, "an answer needs the key answer, error or status");
  const text = answer ?? "";
  return {
    weight: 1,
    delay: 0,
    error,
    status,
    ...written,
    answer: text,
    cites: (written.cites ?? []).map((cited) => ({
      document: "",
      score: 0.9,
      text,
      ...cited,
      knowledge_base: cited.knowledge_base || knowledge_base,
    })),
    tokens: tokensOf(written.tokens, text),
  };
}

/** A number of tokens is that of prompt and answer together. */
function tokensOf(tokens: ReturnType<typeof readAnswer>["tokens"], answer: string) {
  if (tokens === undefined) return undefined;
  const counted = countTokens(answer);
  if (typeof tokens !== "number") return { prompt: 0, completion: counted, ...tokens };
  const completion = Math.min(counted, tokens);
  return { prompt: tokens - completion, completion };
}

/**
 * The application of a file of rules. Its inputs are named `query` by default, unless messages are sent.
 */
function appOfRules(name: string, file: ReturnType<typeof readFile>, rules: AnswerRules) {
  const { mode = "chat", description = "Answers by the rules of a file." } = file;
  const { inputs = mode.endsWith("chat") ? [] : ["query"] } = file;
  const features = { retriever_resource: { enabled: true } };
  const field = (variable: string) => ({ variable, label: variable, required: false });
  // Named in usage and in the details of nodes; it is never called.
  const model = { provider: PROVIDER, name: "stub-chat" };
  if (mode === "chat" || mode === "completion") {
    const user_input_form = inputs.map((input) => ({ paragraph: field(input) }));
    const pre_prompt = inputs.map((input) => `{{${input}}}`).join("\n");
    const config = { model, pre_prompt, user_input_form, ...features };
    return defineApp({ name, description, mode, config, rules });
  }
  const asked = inputs.map((input) => `{{#start.${input}#}}`);
  const text = [...asked, ...(mode === "workflow" ? [] : ["{{#sys.query#}}"])].join("\n");
  const prompt_template = [{ role: "user", text }] as const;
  const fields = inputs.map((input) => ({ ...field(input), type: "paragraph" }) as const);
  const outputs = [{ variable: "text", value_selector: ["model", "text"] }] as const;
  const nodes: AnyNode[] = [
    { id: "start", type: "start", title: "Start", variables: fields },
    { id: "model", type: "llm", title: "Model", model, prompt_template },
    mode === "workflow"
      ? { id: "end", type: "end", title: "End", outputs }
      : { id: "end", type: "answer", title: "Answer", answer: "{{#model.text#}}" },
  ];
  const edges = [
    { source: "start", target: "model" },
    { source: "model", target: "end" },
  ];
  return defineApp({ name, description, mode, nodes, edges, features, rules });
}

/**
 * Reads a file of rules as an application (docs/sandbox.md describes the keys). Throws an Error with the
 * reason, and with the `path` of the value that is wrong.
 */
export function readAnswerRules(value: unknown, name: string): AppDefinition {
  const file = readFile(value, []);
  const { knowledge_base = "Handbook", otherwise = [{ answer: "I do not know." }] } = file;
  const complete = (answers: typeof otherwise, path: RulePath) =>
    answers.map((answer) => completed(answer, knowledge_base, path));
  const rules: AnswerRules = {
    rules: (file.rules ?? []).map(({ answers, path, ...rule }) => ({
      ...rule,
      answers: complete(answers, path),
    })),
    otherwise: complete(otherwise, ["otherwise"]),
  };
  return appOfRules(name, file, rules);
}
