/**
 * Marks in a text tell the stand-in models what to do, so that a test needs no setting: in
 * `[[error:rate]] [[words:8]]` the model fails with a rate limit. docs/sandbox.md lists them.
 */
import errors from "./model-errors.json" with { type: "json" };

/** The marks of a text, by name; of several with one name the last counts. */
export class Marks {
  readonly #marks: ReadonlyMap<string, string>;
  /** The text without its marks. */
  readonly rest: string;

  constructor(text: string) {
    const marks = [...text.matchAll(MARK)].map(
      ([, name = "", value = ""]) => [name, value] as const,
    );
    this.#marks = new Map(marks);
    this.rest = text.replace(MARK, "").trim();
  }

  has(name: MarkName): boolean {
    return this.#marks.has(name);
  }

  text(name: MarkName): string | undefined {
    return this.#marks.get(name);
  }

  /** Throws ModelError if the text has this mark of an error; `requestId` is the call's. */
  fail(name: MarkName, requestId?: string): void {
    const kind = this.#marks.get(name);
    if (kind !== undefined) throw new ModelError(errorKind(kind), requestId);
  }

  /** A mark with a number, such as `[[words:8]]`. */
  number(name: MarkName): number | undefined {
    const value = Number(this.#marks.get(name) ?? Number.NaN);
    return Number.isFinite(value) ? value : undefined;
  }
}

const NAMES = [
  "say", // the reply
  "words", // a reply of so many words
  "empty", // an empty reply
  "think", // reasoning before the reply
  "json", // a reply by the JSON Schema of the node, or an example
  "tool", // an agent calls its first tool
  "pieces", // characters of each piece of the reply
  "slow", // ms before each piece
  "flaky", // `flaky:2-ID`: the first two calls with this ID break in the middle
  "error", // kind of error, with `mid-` after three pieces
  "inner-error", // the same for titles, suggestions, questions and summaries
  "embed-error",
  "rerank-error",
  "tts-error",
  "stt-error",
] as const;

export type MarkName = (typeof NAMES)[number];

const MARK = new RegExp(`\\[\\[(${NAMES.join("|")})(?::([\\s\\S]*?))?\\]\\]`, "g");

/** How a model can fail; the texts are recorded, but for `quota` (server §17). */
export type ModelErrorKind = keyof typeof errors;

/** A failed call of a model. */
export class ModelError extends Error {
  readonly kind: ModelErrorKind;
  /** The server's class of the error, as `error_type` of a node reports it. */
  readonly type: string;
  /** The code of a response of a chat, completion or speech route; its status is 400. */
  readonly code: string;

  constructor(kind: ModelErrorKind, requestId = "") {
    const [type = "", text = "", code = "completion_request_error"] = errors[kind];
    super(text.replace("{id}", requestId));
    this.kind = kind;
    this.type = type;
    this.code = code;
  }

  /** The text in a stream: that of an unknown error of a plugin, without its request. */
  get streamText(): string {
    return this.message.replace(/^req_id: \w+ PluginInvokeError: /, "");
  }

  /** The text that workflows and knowledge bases report: not the provider's own for a wrong key. */
  get runText(): string {
    return this.kind === "auth"
      ? "[Stub] Incorrect model credentials provided, please check and try again."
      : this.message;
  }
}

export const modelErrorKinds: readonly string[] = Object.keys(errors);

export const isErrorKind = (word: string): word is ModelErrorKind => Object.hasOwn(errors, word);

/** Returns the kind that a mark names; an unknown word is `unknown`. */
export const errorKind = (word: string): ModelErrorKind => (isErrorKind(word) ? word : "unknown");

/** What a call of a model returns; undefined if the model fails. */
export function unlessModelFails<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (error instanceof ModelError) return undefined;
    throw error;
  }
}
