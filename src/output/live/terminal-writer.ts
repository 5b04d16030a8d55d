import { stripVTControlCharacters } from "node:util";
import type { Host, Output } from "../../host/host.ts";
import { ellipsis, shorten, widthOf } from "../display-width.ts";
import { withWrite } from "../style.ts";

/** What is at the bottom of a terminal. It gives way while anything else is written. */
export interface Bottom {
  hide(): void | Promise<void>;
  show(): void | Promise<void>;
  /** Called before a write to a pipe, whose reader may print to the same terminal. */
  makeRoom?(): void;
}

/** Lines that change, below those that are final. */
export interface LiveLines {
  /** Returns the lines that became final since the last call, of any width. */
  takeFinal(): string;
  /** The lines that still change: at most `rows`. They are cut after `columns` columns. */
  liveLines(columns: number, rows: number): readonly string[];
}

/** ms between two redraws. */
const REDRAW_INTERVAL = 100;
/** Rows of a terminal of unknown height. */
export const UNKNOWN_HEIGHT = 24;

/**
 * The one writer of a terminal: whatever is written to the stdout and stderr of its host scrolls above
 * its bottom, which is a spinner, lines that are redrawn, or nothing.
 */
export class TerminalWriter {
  readonly host: Host;
  readonly #plain: Host;
  #bottom: Bottom | undefined;
  /** The last write that had to wait; undefined if none is in progress. */
  #previous: Promise<unknown> | undefined;

  constructor(host: Host) {
    this.#plain = host;
    this.host = {
      ...host,
      stdout: this.#above(host.stdout),
      stderr: this.#above(host.stderr),
      prompt: (question, options) => this.#hiding(() => host.prompt(question, options)),
      fullScreen: () => this.#hiding(() => host.fullScreen()),
    };
  }

  /** Sets the bottom. The returned function removes it, unless another one took its place. */
  share(bottom: Bottom): () => void {
    void this.#bottom?.hide();
    this.#bottom = bottom;
    return () => {
      if (this.#bottom === bottom) this.#bottom = undefined;
    };
  }

  /** Redraws lines at the bottom of stdout every 100 ms, since times advance between events, too. */
  redraw(content: LiveLines, { unicode }: { readonly unicode: boolean }): Redrawn {
    return new Redrawn(content, ellipsis(unicode), this, this.#plain);
  }

  #above(output: Output): Output {
    return withWrite(output, (words) => {
      if (!output.isTTY) this.#bottom?.makeRoom?.();
      if (!output.isTTY || (!this.#bottom && !this.#previous)) return output.write(words);
      return this.#hiding(() => output.write(words));
    });
  }

  /** Does it without the bottom. In sequence: hiding takes longer the first time. */
  #hiding<T>(action: () => Promise<T>): Promise<T> {
    const inSequence = async () => {
      const bottom = this.#bottom;
      await bottom?.hide();
      const result = await action();
      await bottom?.show();
      return result;
    };
    const done = (this.#previous ?? Promise.resolve()).then(inSequence);
    const settled = done
      .catch(() => {}) // reported to the writer
      .then(() => {
        if (this.#previous === settled) this.#previous = undefined;
      });
    this.#previous = settled;
    return done;
  }
}

class Redrawn implements Bottom {
  readonly #content: LiveLines;
  readonly #host: Host;
  readonly #region: Region;
  readonly #mark: string;
  readonly #ended = new AbortController();
  readonly #drawing: Promise<void>;
  readonly #unshare: () => void;
  #failure: { readonly error: unknown } | undefined;
  #isHidden = false;

  constructor(content: LiveLines, mark: string, writer: TerminalWriter, host: Host) {
    this.#content = content;
    this.#host = host;
    this.#region = new Region(host.stdout);
    this.#mark = mark;
    this.#unshare = writer.share(this);
    this.#drawing = this.#keepDrawing().catch((error: unknown) => {
      if (!this.#ended.signal.aborted) this.#failure = { error };
    });
  }

  /** Throws what the last redraw threw. */
  check(): void {
    if (this.#failure) throw this.#failure.error;
  }

  hide(): Promise<void> {
    this.#isHidden = true;
    return this.#clear();
  }

  show(): Promise<void> {
    this.#isHidden = false;
    return this.#draw();
  }

  /** Writes the final lines, which stay, and removes the others. */
  async end(): Promise<void> {
    this.#ended.abort();
    await this.#drawing;
    this.#unshare();
    await this.#clear();
  }

  async #keepDrawing(): Promise<void> {
    for (;;) {
      await this.#host.sleep(REDRAW_INTERVAL, this.#ended.signal);
      if (!this.#isHidden) await this.#draw();
    }
  }

  // The last column and the last row stay empty, so that the terminal does not wrap or scroll.
  #draw(): Promise<void> {
    const { columns, terminal } = this.#host.stdout;
    const rows = terminal?.rows ?? UNKNOWN_HEIGHT;
    const above = this.#content.takeFinal();
    const lines = this.#content.liveLines(columns - 1, rows - 1);
    return this.#region.draw(
      above,
      lines.map((line) => fitted(line, columns - 1, this.#mark)),
    );
  }

  #clear(): Promise<void> {
    return this.#region.draw(this.#content.takeFinal(), []);
  }
}

/** A line that fits; a longer one, after the terminal became narrower, loses its colors. */
function fitted(line: string, columns: number, mark: string): string {
  const text = stripVTControlCharacters(line);
  return widthOf(text, columns) <= columns ? line : shorten(text, columns, mark);
}

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
class Region {
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
