import { CliError, codeOf, reasonOf } from "../errors.ts";
import type { Output } from "./host.ts";

/**
 * stdout or stderr, opened on first use, because it takes Node.js 2 ms. Writes are awaited, so a slow
 * reader slows the program down and nothing is lost at exit. With `reportErrors` a failed write, as on a
 * full disk, fails the command.
 */
export function nodeOutput(
  name: "stdout" | "stderr",
  { reportErrors }: { readonly reportErrors: boolean },
): Output {
  let closed = false;
  let resumeCount = 0;
  let opened: NodeJS.WriteStream | undefined;
  const stream = () => (opened ??= open(name, () => resumeCount++));
  return {
    write: (text) =>
      closed
        ? Promise.resolve()
        : new Promise((resolve, reject) => {
            stream().write(text, (error) => {
              if (!error) return resolve();
              if (["EPIPE", "ERR_STREAM_DESTROYED"].includes(codeOf(error))) closed = true;
              else if (reportErrors) return reject(writeError(error));
              resolve();
            });
          }),
    get isTTY() {
      return Boolean(stream().isTTY);
    },
    get terminal() {
      return stream().isTTY ? stream() : undefined;
    },
    get columns() {
      return stream().isTTY ? stream().columns : Infinity;
    },
    get resumeCount() {
      return resumeCount;
    },
    get closed() {
      return closed;
    },
  };
}

function open(name: "stdout" | "stderr", onResume: () => void): NodeJS.WriteStream {
  const stream = process[name];
  if (stream.isTTY) {
    process.on("SIGCONT", onResume);
    setDefaultSize(stream);
  }
  // Without a listener, EPIPE would crash the process even though write() has a callback.
  stream.on("error", () => {});
  return stream;
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
