import errors from "./model-errors.json" with { type: "json" };

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
