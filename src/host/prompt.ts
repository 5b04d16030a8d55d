import { CliError } from "../errors.ts";
import type { RawHost } from "./host.ts";

/** Prompts on stderr, because stdout is for the result. */
export const prompt: RawHost["prompt"] = async (question, { hidden = false, signal } = {}) => {
  const { createInterface } = await import("node:readline/promises");
  const { Writable } = await import("node:stream");
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({
    input: process.stdin,
    output: hidden ? discard : process.stderr,
    terminal: true,
  });
  // From here on the terminal no longer echoes input.
  if (hidden) process.stderr.write(question);
  // In raw mode Ctrl-C and Ctrl-D reach the reader, not the process.
  const canceled = new AbortController();
  reader.on("SIGINT", () => canceled.abort());
  reader.on("close", () => canceled.abort());
  const stop = AbortSignal.any([canceled.signal, ...(signal ? [signal] : [])]);
  try {
    return await reader.question(hidden ? "" : question, { signal: stop });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new CliError("interrupted", "interrupted", { sideEffect: "none" });
  } finally {
    reader.close();
    if (hidden) process.stderr.write("\n");
  }
};
