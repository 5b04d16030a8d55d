import type { Host } from "../../host/host.ts";
import { clockTime, formatBytes, groupDigits } from "../../lib/numbers.ts";
import { cut, ellipsis, shorten, visible, widthOf } from "../display-width.ts";
import type { ProgressStep } from "../report-model.ts";
import type { ProgressStyle } from "../style.ts";
import type { Bottom, TerminalWriter } from "./terminal-writer.ts";

/** ms before the spinner appears. */
const SPINNER_DELAY = 300;
/** ms between two lines if nothing is redrawn; the shorter one after a tenth of the work. */
const MAX_INTERVAL = 10_000;
const MIN_INTERVAL = 2000;
/** Columns beside the text: the spinner, a blank, and the last column, where terminals wrap. */
const SPINNER_WIDTH = 3;

/** Displays progress on stderr while nothing else is written. */
export interface ProgressBar {
  readonly update: (step: ProgressStep) => void;
  readonly stop: () => void;
}

/**
 * On a terminal a spinner with the last step, which appears after 300 ms without output. In a pipe, or
 * if redrawing is disabled, a line every ten seconds or tenth of the work. `text` starts with the verb of
 * the steps: `Syncing docs to knowledge base Handbook`.
 */
export function progress(
  terminal: TerminalWriter,
  text: string,
  style: ProgressStyle,
): ProgressBar {
  if (!style.enabled) return { update: () => {}, stop: () => {} };
  const [verb = ""] = text.split(" ", 1);
  const line = new ProgressLine(verb, style.unicode);
  if (!style.redraws) return { update: stepPrinter(terminal.host, line), stop: () => {} };
  return new Spinner(terminal, line, style);
}

function stepPrinter(host: Host, line: ProgressLine): (step: ProgressStep) => void {
  let last = { at: host.elapsed(), done: 0 };
  return (step) => {
    const now = host.elapsed();
    line.update({ ...step, current: undefined }, now);
    last = { ...last, done: Math.min(last.done, step.done) }; // another count may have begun
    const isTenth = step.done - last.done >= (step.total ?? Infinity) / 10;
    const isDue = now - last.at >= (isTenth ? MIN_INTERVAL : MAX_INTERVAL);
    if (!isDue || step.done === step.total) return;
    last = { at: now, done: step.done };
    host.stderr.write(`${line.text(now)}${line.timeLeft(now)}\n`).catch(() => {}); // progress may be lost
  };
}

/** What is used of ora. */
interface Ora {
  start(): Ora;
  stop(): unknown;
  text: string;
}

/** A spinner at the bottom of the terminal; it gives way to other output. */
class Spinner implements ProgressBar, Bottom {
  readonly #host: Host;
  readonly #line: ProgressLine;
  readonly #style: ProgressStyle;
  readonly #unshare: () => void;
  #ora: Ora | undefined;
  /** Creates a spinner; undefined until one was needed. */
  #create: (() => Ora) | undefined;
  /** Aborts the delay before the spinner appears; undefined if it is not about to appear. */
  #starting: AbortController | undefined;
  #isStopped = false;

  constructor(terminal: TerminalWriter, line: ProgressLine, style: ProgressStyle) {
    this.#host = terminal.host;
    this.#line = line;
    this.#style = style;
    this.#unshare = terminal.share(this);
    if (style.start !== undefined) void this.#start();
  }

