import type { Host } from "../../host/host.ts";
import { visible } from "../table/display-width.ts";
import type { Bottom, TerminalWriter } from "./terminal-writer.ts";

/** ms before the spinner appears. */
const SPINNER_DELAY = 300;
/** ms between two lines if nothing is redrawn; the shorter one after a tenth of the work. */
const MAX_INTERVAL = 10_000;
const MIN_INTERVAL = 1000;

/** The progress of a command. */
export interface ProgressStep {
  readonly done: number;
  /** Undefined if the total is unknown. */
  readonly total?: number | undefined;
  /** The counted items: `documents`. */
  readonly unit: string;
  /** A further part: `2 failed`. */
  readonly note?: string | undefined;
}

/** How progress is displayed. */
export interface ProgressStyle {
  readonly enabled: boolean;
  /** Whether lines may be redrawn. */
  readonly redraws: boolean;
  readonly color: boolean;
}

/** Displays progress on stderr while nothing else is written. */
export interface ProgressBar {
  readonly update: (step: ProgressStep) => void;
  readonly stop: () => void;
}

/**
 * On a terminal a spinner with the last step, which appears after 300 ms without output. In a pipe, or
 * if redrawing is disabled, a line every ten seconds or tenth of the work.
 */
export function progress(
  terminal: TerminalWriter,
  text: string,
  style: ProgressStyle,
): ProgressBar {
  if (!style.enabled) return { update: () => {}, stop: () => {} };
  if (!style.redraws) return { update: stepPrinter(terminal.host), stop: () => {} };
  return new Spinner(terminal, text, style.color);
}

function stepPrinter(host: Host): (step: ProgressStep) => void {
  const start = host.elapsed();
  let last = { at: start, done: 0 };
  return (step) => {
    const now = host.elapsed();
    const isTenth = step.done - last.done >= (step.total ?? Infinity) / 10;
    const isDue = now - last.at >= (isTenth ? MIN_INTERVAL : MAX_INTERVAL);
    if (!isDue || step.done === step.total) return;
    last = { at: now, done: step.done };
    host.stderr.write(`${stepText(step, now - start)}\n`).catch(() => {}); // progress may be lost
  };
}

/** A spinner at the bottom of the terminal; after other output, the next step restores it. */
class Spinner implements ProgressBar, Bottom {
  readonly #host: Host;
  readonly #color: boolean;
  readonly #startedAt: number;
  readonly #unshare: () => void;
  #text: string;
  #ora: { stop(): unknown; text: string } | undefined;
  /** Aborts the delay before the spinner appears; undefined if it is not about to appear. */
  #starting: AbortController | undefined;
  #isStopped = false;

  constructor(terminal: TerminalWriter, text: string, color: boolean) {
    this.#host = terminal.host;
    this.#text = text;
    this.#color = color;
    this.#startedAt = this.#host.elapsed();
    this.#unshare = terminal.share(this);
    void this.#start();
  }

  readonly update = (step: ProgressStep): void => {
    this.#text = stepText(step, this.#host.elapsed() - this.#startedAt);
    if (this.#ora) this.#ora.text = this.#text;
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

  show(): void {} // the next step does

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
    this.#ora = ora({
      text: this.#text,
      stream: terminal,
      color: this.#color && "cyan",
      discardStdin: false, // stdin may be a pipe, or be read by a prompt
      isEnabled: true,
    }).start();
  }
}

/** `12 of 340 documents, 4.0/s, 82 s left`. */
function stepText({ done, total, unit, note }: ProgressStep, ms: number): string {
  const rate = (done * 1000) / Math.max(1, ms);
  const parts = [total === undefined ? `${done} ${unit}` : `${done} of ${total} ${unit}`];
  if (note !== undefined) parts.push(note);
  if (total !== undefined && done > 0)
    parts.push(`${rate.toFixed(rate < 10 ? 1 : 0)}/s`, timeLeft((total - done) / rate));
  return visible(parts.join(", ")); // a note may contain text of a server
}

function timeLeft(seconds: number): string {
  if (seconds < 100) return `${Math.ceil(seconds)} s left`;
  return `${Math.ceil(seconds / 60)} min left`;
}
