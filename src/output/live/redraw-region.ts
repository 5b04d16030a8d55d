import { stripVTControlCharacters } from "node:util";
import type { Output } from "../../host/host.ts";
import { widthOf } from "../display-width.ts";

const escape = "\u001b[";
const up = (rows: number) => (rows === 0 ? "" : `${escape}${rows}A`);
const clearBelow = `${escape}J`;
const clearRight = `${escape}K`;
/** Terminals disagree about some widths: a line that is too long is cut off and takes one row. */
const withoutWrapping = (lines: string) => (lines === "" ? "" : `${escape}?7l${lines}${escape}?7h`);

/** Replaces all that is on the screen by these lines, without scrolling. */
export const wholeScreen = (lines: readonly string[]): string => {
  // Cleared first: behind a full line it would clear the last column.
  const texts = lines.map((line) => `${clearRight}${line}`);
  return `${escape}H${withoutWrapping(texts.join("\r\n"))}${clearBelow}`;
};

/**
 * Lines at the bottom of a terminal that are redrawn. Lines that scrolled off a terminal that became
 * smaller cannot be removed.
 *
 *     draw("", ["a 1s"])            draw("b done\n", ["a 2s"])
 *
 *     $ wf run                      $ wf run
 *     a 1s         ← region         b done       ← stays
 *     █            ← cursor         a 2s         ← region
 *                                   █            ← cursor
 */
export class Region {
  readonly #out: Output;
  #lines: readonly string[] = [];
  #columns: number;
  #resumeCount: number | undefined;

  /** Starts an empty region below the last line of the output. */
  constructor(out: Output) {
    this.#out = out;
    this.#columns = out.columns;
    this.#resumeCount = out.resumeCount;
  }

  /**
   * Writes `above`, which stays, and below it the lines, which replace the previous ones. Leaves the
   * cursor below them. Lines must be narrower than the terminal; `above` may have any width.
   */
  async draw(above: string, lines: readonly string[]): Promise<void> {
    const out = this.#out;
    // After a suspension the shell has written below the lines, which stay.
    if (out.resumeCount !== this.#resumeCount) this.#lines = [];
    this.#resumeCount = out.resumeCount;
    const before = this.#lines;
    const sameLayout = lines.length === before.length && out.columns === this.#columns;
    if (above === "" && sameLayout && lines.every((line, index) => line === before[index])) return;
    const text = above === "" && sameLayout ? this.#update(lines) : this.#redraw(above, lines);
    // Set before the write ends: another draw may start in the meantime.
    [this.#lines, this.#columns] = [lines, out.columns];
    await out.write(text);
  }

  /** Rewrites the lines that differ. */
  #update(lines: readonly string[]): string {
    const texts = lines.map((line, index) =>
      line === this.#lines[index] ? "\n" : `${line}${clearRight}\n`,
    );
    return up(this.#lines.length) + withoutWrapping(texts.join(""));
  }

  #redraw(above: string, lines: readonly string[]): string {
    const texts = lines.map((line) => `${line}\n`);
    return `${up(this.#height())}\r${clearBelow}${above}${withoutWrapping(texts.join(""))}`;
  }

  /**
   * Rows of the lines on the screen. A terminal that became narrower wraps lines; on the few that cut
   * them off instead, as many lines above are lost.
   */
  #height(): number {
    const { columns } = this.#out;
    if (columns === this.#columns) return this.#lines.length;
    return this.#lines.reduce(
      (sum, line) => sum + Math.max(1, Math.ceil(widthWithoutColors(line) / columns)),
      0,
    );
  }
}

const widthWithoutColors = (line: string): number => widthOf(stripVTControlCharacters(line));
