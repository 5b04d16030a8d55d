import type { Clock } from "../protocol/handler.ts";
import { isObject } from "../../lib/json.ts";
import { Marks, errorKind, ModelError } from "./marks.ts";
import { overlap, sentencesOf, tokenize } from "./words.ts";
import { type Usage, tokenUsage, countTokens } from "./tokens.ts";

/** What a language model is asked. */
export interface Prompt {
  /** Instructions and context; its text is only counted. */
  readonly system?: string;
  /** The question; its marks are obeyed. */
  readonly user: string;
  /** Passages that were found for the question; the reply is the sentence that fits best. */
  readonly passages?: readonly string[];
  /** JSON Schema of the reply. */
  readonly schema?: unknown;
  /** Names of the tools that the model may call. */
  readonly tools?: readonly string[];
  /** What the tool returned that the model called before. */
  readonly observation?: string;
}

/** A complete reply. */
export interface Completion {
  /** Reasoning in `<think>` included. */
  readonly text: string;
  readonly usage: Usage;
  /** The tool that the model calls; undefined for none. */
  readonly tool: string | undefined;
}

/** What writes a text: the stand-in model, or the rules of an application. */
export interface TextModel {
  /** Streams a reply and returns it whole. Throws ModelError, also after some pieces; rejects on abort. */
  stream(prompt: Prompt, signal?: AbortSignal): AsyncGenerator<string, Completion>;
}

/** Reads a reply to its end and returns it whole; `put` takes its pieces. */
export async function wholeReply(
  pieces: ReturnType<TextModel["stream"]>,
  put: (piece: string) => void = () => {},
): Promise<Completion> {
  for (;;) {
    const { done, value } = await pieces.next();
    if (done) return value;
    put(value);
  }
}

/** ms before each piece of a reply. */
const PIECE_DELAY = 20;

const MAX_QUESTIONS = 4;

/** Pieces of a reply before it breaks. */
const BROKEN_AFTER = 3;

