import type { Host, Output } from "../../host/host.ts";
import { withWrite } from "../stream-wrap.ts";
import { visible } from "../table/display-width.ts";

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
  /** The host; writing to it, and prompting, removes the spinner first. */
  readonly host: Host;
  readonly update: (step: ProgressStep) => void;
  readonly stop: () => void;
}

/**
 * On a terminal a spinner with the last step, which appears after 300 ms without output. In a pipe, or
 * if redrawing is disabled, a line every ten seconds or tenth of the work.
 */
export function progress(host: Host, text: string, style: ProgressStyle): ProgressBar {
  if (!style.enabled) return { host, update: () => {}, stop: () => {} };
  if (!style.redraws) return { host, update: stepPrinter(host), stop: () => {} };
  return new Spinner(host, text, style.color);
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

/** A spinner on stderr that is removed before anything else is written. */
class Spinner implements ProgressBar {
  readonly host: Host;
  readonly #host: Host;
  readonly #color: boolean;
  readonly #startedAt: number;
  readonly #stopped = new AbortController();
  #text: string;
  #ora: { stop(): unknown; text: string } | undefined;
  #isStarting = false;
  /** Whether steps are reported: they restore the spinner. Otherwise the first output ends it. */
  #hasSteps = false;

  constructor(host: Host, text: string, color: boolean) {
    this.#host = host;
    this.#text = text;
    this.#color = color;
    this.#startedAt = host.elapsed();
    this.host = {
      ...host,
      stdout: this.#withRemoval(host.stdout),
      stderr: this.#withRemoval(host.stderr),
      prompt: (question, options) => {
        this.stop();
        return host.prompt(question, options);
      },
    };
    this.#start();
  }

  readonly update = (step: ProgressStep): void => {
    this.#hasSteps = true;
    this.#text = stepText(step, this.#host.elapsed() - this.#startedAt);
    if (this.#ora) this.#ora.text = this.#text;
    else this.#start();
  };

  readonly stop = (): void => {
    this.#stopped.abort();
    this.#remove();
  };

  #start(): void {
    const { terminal } = this.#host.stderr;
    const { signal } = this.#stopped;
    if (this.#isStarting || this.#ora || signal.aborted || terminal === undefined) return;
    this.#isStarting = true;
    this.#host
      .sleep(SPINNER_DELAY, signal)
      .then(async () => {
        const { default: ora } = await import("ora");
        this.#isStarting = false;
        if (signal.aborted) return;
        this.#ora = ora({
          text: this.#text,
          stream: terminal,
          color: this.#color && "cyan",
          discardStdin: false, // stdin may be a pipe, or be read by a prompt
          isEnabled: true,
        }).start();
      })
      .catch(() => {}); // the command ended before the delay
  }

  #remove(): void {
    this.#ora?.stop();
    this.#ora = undefined;
  }

  #withRemoval(output: Output): Output {
    return withWrite(output, (words) => {
      if (this.#hasSteps) this.#remove();
      else this.stop();
      return output.write(words);
    });
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
