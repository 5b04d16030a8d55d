import { setMaxListeners } from "node:events";
import { abortError, CliError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";

/**
 * Wraps the host of a command with a time limit in ms: after it, the signal is aborted, and pending
 * reads of files and stdin end. `stop` clears the timer.
 */
export function withTimeLimit(
  host: Host,
  ms: number | undefined,
): { readonly host: Host; readonly stop: () => void } {
  const { signal, stop } =
    ms === undefined ? { signal: host.signal, stop: () => {} } : timer(host, ms);
  // In-flight requests add listeners; no limit, so that Node does not warn.
  setMaxListeners(0, signal);
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
    stop,
  };
}

/** A signal that is also aborted after the limit, unless it was stopped. */
function timer(
  host: Host,
  ms: number,
): { readonly signal: AbortSignal; readonly stop: () => void } {
  const ended = new AbortController();
  const late = new AbortController();
  host
    .sleep(ms, ended.signal)
    .then(() => late.abort(deadline(ms)))
    .catch(() => {}); // the command ended first
  return { signal: AbortSignal.any([host.signal, late.signal]), stop: () => ended.abort() };
}

const deadline = (ms: number) =>
  new CliError("deadline", `timed out after ${ms / 1000}s`, {
    hint: "the operation may still be running on the server; check its status or increase --timeout",
  });

/** Ends on abort even if the source never yields. */
async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const values = source[Symbol.asyncIterator]();
  for (;;) {
    const next = await unlessAborted(values.next(), signal);
    if (next.done) return;
    yield next.value;
  }
}

/** Rejects on abort; work that starts after the abort, such as cleanup, is awaited. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return work;
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(abortError(signal));
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
