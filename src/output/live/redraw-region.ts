import { stripVTControlCharacters } from "node:util";
import type { Output } from "../../host/host.ts";
import { widthOf } from "../table/display-width.ts";

/** Lines at the bottom of a terminal that are drawn again and again. */
export interface Region {
  /**
   * Writes `above`, which stays, and below it the lines, in place of those drawn before. The cursor
   * is left under them. Lines must be narrower than the terminal, `above` may be as it likes.
   */
  draw(above: string, lines: readonly string[]): Promise<void>;
}

const escape = "\u001b[";
const up = (rows: number) => (rows === 0 ? "" : `${escape}${rows}A`);
const clearBelow = `${escape}J`;
const clearRight = `${escape}K`;
/** Terminals do not agree how wide some signs are: too long a line is cut off, and takes one row. */
const unwrapped = (lines: string) => (lines === "" ? "" : `${escape}?7l${lines}${escape}?7h`);

/**
 * An empty region below what was written last. What a screen that became smaller has pushed out of
 * sight cannot be taken back.
 */
export function region(out: Output): Region {
  let drawn: readonly string[] = [];
  let columns = out.columns;
  let resumed = out.resumeCount;

  /**
   * A terminal that became narrower breaks lines that had room before. The few that cut them off
   * instead lose as many lines above.
   */
  const rowsTaken = () =>
    out.columns === columns
      ? drawn.length
      : drawn.reduce(
          (sum, line) => sum + Math.max(1, Math.ceil(plainWidth(line) / out.columns)),
          0,
        );

  const changed = (lines: readonly string[]) => {
    const texts = lines.map((line, index) =>
      line === drawn[index] ? "\n" : `${line}${clearRight}\n`,
    );
    return up(drawn.length) + unwrapped(texts.join(""));
  };

  const anew = (above: string, lines: readonly string[]) => {
    const texts = lines.map((line) => `${line}\n`);
    return `${up(rowsTaken())}\r${clearBelow}${above}${unwrapped(texts.join(""))}`;
  };

  return {
    async draw(above, lines) {
      // What the shell has written since stands below the lines, which stay as they are.
      if (out.resumeCount !== resumed) [drawn, resumed] = [[], out.resumeCount];
      const sameLines = lines.length === drawn.length && out.columns === columns;
      if (above === "" && sameLines && lines.every((line, index) => line === drawn[index])) return;
      const text = above === "" && sameLines ? changed(lines) : anew(above, lines);
      // Set before the write ends, so that whoever draws meanwhile goes on from here.
      [drawn, columns] = [lines, out.columns];
      await out.write(text);
    },
  };
}

const plainWidth = (line: string): number => widthOf(stripVTControlCharacters(line));
