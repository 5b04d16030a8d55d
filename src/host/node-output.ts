import { fstatSync, statSync, writeSync } from "node:fs";
import { CliError, codeOf, lastLine, reasonOf } from "../errors.ts";
import { attempt } from "../lib/json.ts";
import type { Output } from "./host.ts";

/**
 * stdout or stderr; its stream is opened when it is needed. Writes are awaited, so a slow reader slows the
 * program down and nothing is lost at exit. With `reportErrors` a failed write, as on a full disk, fails
 * the command.
 */
export function nodeOutput(
  name: "stdout" | "stderr",
  { reportErrors }: { readonly reportErrors: boolean },
): Output {
  let closed = false;
  let resumeCount = 0;
  let opened: NodeJS.WriteStream | undefined;
  const writeDirectly = directWriter(name === "stdout" ? 1 : 2);
  const stream = () => (opened ??= open(name, () => resumeCount++));
  const isTTY = () => writeDirectly === undefined && Boolean(stream().isTTY);
  const failed = async (error: Error): Promise<void> => {
    if (["EPIPE", "ERR_STREAM_DESTROYED"].includes(codeOf(error))) closed = true;
    else if (reportErrors) throw writeError(error);
  };
  return {
    async write(text) {
      if (closed) return;
      try {
        if (opened === undefined && writeDirectly?.(text)) return;
      } catch (error) {
        return failed(error as Error); // of the system
      }
      await new Promise<void>((resolve) => {
        stream().write(text, (error) => resolve(error ? failed(error) : undefined));
      });
    },
    get isTTY() {
      return isTTY();
    },
    get terminal() {
      return isTTY() ? stream() : undefined;
    },
    get columns() {
      return isTTY() ? stream().columns : Infinity;
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

/** Ends the process with one line for an error that was not caught, instead of a stack and minified code. */
export function endWithLastLine(error: unknown): never {
  attempt(() => writeSync(2, lastLine(error)));
  process.exit(1);
}

/** An empty pipe takes this many bytes at once on every system. */
const PIPE_BYTES = 4096;

/**
 * Returns a function that writes to stdout or stderr without a stream; undefined for
 * a terminal, a socket and on Windows. It returns false, without writing, if it could wait for the reader of
 * a pipe: while it waits, no signal arrives. Throws the system error.
 */
function directWriter(fd: 1 | 2): ((text: string | Uint8Array) => boolean) | undefined {
  const stats = process.platform === "win32" ? undefined : attempt(() => fstatSync(fd));
  if (stats === undefined) return undefined;
  const isNull =
    stats.isCharacterDevice() && attempt(() => statSync("/dev/null").rdev) === stats.rdev;
  if (!stats.isFIFO() && !stats.isFile() && !isNull) return undefined;
  let free = stats.isFIFO() ? PIPE_BYTES : Infinity;
  return (text) => {
    const bytes = Buffer.from(text);
    if (bytes.length > free) return false;
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
    } catch (error) {
      if (codeOf(error) === "EAGAIN") return false; // another process filled the pipe
      throw error;
    }
    free -= bytes.length;
    return true;
  };
}
