import type { Host, Output } from "../host.ts";

/** ms of waiting before anything is shown. */
const patience = 300;

/** Shows that something is going on, on a terminal and only while nothing else is written. */
export interface Progress {
  /** The same host, but what is written takes the spinner away first. */
  readonly host: Host;
  stop(): void;
}

/**
 * A spinner on standard error that appears after 300 ms without output. Where there is no terminal,
 * or redrawing is unwanted, it shows nothing.
 */
export function progress(host: Host, text: string, wanted: boolean): Progress {
  const { terminal } = host.stderr;
  if (!wanted || terminal === undefined) return { host, stop: () => {} };
  const ended = new AbortController();
  let spinner: { stop(): unknown } | undefined;
  host
    .sleep(patience, ended.signal)
    .then(async () => {
      const { default: ora } = await import("ora");
      if (ended.signal.aborted) return;
      // Standard input stays with whoever reads it: a prompt, or a pipe.
      spinner = ora({ text, stream: terminal, discardStdin: false, isEnabled: true }).start();
    })
    .catch(() => {}); // the command was quicker
  const stop = () => {
    ended.abort();
    spinner?.stop();
    spinner = undefined;
  };
  const clearing = (output: Output): Output => ({
    write: (words) => {
      stop();
      return output.write(words);
    },
    isTTY: output.isTTY,
    terminal: output.terminal,
    get columns() {
      return output.columns;
    },
    get closed() {
      return output.closed;
    },
  });
  const ask: Host["ask"] = (question, options) => {
    stop();
    return host.ask(question, options);
  };
  return {
    host: { ...host, stdout: clearing(host.stdout), stderr: clearing(host.stderr), ask },
    stop,
  };
}
