import { setMaxListeners } from "node:events";
import { interrupted } from "../api/interrupted.ts";
import { CliError } from "../errors.ts";
import type { Host } from "../host.ts";

/**
 * The same host for a command that may take so many ms: its signal is aborted then, too, and what is
 * read from standard input ends with it. `stop` ends the waiting.
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
  const { stdin } = host;
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
  const aborted = new Promise<never>((_, reject) => {
    const stop = () => reject(interrupted(signal, false));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
  });
  aborted.catch(() => {}); // mostly nobody reads any more
  for (;;) {
    const next = await Promise.race([values.next(), aborted]);
    if (next.done) return;
    yield next.value;
  }
}
