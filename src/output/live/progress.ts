import type { Host, Output } from "../../host/host.ts";
import { withWrite } from "../stream-wrap.ts";
import { visible } from "../table/display-width.ts";

/** ms of waiting before anything is shown. */
const patience = 300;
/** ms between two lines where nothing is redrawn; a tenth of the work may come sooner. */
const longBeat = 10_000;
const shortBeat = 1000;

/** How far something is. */
export interface ProgressStep {
  readonly done: number;
  /** Absent where the length is not known. */
  readonly total?: number | undefined;
  /** What is counted: `documents`. */
  readonly unit: string;
  /** Further words: `2 failed`. */
  readonly note?: string | undefined;
}

/** How progress is shown. */
export interface ProgressStyle {
  /** False: not at all. */
  readonly wanted: boolean;
  /** May lines be drawn again? */
  readonly redraws: boolean;
  readonly color: boolean;
}

/** Shows on standard error that something is going on, while nothing else is written. */
export interface ProgressBar {
  /** The same host, but what is written takes the spinner away first. */
  readonly host: Host;
  tell(step: ProgressStep): void;
  stop(): void;
}

/**
 * On a terminal a spinner that appears after 300 ms without output, with what was told last; in a
 * pipe, and where redrawing is unwanted, a line every ten seconds or tenth of the way. Nothing where
 * it is not wanted.
 */
export function progress(host: Host, text: string, style: ProgressStyle): ProgressBar {
  const { wanted, redraws, color } = style;
  if (wanted && redraws) return spinning(host, text, color);
  const start = host.elapsed();
  let [toldAt, info] = [start, 0];
  const tell = (step: ProgressStep) => {
    const now = host.elapsed();
    const tenth = (step.total ?? Infinity) / 10;
    const due =
      now - toldAt >= longBeat || (now - toldAt >= shortBeat && step.done - info >= tenth);
    if (!due || step.done === step.total) return;
    [toldAt, info] = [now, step.done];
    host.stderr.write(`${words(step, now - start)}\n`).catch(() => {}); // nobody reads it
  };
  return { host, tell: wanted ? tell : () => {}, stop: () => {} };
}

function spinning(host: Host, text: string, color: boolean): ProgressBar {
  const { terminal } = host.stderr;
  const start = host.elapsed();
  const ended = new AbortController();
  let spinner: { stop(): unknown; text: string } | undefined;
  let shown = text;
  let starting = false;
  const appear = (after: number) => {
    if (starting || spinner || ended.signal.aborted || terminal === undefined) return;
    starting = true;
    host
      .sleep(after, ended.signal)
      .then(async () => {
        const { default: ora } = await import("ora");
        starting = false;
        if (ended.signal.aborted) return;
        // Standard input stays with whoever reads it: a prompt, or a pipe.
        spinner = ora({
          text: shown,
          stream: terminal,
          color: color && "cyan",
          discardStdin: false,
          isEnabled: true,
        }).start();
      })
      .catch(() => {}); // the command was quicker
  };
  appear(patience);
  const clear = () => {
    spinner?.stop();
    spinner = undefined;
  };
  const stop = () => {
    ended.abort();
    clear();
  };
  const clearing = (output: Output, away: () => void): Output =>
    withWrite(output, (words) => {
      away();
      return output.write(words);
    });
  // What is told brings the spinner back; without that, output is all there is to see.
  let tells = false;
  const away = () => (tells ? clear() : stop());
  const prompt: Host["prompt"] = (question, options) => {
    stop();
    return host.prompt(question, options);
  };
  return {
    host: {
      ...host,
      stdout: clearing(host.stdout, away),
      stderr: clearing(host.stderr, away),
      prompt,
    },
    tell(step) {
      tells = true;
      shown = words(step, host.elapsed() - start);
      if (spinner) spinner.text = shown;
      else appear(patience);
    },
    stop,
  };
}

/** `12 of 340 documents, 4.0/s, 82 s left`. */
function words({ done, total, unit, note }: ProgressStep, ms: number): string {
  const rate = (done * 1000) / Math.max(1, ms);
  const known = total !== undefined && done > 0;
  const text = [
    total === undefined ? `${done} ${unit}` : `${done} of ${total} ${unit}`,
    ...(note === undefined ? [] : [note]),
    ...(known ? [`${rate.toFixed(rate < 10 ? 1 : 0)}/s`, left((total - done) / rate)] : []),
  ].join(", ");
  return visible(text); // a note may hold words of a server
}

function left(seconds: number): string {
  if (seconds < 100) return `${Math.ceil(seconds)} s left`;
  return `${Math.ceil(seconds / 60)} min left`;
}
