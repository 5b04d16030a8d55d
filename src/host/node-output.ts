import { CliError, codeOf, reasonOf } from "../errors.ts";
import type { Output } from "./host.ts";

/**
 * stdout or stderr. Writes are awaited, so a slow reader slows the program down and nothing is lost
 * at exit. With `reportErrors` a failed write, as on a full disk, fails the command.
 */
export function nodeOutput(
  stream: NodeJS.WriteStream,
  { reportErrors }: { readonly reportErrors: boolean },
): Output {
  let closed = false;
  let resumeCount = 0;
  if (stream.isTTY) {
    process.on("SIGCONT", () => void resumeCount++);
    setDefaultSize(stream);
  }
  // Without a listener, EPIPE would crash the process even though write() has a callback.
  stream.on("error", () => {});
  return {
    write: (text) =>
      closed
        ? Promise.resolve()
        : new Promise((resolve, reject) => {
            stream.write(text, (error) => {
              if (!error) return resolve();
              if (["EPIPE", "ERR_STREAM_DESTROYED"].includes(codeOf(error))) closed = true;
              else if (reportErrors) return reject(writeError(error));
              resolve();
            });
          }),
    isTTY: Boolean(stream.isTTY),
    terminal: stream.isTTY ? stream : undefined,
    get columns() {
      return stream.isTTY ? stream.columns : Infinity;
    },
    get resumeCount() {
      return resumeCount;
    },
    get closed() {
      return closed;
    },
  };
}

/**
 * A terminal whose size was never set (`script`, `ssh -tt`) reports 0 columns and 0 rows. Code that
 * draws, ora included, would divide by it and never finish.
 */
function setDefaultSize(stream: NodeJS.WriteStream): void {
  for (const [dimension, fallback] of [
    ["columns", 80],
    ["rows", 24],
  ] as const) {
    let size = stream[dimension];
    Object.defineProperty(stream, dimension, {
      get: () => size || fallback,
      set(current: number) {
        size = current; // Node sets it after each resize
      },
      configurable: true,
      enumerable: true,
    });
  }
}

const writeError = (cause: Error) =>
  new CliError("failure", `failed to write the output: ${reasonOf(cause)}`, {
    cause,
    code: "output",
  });
