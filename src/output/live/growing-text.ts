import { visible, wrap } from "../display-width.ts";
import type { Colors } from "../display-width.ts";

type TextKind = "answer" | "reasoning";

/** Answer and reasoning of a run that are not final yet; reasoning is dim and has a label. */
export class GrowingText {
  readonly #colors: Colors;
  #pieces: { kind: TextKind; text: string }[] = [];

  constructor(colors: Colors) {
    this.#colors = colors;
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  add(kind: TextKind, text: string): void {
    const last = this.#pieces.at(-1);
    if (last?.kind === kind) last.text += text;
    else this.#pieces.push({ kind, text: kind === "reasoning" ? `reasoning: ${text}` : text });
  }

  /** Replaces the answer so far. */
  replace(answer: string): void {
    const reasoning = this.#pieces.filter(({ kind }) => kind === "reasoning");
    this.#pieces = [...reasoning, { kind: "answer", text: answer }];
  }

  /** The last lines: at most `rows` of at most `columns` columns. */
  tail(columns: number, rows: number): string[] {
    const lines: string[] = [];
    if (rows < 1) return lines;
    for (const { kind, text } of this.#pieces.toReversed()) {
      for (const line of lastLines(text, columns * rows).toReversed()) {
        lines.unshift(...wrap(line, columns).map((part) => this.#colored(kind, part)));
        if (lines.length >= rows) return lines.slice(-rows);
      }
    }
    return lines;
  }

  /** Returns the whole text as lines with their ends, and empties it. */
  take(): string {
    const lines = this.#pieces.flatMap(({ kind, text }) =>
      linesOf(text).map((line) => `${this.#colored(kind, line)}\n`),
    );
    this.#pieces = [];
    return lines.join("");
  }

  #colored(kind: TextKind, line: string): string {
    return kind === "reasoning" && line !== "" ? this.#colors.dim(line) : line;
  }
}

/** Lines of a text, without an empty one after its last line end. */
const linesOf = (text: string): string[] =>
  visible(text, { newlines: true }).replace(/\n$/, "").split("\n");

/** The last lines of a text, of at least `characters` characters if it has as many. */
function lastLines(text: string, characters: number): string[] {
  // The cut moves in steps of `characters`, so that lines do not break elsewhere with every piece.
  const cuts = Math.floor(text.length / characters) - 1;
  return linesOf(cuts > 0 ? text.slice(cuts * characters) : text);
}
