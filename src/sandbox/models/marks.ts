/**
 * Marks in a text tell the stand-in models what to do, so that a test needs no setting: in
 * `[[error:rate]] [[words:8]]` the model fails with a rate limit. docs/sandbox.md lists them.
 */

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