  readonly update = (step: ProgressStep): void => {
    this.#line.update(step, this.#host.elapsed());
    if (this.#ora) this.#ora.text = this.#shown();
    else void this.#start();
  };

  readonly stop = (): void => {
    this.#isStopped = true;
    this.hide();
    this.#unshare();
  };

  hide(): void {
    this.#starting?.abort();
    this.#starting = undefined;
    this.#ora?.stop();
    this.#ora = undefined;
  }

  /** A count that was visible reappears at once; anything else with the next step. */
  show(): void {
    if (!this.#isStopped && this.#line.isOpen) this.#ora = this.#create?.().start();
  }

  /** A count stays: it may be all that is seen of a long command whose result goes to a file. */
  makeRoom(): void {
    if (!this.#line.isOpen) this.hide();
  }

  #width(): number {
    return this.#host.stderr.columns - SPINNER_WIDTH;
  }

  #shown(): string {
    const width = this.#width();
    return (
      this.#line.text(this.#host.elapsed(), width) ||
      shorten(this.#style.start ?? "", width, ellipsis(this.#style.unicode))
    );
  }

  async #start(): Promise<void> {
    const { terminal } = this.#host.stderr;
    if (this.#starting || this.#isStopped || terminal === undefined) return;
    const starting = new AbortController();
    this.#starting = starting;
    try {
      await this.#host.sleep(SPINNER_DELAY, starting.signal);
    } catch {
      return; // something else was written, or the command ended
    }
    const { default: ora } = await import("ora");
    if (starting.signal.aborted) return;
    this.#starting = undefined;
    this.#create = () =>
      ora({
        text: this.#shown(),
        // A function is called for each frame: the time left passes between the steps.
        suffixText: () => this.#line.timeLeft(this.#host.elapsed(), this.#width()).trimStart(),
        spinner: this.#style.unicode ? "dots" : "line",
        stream: terminal,
        color: this.#style.color && "cyan",
        discardStdin: false, // stdin may be a pipe, or be read by a prompt
        isEnabled: true,
      });
    this.#ora = this.#create().start();
  }
}

/** Narrowest name of an item that can be recognized. */
const MIN_CURRENT = 8;
/** The longest usual time left. */
const LONG_LEFT = "1:02:10 left";

/** The steps of a command as the text of one line. */
export class ProgressLine {
  readonly #verb: string;
  readonly #separator: string;
  readonly #mark: string;
  #step: ProgressStep | undefined;
  #timeLeft: TimeLeft | undefined;

  constructor(verb: string, unicode: boolean) {
    this.#verb = verb;
    this.#separator = unicode ? " · " : ", ";
    this.#mark = ellipsis(unicode);
  }

  /** Is there work that is counted and not complete? */
  get isOpen(): boolean {
    return this.#step !== undefined && this.#step.done !== this.#step.total;
  }

  /** Takes the next step, at a time in ms. Another verb, unit or start begins another work. */
  update(step: ProgressStep, now: number): void {
    const before = this.#step;
    const isSame =
      before && before.verb === step.verb && before.unit === step.unit && before.done <= step.done;
    const done = step.work?.done ?? step.done;
    if (!isSame) this.#timeLeft = new TimeLeft(now, done);
    this.#timeLeft?.add(now, done);
    this.#step = step;
  }

  /**
   * `Syncing  134/302 files · 3 failed · it/page-011.md`, at most `width` columns; the name leaves room
   * for the time left, which is a text of its own because it changes between the steps.
   */
  text(now: number, width = Infinity): string {
    const step = this.#step;
    if (!step) return "";
    const parts = [
      `${step.verb ?? this.#verb}  ${countText(step)}`,
      ...(step.failed ? [`${groupDigits(step.failed)} failed`] : []),
      ...(step.note === undefined ? [] : [visible(step.note)]),
      ...this.#rate(now),
    ];
    const separator = this.#separator;
    const line = parts.join(separator);
    const room = width - widthOf(`${line}${separator}${separator}${LONG_LEFT}`);
    if (step.current === undefined || step.current === "" || room < MIN_CURRENT)
      return shorten(line, width, this.#mark);
    return `${line}${separator}${cut(visible(step.current), room, this.#mark)}`;
  }

  /**
   * ` · 0:42 left`, or ` · for 0:42` after a while in which it is not known; empty before, and if it does
   * not fit behind the text.
   */
  timeLeft(now: number, width = Infinity): string {
    const total = this.#step?.work?.total ?? this.#step?.total;
    if (total === undefined || !this.#timeLeft || !this.isOpen) return "";
    const left = this.#timeLeft.seconds(total, now);
    const elapsed = this.#timeLeft.elapsed(now);
    if (left === undefined && elapsed < EARLY) return "";
    const time =
      left === undefined ? `for ${clockTime(elapsed / 1000)}` : `${clockTime(left)} left`;
    const text = `${this.#separator}${time}`;
    return widthOf(this.text(now, width)) + text.length <= width ? text : "";
  }

  #rate(now: number): readonly string[] {
    const rate = this.#step?.total === undefined ? this.#timeLeft?.perSecond(now) : undefined;
    return rate === undefined
      ? []
      : [`${rate < 10 ? rate.toFixed(1) : groupDigits(Math.round(rate))}/s`];
  }
}

function countText({ done, total, unit }: ProgressStep): string {
  if (unit === "bytes" && total !== undefined)
    return `${formatBytes(done)} of ${formatBytes(total)}`;
  return `${groupDigits(done)}${total === undefined ? "" : `/${groupDigits(total)}`} ${unit}`;
}

/** What must be known before the pace is: completions, ms between them, and ms or a share of the work. */
const MIN_COMPLETIONS = 3;
const MIN_ELAPSED = 2000;
const EARLY = 10_000;
const EARLY_SHARE = 0.05;
/** Without a completion for this many ms, and usual gaps, the pace is no longer known. */
const MAX_SILENCE = 15_000;
const MAX_GAPS = 4;

/** Estimates the rate of counted work and the time left. Times are ms of one clock. */
export class TimeLeft {
  readonly #start: { readonly at: number; readonly done: number };
  #last: { readonly at: number; readonly done: number };

  constructor(at: number, done: number) {
    this.#start = { at, done };
    this.#last = this.#start;
  }

  add(at: number, done: number): void {
    if (done > this.#last.done) this.#last = { at, done };
  }

  /** ms since the start. */
  elapsed(now: number): number {
    return now - this.#start.at;
  }

  /** Completions per second; undefined until they are known, and when the work stalls. */
  perSecond(now: number): number | undefined {
    const rate = this.#rate(now, 0);
    return rate && rate * 1000;
  }

  /** Seconds until `total` is done; undefined until the rate is known, and when the work stalls. */
  seconds(total: number, now: number): number | undefined {
    const { at, done } = this.#last;
    const rate = this.#rate(now, (done - this.#start.done) / (total - this.#start.done));
    const left = rate === undefined ? 0 : (total - done) / rate - (now - at);
    return left > 0 ? left / 1000 : undefined;
  }

  #rate(now: number, share: number): number | undefined {
    const done = this.#last.done - this.#start.done;
    const elapsed = this.#last.at - this.#start.at;
    const isEarly = now - this.#start.at < EARLY && share < EARLY_SHARE;
    if (isEarly || done < MIN_COMPLETIONS || elapsed < MIN_ELAPSED) return undefined;
    const isStalled = now - this.#last.at > Math.max(MAX_SILENCE, (MAX_GAPS * elapsed) / done);
    return isStalled ? undefined : done / elapsed;
  }
}