/** A language model without weights: it says what marks ask for, quotes a passage, or echoes. */
export class LanguageModel implements TextModel {
  readonly #clock: Clock;
  readonly #random: () => number;
  /** How often calls with each `flaky` ID broke. */
  readonly #broken = new Map<string, number>();

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  async *stream(prompt: Prompt, signal?: AbortSignal): AsyncGenerator<string, Completion> {
    const marks = new Marks(prompt.user);
    const failure = this.#failure(marks);
    const started = this.#now();
    if (failure && failure.after === 0) throw failure.error;
    const text = replyTo(prompt, marks);
    let first = started;
    for (const [index, piece] of piecesOf(text, marks.number("pieces")).entries()) {
      if (failure?.after === index) throw failure.error;
      await this.#clock.sleep(marks.number("slow") ?? PIECE_DELAY, signal);
      if (index === 0) first = this.#now();
      yield piece;
    }
    const usage = tokenUsage(tokensOf(prompt, text), { started, first, ended: this.#now() });
    return { text, usage, tool: toolFor(prompt, marks) };
  }

  /** A title for a conversation that begins with this question. */
  title(question: string): string {
    return `About ${this.#aside(question).rest}`.trim();
  }

  /** Three questions to ask next. */
  suggestions(question: string): string[] {
    this.#aside(question);
    return ["What else?", "How does it work?", "Where is it written?"];
  }

  /** Questions for the first sentences of a text, with the sentences as their answers. */
  questions(text: string): { readonly question: string; readonly answer: string }[] {
    return sentencesOf(this.#aside(text).rest)
      .slice(0, MAX_QUESTIONS)
      .map((answer, index) => ({ question: `What is said in sentence ${index + 1}?`, answer }));
  }

  /** The first sentence of a text. */
  summary(text: string): string {
    return `Summary: ${sentencesOf(this.#aside(text).rest)[0] ?? ""}`;
  }

  /** The marks of a text that is not a question to the model itself; throws its errors. */
  #aside(text: string): Marks {
    const marks = new Marks(text);
    const kind = marks.text("inner-error") ?? marks.text("error");
    if (kind !== undefined) throw this.#error(kind);
    return marks;
  }

  /** The error of a call and the number of pieces before it. */
  #failure(marks: Marks): { readonly error: ModelError; readonly after: number } | undefined {
    const kind = marks.text("error");
    if (kind !== undefined) {
      const after = kind.startsWith("mid-") ? BROKEN_AFTER : 0;
      return { error: this.#error(kind.replace(/^mid-/, "")), after };
    }
    const [, times, id] = /^(\d+)-(.*)$/.exec(marks.text("flaky") ?? "") ?? [];
    if (id === undefined) return undefined;
    const broken = this.#broken.get(id) ?? 0;
    if (broken >= Number(times)) return undefined;
    this.#broken.set(id, broken + 1);
    return { error: this.#error("rate"), after: BROKEN_AFTER };
  }

  #error(kind: string): ModelError {
    const requestId = Math.floor(this.#random() * 16 ** 10).toString(16);
    return new ModelError(errorKind(kind), requestId.padStart(10, "0"));
  }

  #now(): number {
    return this.#clock.now().getTime();
  }
}

const tokensOf = ({ system = "", user }: Prompt, reply: string) => ({
  prompt: countTokens(`${system}${user}`),
  completion: countTokens(reply),
});

const REASONING = "<think>\nFirst I look at the question.\nThen I decide.\n</think>\n\n";

/** The first tool, if the question asks for one that was not called yet. */
const toolFor = ({ tools, observation }: Prompt, marks: Marks): string | undefined =>
  observation === undefined && marks.has("tool") ? tools?.[0] : undefined;

function replyTo(prompt: Prompt, marks: Marks): string {
  const { schema, passages = [], observation } = prompt;
  if (marks.has("empty")) return "";
  if (observation !== undefined) return `The tool said: ${observation}`;
  const reasoning = marks.has("think") ? REASONING : "";
  if (toolFor(prompt, marks) !== undefined) return `${reasoning}I will look that up. `;
  return `${reasoning}${saidIn(marks) ?? answerTo(marks, schema, passages)}`;
}

/** The reply that marks give. */
function saidIn(marks: Marks): string | undefined {
  const count = marks.number("words");
  if (count === undefined) return marks.text("say");
  return Array.from({ length: count }, (_, index) => `word${index + 1}`).join(" ");
}

function answerTo(marks: Marks, schema: unknown, passages: readonly string[]): string {
  if (marks.has("json") || schema !== undefined) return JSON.stringify(exampleOf(schema));
  const quoted = bestSentence(marks.rest, passages);
  if (quoted !== undefined) return quoted;
  return `You asked: ${marks.rest}\n\nThe sandbox has no language model – it repeats naïvely, 日本語 and 👍🏽 included.`;
}

/** The sentence with most of the question's words; undefined if none has any. */
function bestSentence(question: string, passages: readonly string[]): string | undefined {
  const asked = tokenize(question);
  const rated = passages.flatMap(sentencesOf).map((sentence) => ({
    sentence,
    share: overlap(asked, tokenize(sentence)),
  }));
  const best = rated.reduce((a, b) => (b.share > a.share ? b : a), { sentence: "", share: 0 });
  return best.share > 0 ? best.sentence : undefined;
}

/** A value that a JSON Schema accepts: texts are the names of their properties. */
function exampleOf(schema: unknown, name = "text"): unknown {
  if (!isObject(schema)) return { text: name };
  const { type, properties, items, enum: choices } = schema;
  if (Array.isArray(choices)) return choices[0];
  switch (type) {
    case "object":
      return Object.fromEntries(
        Object.entries(isObject(properties) ? properties : {}).map(([key, value]) => [
          key,
          exampleOf(value, key),
        ]),
      );
    case "array":
      return [exampleOf(items, name), exampleOf(items, name)];
    case "integer":
    case "number":
      return 1;
    case "boolean":
      return true;
    default:
      return name;
  }
}

/** Splits a reply into pieces of words with the blanks after them, or of a number of characters. */
export function piecesOf(text: string, size?: number): string[] {
  if (size === undefined) return text.match(/\s*\S+\s*/gu) ?? [];
  const characters = [...text];
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, index) =>
    characters.slice(index * size, (index + 1) * size).join(""),
  );
}

/** A model that gives one answer to whatever it is asked. */
export const ruleModel = (clock: Clock, drawn: RuleAnswer): TextModel => ({
  async *stream(prompt, signal) {
    const { answer, delay, error } = drawn;
    if (delay > 0) await clock.sleep(delay, signal);
    const pieces = piecesOf(answer);
    if (error === undefined) yield* pieces;
    else {
      if (error.startsWith("mid-")) yield* pieces.slice(0, BROKEN_AFTER);
      throw new ModelError(errorKind(error.replace(/^mid-/, "")), "0".repeat(10));
    }
    const counted = tokensOf(prompt, answer);
    // Not measured: the times of the same answer are the same, whatever else the server does.
    const times = { started: 0, first: delay, ended: delay };
    return { text: answer, usage: tokenUsage(drawn.tokens ?? counted, times), tool: undefined };
  },
});

/** What an application with rules answers; plain data, so that a run can keep it. */
export interface RuleAnswer {
  readonly answer: string;
  /** How often it is drawn, compared with the other answers of its rule. */
  readonly weight: number;
  /** Passages of documents. */
  readonly cites: readonly {
    readonly knowledge_base: string;
    readonly document: string;
    readonly text: string;
    readonly score: number;
  }[];
  /** What the usage says; undefined for four characters each. */
  readonly tokens: { readonly prompt: number; readonly completion: number } | undefined;
  /** ms before the first piece. */
  readonly delay: number;
  /** Kind of error of the model, with `mid-` after some pieces. */
  readonly error: string | undefined;
  /** Status of the response instead of an answer. */
  readonly status: number | undefined;
}
