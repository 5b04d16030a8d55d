import { fstatSync, statSync, writeSync } from "node:fs";
import { codeOf, lastLine } from "../errors.ts";
import { attempt } from "../lib/attempt.ts";

/** Ends the process with one line for an error that was not caught, instead of a stack and minified code. */
export function endWithLastLine(error: unknown): never {
  attempt(() => writeSync(2, lastLine(error)));
  process.exit(1);
}

/** An empty pipe takes this many bytes at once on every system. */
const PIPE_BYTES = 4096;

/**
 * Returns a function that writes to stdout or stderr without a stream, which takes 4 ms to load; undefined for
 * a terminal, a socket and on Windows. It returns false, without writing, if it could wait for the reader of
 * a pipe: while it waits, no signal arrives. Throws the system error.
 */
export function directWriter(fd: 1 | 2): ((text: string | Uint8Array) => boolean) | undefined {
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
