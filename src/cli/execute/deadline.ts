import { setMaxListeners } from "node:events";
import { abortError } from "../../api/abort.ts";
import { CliError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";

/**
 * The same host for a command that may take so many ms: its signal is aborted then, too, and what is
 * read from files and standard input ends with it. `stop` ends the waiting.
 */
export function withTimeLimit(
  host: Host,
  ms: number | undefined,
): { readonly host: Host; readonly stop: () => void } {
  const ended = new AbortController();
  const late = new AbortController();
  if (ms !== undefined) {
    host
      .sleep(ms, ended.signal)
      .then(() => late.abort(deadline(ms)))
      .catch(() => {}); // the command ended first
  }
  const signal = AbortSignal.any([host.signal, late.signal]);
  setMaxListeners(0, signal); // each request on its way listens; Node would warn of more than ten
  const { stdin, files } = host;
  return {
    host: {
      ...host,
      signal,
      stdin: {
        get isTTY() {
          return stdin.isTTY;
        },
        bytes: () => untilAborted(stdin.bytes(), signal),
      },
      dispatcher: (settings) => unlessAborted(host.dispatcher(settings), signal),
      files: {
        ...files,
        read: (path) => unlessAborted(files.read(path), signal),
        bytes: (path) => untilAborted(files.bytes(path), signal),
      },
    },
    stop: () => ended.abort(),
  };
}

const deadline = (ms: number) =>
  new CliError("deadline", `not done after ${ms / 1000} s (--timeout)`, {
    hint: "the remote work may go on; look again, or give more time",
  });

/** Whoever writes them may never do so. */
async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const values = source[Symbol.asyncIterator]();
  for (;;) {
    const next = await unlessAborted(values.next(), signal);
    if (next.done) return;
    yield next.value;
  }
}

/** What is begun after the signal, as an end that is put in order, is waited for. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return work;
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(abortError(signal, false));
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
