import type { ChildProcess } from "node:child_process";
import type { RawHost, SpawnOptions } from "./host.ts";

/** ms between SIGTERM and SIGKILL. */
const KILL_DELAY_MS = 1000;

/** The number of a signal. `node:os` takes 0.2 ms to load, so it is not imported. */
export const signalNumber = (name: NodeJS.Signals): number =>
  process.getBuiltinModule("node:os").constants.signals[name];

/** Starts a program. */
export const spawnChild: RawHost["spawn"] = (command, args, options) => {
  const { env, collect, shell = false } = options;
  const detached = startsOwnGroup(collect);
  // Loaded on first use. On Windows cross-spawn also finds scripts, such as kb.cmd.
  const started = import("cross-spawn").then(({ default: spawn }) => {
    const child = spawn(command, [...args], {
      env: { ...env },
      shell,
      detached: detached && process.platform !== "win32",
      stdio: ["inherit", collect === undefined ? "inherit" : "pipe", "inherit"],
    });
    const kill = (signal: NodeJS.Signals) => killChild(child, signal, detached);
    return { ...collectOutput(child, kill, options), kill };
  });
  const exit = started.then((child) => child.exit);
  const output = Promise.all([started, exit]).then(([child]) => child.text());
  output.catch(() => {}); // `exit` rejects with the same error
  return { exit, output, kill: (signal) => void started.then(({ kill }) => kill(signal)) };
};

/**
 * In a process group of its own, a child can be killed together with everything it started. At a
 * terminal it stays in this group, so that it can prompt for a password and receive Ctrl-C.
 */
function startsOwnGroup(collect: number | undefined): boolean {
  const { stdin, stdout, stderr } = process;
  return collect !== undefined && ![stdin, stdout, stderr].some(({ isTTY }) => isTTY);
}

function killChild(child: ChildProcess, signal: NodeJS.Signals, group: boolean): void {
  try {
    if (group && child.pid !== undefined) process.kill(-child.pid, signal);
    else child.kill(signal);
  } catch {
    // already exited
  }
}

/** Collects the output of a child until it exits, is aborted, or writes too much. */
function collectOutput(
  child: ChildProcess,
  kill: (signal: NodeJS.Signals) => void,
  { collect = Infinity, signal }: SpawnOptions,
): { readonly exit: Promise<number>; readonly text: () => string } {
  const stop = () => {
    kill("SIGTERM");
    setTimeout(() => kill("SIGKILL"), KILL_DELAY_MS).unref();
    child.stdout?.destroy(); // its own children may still hold the other end
  };
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted) stop();
  const chunks: Buffer[] = [];
  const exit = new Promise<number>((resolve, reject) => {
    let size = 0;
    child.stdout?.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= collect) return void chunks.push(chunk);
      stop();
      reject(new Error(`it writes more than ${collect} bytes`));
    });
    child.on("error", reject);
    child.on("close", (code, name) => {
      signal?.removeEventListener("abort", stop);
      resolve(code ?? 128 + (name ? signalNumber(name) : 0));
    });
  });
  return { exit, text: () => Buffer.concat(chunks).toString() };
}
