import { delimiter, dirname, join } from "node:path";
import { abortError, CliError, codeOf, endOfInput } from "../errors.ts";
import { attempt } from "../lib/json.ts";
import { withoutKeys } from "../redact/keys.ts";
import { bundleFile, isExecutable, directoriesOf, platform } from "./runtime.ts";
import { signalNumber, spawnChild } from "./child-process.ts";
import type { FullScreen, Keyring, RawHost } from "./host.ts";
import { diskFiles } from "./node-files.ts";
import { nodeOutput } from "./node-output.ts";
import { once } from "node:events";

/** The host of this process. */
export function nodeHost(): RawHost {
  const { env } = process;
  const signal = firstSignal();
  return {
    env,
    platform,
    cwd: attempt(() => process.cwd()) ?? "/", // the root if the directory was deleted
    // In the bundle this module is part of a chunk in dist.
    binDirectory: isExecutable
      ? dirname(process.execPath)
      : join(import.meta.dirname, "../bin/shims"),
    builtFile: bundleFile,
    pathSeparator: delimiter,
    process: { pid: process.pid, isAlive },
    stdin: {
      // A getter, because it opens stdin.
      get isTTY() {
        return Boolean(process.stdin.isTTY);
      },
      bytes: () => stdinBytes(signal),
    },
    stdout: nodeOutput("stdout", { reportErrors: true }),
    // stderr is not the result, so write errors are ignored.
    stderr: nodeOutput("stderr", { reportErrors: false }),
    directories: directoriesOf(env),
    files: diskFiles,
    signal,
    takeInterrupt,
    now: () => new Date(),
    elapsed: () => Number(process.hrtime.bigint() / 1_000_000n),
    sleep,
    random: () => Math.random(),
    async dispatcher(settings) {
      endSooner();
      const { createDispatcher } = await import("./dispatcher.ts"); // with undici, 22 ms
      return createDispatcher(settings, env, diskFiles.read);
    },
    keyring: () => openKeyring(signal),
    spawn: spawnChild,
    prompt,
    fullScreen: openFullScreen,
  };
}

/**
 * Node 20 optimizes undici's WebAssembly parser in the background and waits for that at exit: 80 ms of a
 * request's 195, and 20 MB more on long lists. The baseline compiler is fast enough. Newer versions do not wait.
 */
function endSooner(): void {
  if (!process.version.startsWith("v20.")) return;
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  for (const flag of ["wasm-tier-up", "wasm-dynamic-tiering"]) setFlagsFromString(`--no-${flag}`);
}

async function* stdinBytes(signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const stop = () => process.stdin.destroy(abortError(signal));
  signal.addEventListener("abort", stop, { once: true });
  yield* process.stdin;
  signal.removeEventListener("abort", stop);
  if (signal.aborted) throw abortError(signal);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM"; // another user's
  }
}

/** What the next SIGINT calls instead. */
let interrupted: (() => void) | undefined;

function takeInterrupt(take: () => void): () => void {
  interrupted = take;
  return () => (interrupted = undefined);
}

/** Aborts on the first signal that nothing takes; the next one exits at once with the code of that signal. */
function firstSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      const take = name === "SIGINT" ? interrupted : undefined;
      interrupted = undefined;
      if (take) return take();
      if (controller.signal.aborted) process.exit(128 + signalNumber(name));
      controller.abort(name);
    });
  }
  return controller.signal;
}

/** setTimeout fires at once for longer delays. */
const MAX_DELAY_MS = 2 ** 31 - 1;

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(new Error("aborted", { cause: signal?.reason }));
    };
    const finish = () => {
      signal?.removeEventListener("abort", stop);
      resolve();
    };
    // After a suspension the timer is due before Node.js tells of SIGCONT; an immediate comes after that.
    const timer = setTimeout(() => setImmediate(finish), Math.min(ms, MAX_DELAY_MS));
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Loads the keyring on first use. Its child process is killed when this one ends. */
async function openKeyring(signal: AbortSignal): Promise<Keyring> {
  if (isExecutable) throw new Error("the single executable does not support it");
  const { systemKeyring } = await import("./system-keyring.ts");
  const exited = new AbortController();
  process.once("exit", () => exited.abort());
  const stop = AbortSignal.any([signal, exited.signal]);
  return systemKeyring(process.execPath, withoutKeys(process.env), stop);
}

/** Prompts on stderr, because stdout is for the result. */
const prompt: RawHost["prompt"] = async (
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

const escape = "\u001b[";
/** Shows the alternate screen without a cursor, and the normal one with it. */
const enter = `${escape}?1049h${escape}?25l`;
const leave = `${escape}?25h${escape}?1049l`;

async function openFullScreen(): Promise<FullScreen> {
  const { emitKeypressEvents } = await import("node:readline");
  const { stdin, stdout } = process;
  const keys = new KeyQueue();
  const onResize = () => keys.push("resize");
  const onKey = (text: string | undefined, key: { name?: string; ctrl?: boolean }) => {
    // In raw mode the terminal sends no signals.
    if (key.ctrl && key.name === "c") process.emit("SIGINT");
    else if (key.ctrl && key.name === "z" && process.platform !== "win32") suspend();
    else keys.push(key.name ?? text ?? "");
  };
  const takeOver = () => {
    stdin.setRawMode(true);
    stdout.write(enter);
  };
  const giveBack = () => {
    stdin.setRawMode(false);
    stdout.write(leave);
  };
  const suspend = () => {
    giveBack();
    process.once("SIGCONT", () => {
      takeOver();
      keys.push("resize");
    });
    process.kill(process.pid, "SIGTSTP");
  };

  emitKeypressEvents(stdin);
  stdin.on("keypress", onKey);
  stdin.resume();
  stdout.on("resize", onResize);
  process.on("exit", giveBack);
  takeOver();
  return {
    keys,
    leave() {
      if (keys.hasEnded) return;
      keys.end();
      stdin.off("keypress", onKey);
      stdin.pause();
      stdout.off("resize", onResize);
      process.off("exit", giveBack);
      giveBack();
    },
  };
}

/** Keys that were pressed and not read yet. */
class KeyQueue implements AsyncIterable<string> {
  hasEnded = false;
  readonly #keys: string[] = [];
  #wake: () => void = () => {};

  push(key: string): void {
    this.#keys.push(key);
    this.#wake();
  }

  end(): void {
    this.hasEnded = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    while (!this.hasEnded) {
      const key = this.#keys.shift();
      if (key !== undefined) yield key;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
