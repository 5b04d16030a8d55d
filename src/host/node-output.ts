import { CliError, codeOf, reasonOf } from "../errors.ts";
import { directWriter } from "./direct-write.ts";
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
