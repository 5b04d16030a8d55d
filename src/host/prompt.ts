import { once } from "node:events";
import { CliError, endOfInput } from "../errors.ts";
import type { RawHost } from "./host.ts";

/** Prompts on stderr, because stdout is for the result. */
export const prompt: RawHost["prompt"] = async (
  question,
  { hidden = false, multiline = false, signal } = {},
) => {
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
  reader.on("SIGINT", () => canceled.abort("SIGINT"));
  reader.on("close", () => canceled.abort(endOfInput));
  const stop = AbortSignal.any([canceled.signal, ...(signal ? [signal] : [])]);
  const pasted: string[] = [];
  if (multiline) reader.on("line", (line) => pasted.push(line));
  try {
    const first = await reader.question(hidden ? "" : question, { signal: stop });
    // The rest of a pasted text has arrived with its first line; its last line may lack an end.
    while (multiline && reader.line !== "") await once(reader, "line", { signal: stop });
    return [first, ...pasted].join("\n");
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new CliError("interrupted", "interrupted", {
      sideEffect: "none",
      code: canceled.signal.reason === endOfInput ? endOfInput : undefined,
    });
  } finally {
    reader.close();
    if (hidden) process.stderr.write("\n");
  }
};
