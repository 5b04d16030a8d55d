import { visible, wrapped } from "../table/display-width.ts";
import type { Colors } from "../table/display-width.ts";

/** Answer and reasoning of a run as they grow. */
export interface GrowingText {
  add(as: "answer" | "reasoning", more: string): void;
  /** Takes the place of the answer so far. */
  replace(answer: string): void;
  readonly isEmpty: boolean;
  /** The last lines of it, at most `rows` of at most `columns` columns. */
  tail(columns: number, rows: number): string[];
  /** All of it, as lines with their ends; from then on it is empty. */
  take(): string;
}

/** Text that has not been shown for good; reasoning is dim, and named where it begins. */
export function growingText(paint: Colors): GrowingText {
  let pieces: { as: "answer" | "reasoning"; text: string }[] = [];

  const painted = (as: "answer" | "reasoning", line: string) =>
    as === "reasoning" && line !== "" ? paint.dim(line) : line;

  return {
    add(as, more) {
      const last = pieces.at(-1);
      if (last?.as === as) last.text += more;
      else pieces.push({ as, text: as === "reasoning" ? `reasoning: ${more}` : more });
    },
    replace(answer) {
      pieces = [...pieces.filter(({ as }) => as === "reasoning"), { as: "answer", text: answer }];
    },
    get isEmpty() {
      return pieces.length === 0;
    },
    tail(columns, rows) {
      const lines: string[] = [];
      if (rows < 1) return lines;
      for (const { as, text } of pieces.toReversed()) {
        for (const line of endOf(text, columns * rows).toReversed()) {
          lines.unshift(...wrapped(line, columns).map((part) => painted(as, part)));
          if (lines.length >= rows) return lines.slice(-rows);
        }
      }
      return lines;
    },
    take() {
      const all = pieces.flatMap(({ as, text }) => linesOf(text).map((line) => painted(as, line)));
      pieces = [];
      return all.map((line) => `${line}\n`).join("");
    },
  };
}

/** Lines of a text; one at its very end is none. */
const linesOf = (text: string): string[] =>
  visible(text, { newlines: true }).replace(/\n$/, "").split("\n");

/** Lines at the end of a text, of at least so many characters where there are as many. */
function endOf(text: string, characters: number): string[] {
  // The cut stays where it is while the text grows, and with it the places where lines break.
  const cuts = Math.floor(text.length / characters) - 1;
  return linesOf(cuts > 0 ? text.slice(cuts * characters) : text);
}
