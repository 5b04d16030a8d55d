import { CliError, codeOf, reasonOf, usage } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { collect } from "../../../lib/collect.ts";
import { shortened } from "../../../lib/text.ts";
import type { Context } from "../../task/command-spec.ts";

/** A program that a source runs; it gets the environment without our keys. */
export interface Program {
  readonly words: readonly string[];
  /** Its directory (default: that of this process). */
  readonly cwd?: string | undefined;
  readonly env?: Host["env"] | undefined;
  /** Its stdin. */
  readonly input?: string;
  /** How to install it, if it is not found. */
  readonly install?: string;
}

/** ms without a byte after which a program counts as hanging. */
const IDLE_MS = 120_000;
/** ms of silence after a program has ended, while what it started holds its output. */
const GRACE_MS = 3000;
/** Bytes of stderr that are kept. */
const MAX_ERRORS = 64 * 1024;

/** Code of the error for a program that ended with another exit code than 0. */
const failedCode = "program-failed";

export const programFailed = (error: unknown): error is CliError =>
  error instanceof CliError && error.info.code === failedCode;

/** The error for a source that does not do what it must; nothing was changed. */
export const sourceError = (message: string, hint?: string): CliError =>
  new CliError("failure", message, { sideEffect: "none", hint });

/** Runs a program without a shell and yields its stdout. Throws failure unless it exits with 0, usage if it is missing. */
export async function* outputOf(
  { words: [command = "", ...first], cwd, env, install, input = "" }: Program,
  args: readonly string[],
  { host, abortError, notice }: Context,
): AsyncGenerator<Uint8Array> {
  const hangs = new AbortController();
  const over = new AbortController();
  const child = host.spawn(command, [...first, ...args], {
    stream: true,
    collect: MAX_ERRORS,
    input,
    ...(cwd !== undefined && { cwd }),
    ...(env && { env }),
    signal: AbortSignal.any([host.signal, hangs.signal]),
  });
  child.exit.catch(() => {}); // awaited below
  let hasEnded = false;
  const ended = (child.ended ?? child.exit.then(() => {})).then(() => void (hasEnded = true));
  ended.catch(() => {}); // as `exit`
  const quiet = (stop: AbortSignal) => {
    const left = ended.then(() => host.sleep(GRACE_MS, stop)).then(afterReading);
    return Promise.race([left, host.sleep(IDLE_MS, stop)]).then(
      () => hangs.abort(),
      () => {},
    );
  };
  let isRead = false;
  try {
    yield* untilSilence(child.bytes ?? (async function* () {})(), quiet);
    isRead = true;
    void quiet(over.signal);
    const exit = await child.exit;
    if (host.signal.aborted) throw abortError();
    if (hangs.signal.aborted && hasEnded)
      await notice(
        `${command} has exited; a process that it started holds its output open and is stopped`,
      );
    else if (hangs.signal.aborted)
      throw sourceError(`${command} wrote nothing for ${IDLE_MS / 1000} s`);
    if (exit === 0) return;
    const errors = host.secrets.masked((await child.errors) ?? "").trim();
    const lines = errors.split("\n");
    const why = shortened(
      lines.find((line) => line.startsWith("fatal: ")) ?? lines.at(-1) ?? "",
      300,
    );
    throw sourceError(`${command} ended with exit code ${exit}${why && `: ${why}`}`).with({
      code: failedCode,
    });
  } catch (error) {
    if (host.signal.aborted) throw abortError();
    if (error instanceof CliError) throw error;
    const reason = codeOf(error) === "ENOENT" ? "program not found" : reasonOf(error);
    throw usage(`failed to run ${command}: ${reason}`, install);
  } finally {
    over.abort();
    if (!isRead) hangs.abort(); // the rest is not read
  }
}

/** Lets what has arrived be read, and its stream be closed: after a pause of the machine, timers come first. */
async function afterReading(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Ends when `quiet` does before the next byte arrives. */
async function* untilSilence(
  bytes: AsyncIterable<Uint8Array>,
  quiet: (stop: AbortSignal) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const iterator = bytes[Symbol.asyncIterator]();
  for (;;) {
    const stop = new AbortController();
    const silence = quiet(stop.signal);
    const next = iterator.next();
    const arrived = await Promise.race([next, silence.then(() => undefined)]).finally(() =>
      stop.abort(),
    );
    if (arrived === undefined || arrived.done) return;
    yield arrived.value;
  }
}

/** All of its stdout. Throws failure if it is more than `limit` bytes. */
export async function bytesFrom(output: AsyncIterable<Uint8Array>, limit: number) {
  let size = 0;
  const parts = await collect(
    (async function* () {
      for await (const part of output) {
        size += part.length;
        if (size > limit) throw sourceError(`more than ${limit} bytes`);
        yield part;
      }
    })(),
  );
  return new Uint8Array(Buffer.concat(parts));
}

/** All of its stdout as text. */
export const textFrom = async (output: AsyncIterable<Uint8Array>, limit = 2 ** 28) =>
  new TextDecoder().decode(await bytesFrom(output, limit));

/** The words of a line, as a shell splits them: quotes and backslashes count, nothing else does. */
export function wordsOf(line: string): string[] {
  const words = [...line.matchAll(/(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+/gs)].map(([word]) =>
    word.replace(
      /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/gs,
      (_, single?: string, double?: string, escaped?: string) =>
        single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? "",
    ),
  );
  if (words.length === 0) throw usage("the program of the source is missing", "exec:PROGRAM ARGS");
  return words;
}
