import type { Host } from "../../host/host.ts";
import type { ProgressStep } from "../report-model.ts";
import { ellipsis } from "../cut.ts";
import { shorten } from "../display-width.ts";
import type { ProgressStyle } from "../terminal.ts";
import { ProgressLine } from "./progress-line.ts";
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
