import type { ChildProcess } from "node:child_process";
import type { RawHost, SpawnOptions } from "./host.ts";

const KILL_DELAY_MS = 1000;

/** The number of a signal. */
export const signalNumber = (name: NodeJS.Signals): number =>
  process.getBuiltinModule("node:os").constants.signals[name];

/** Starts a program. */
export const spawnChild: RawHost["spawn"] = (command, args, options) => {
  const { env, collect, shell = false, cwd, input, keepsInput } = options;
  const detached = startsOwnGroup(collect);
  // Loaded on first use. On Windows cross-spawn also finds scripts, such as kb.cmd.
  const started = import("cross-spawn").then(({ default: spawn }) => {
    const child = spawn(command, [...args], {
      env: { ...env },
      shell,
      cwd,
      detached: detached && process.platform !== "win32",
      stdio: [
        input === undefined ? "inherit" : "pipe",
        collect === undefined ? "inherit" : "pipe",
        input === undefined ? "inherit" : "pipe",
      ],
    });
    child.stdin?.on("error", () => {}); // it need not read all of it
    if (!keepsInput) child.stdin?.end(input);
    const kill = (signal: NodeJS.Signals) => killChild(child, signal, detached);
    const itself = new Promise<void>((resolve) => void child.once("exit", () => resolve()));
    const output = collectOutput(child, kill, options);
    return { ...output, ended: itself, kill, stdout: child.stdout };
  });
  const exit = started.then((child) => child.exit);
  const ended = Promise.all([started, exit]).then(([child]) => child);
  ended.catch(() => {}); // `exit` rejects with the same error
  const output = ended.then(({ text }) => text());
  const errors = ended.then((child) => child.errors());
  for (const each of [output, errors]) each.catch(() => {});
  const bytes = bytesOf(started.then(({ stdout }) => stdout));
  const kill = (signal: NodeJS.Signals) => void started.then((child) => child.kill(signal));
  return { exit, ended: started.then((child) => child.ended), output, errors, bytes, kill };
};

async function* bytesOf(stdout: Promise<ChildProcess["stdout"]>): AsyncGenerator<Uint8Array> {
  yield* (await stdout) ?? [];
}

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
  { collect = Infinity, stream = false, signal }: SpawnOptions,
): Record<"text" | "errors", () => string> & { readonly exit: Promise<number> } {
  const stop = () => {
    kill("SIGTERM");
    setTimeout(() => kill("SIGKILL"), KILL_DELAY_MS).unref();
    // Its own children may still hold the other ends.
    child.stdin?.destroy();
    child.stdout?.destroy();
    child.stderr?.destroy();
  };
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted) stop();
  const [chunks, errors]: [Buffer[], Buffer[]] = [[], []];
  const exit = new Promise<number>((resolve, reject) => {
    let size = 0;
    const takeInto = (list: Buffer[]) => (chunk: Buffer) => {
      size += chunk.length;
      if (size <= collect) return void list.push(chunk);
      if (stream) return;
      stop();
      reject(new Error(`it writes more than ${collect} bytes`));
    };
    if (!stream) child.stdout?.on("data", takeInto(chunks));
    child.stderr?.on("data", takeInto(errors));
    child.on("error", reject);
    child.on("close", (code, name) => {
      signal?.removeEventListener("abort", stop);
      resolve(code ?? 128 + (name ? signalNumber(name) : 0));
    });
  });
  const textIn = (list: Buffer[]) => () => Buffer.concat(list).toString();
  return { exit, text: textIn(chunks), errors: textIn(errors) };
}
