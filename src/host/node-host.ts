import { delimiter, dirname, join } from "node:path";
import { abortError, codeOf } from "../errors.ts";
import { attempt } from "../lib/attempt.ts";
import { withoutKeys } from "../redact/keys.ts";
import { bundleFile, isExecutable } from "./bundle-file.ts";
import { signalNumber, spawnChild } from "./child-process.ts";
import { directoriesOf } from "./directories.ts";
import { createDispatcher } from "./dispatcher.ts";
import { openFullScreen } from "./full-screen.ts";
import type { Keyring, RawHost } from "./host.ts";
import { diskFiles } from "./node-files.ts";
import { nodeOutput } from "./node-output.ts";
import { platform } from "./platform.ts";
import { prompt } from "./prompt.ts";

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
    licenses: async () => bundleFile("LICENSES.txt"),
    pathSeparator: delimiter,
    process: { pid: process.pid, isAlive },
    stdin: {
      // A getter, because opening stdin takes 2 ms that help and errors do not need.
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
    now: () => new Date(),
    // `performance` takes 1 ms to load.
    elapsed: () => Number(process.hrtime.bigint() / 1_000_000n),
    sleep,
    random: () => Math.random(),
    dispatcher: (settings) => createDispatcher(settings, env),
    keyring: () => openKeyring(signal),
    spawn: spawnChild,
    prompt,
    fullScreen: openFullScreen,
  };
}

/** Reads stdin until it ends or a signal arrives. */
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

/** Aborts on the first signal; a second one exits at once with the code of that signal. */
function firstSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
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
