import { spawn } from "node:child_process";
import { once } from "node:events";
import { bin } from "./shell.ts";

/** A program whose parent never waits for it. */
export interface Unreaped {
  /** Was it killed before it ended? */
  readonly isKilled: boolean;
  /** Ends the parent, and with it the zombie. */
  readonly end: () => void;
}

/** Runs a built program and kills it after this many ms. Whether it was killed or has ended, it stays as a zombie. */
export async function runUnreaped(
  program: string,
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  after: number,
): Promise<Unreaped> {
  // The shell becomes a program that waits for no child; only the command holds the pipe.
  const script = '"$@" 1>&2 & echo $!; exec sleep 6000 1>/dev/null 2>&1';
  const parent = spawn("sh", ["-c", script, "sh", process.execPath, bin(program), ...argv], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  parent.stderr.resume();
  const closed = once(parent.stderr, "close");
  const [first] = (await once(parent.stdout, "data")) as [Buffer];
  const pid = Number(first.toString());
  let isKilled = false;
  const timer = setTimeout(() => {
    isKilled = true;
    process.kill(pid, "SIGKILL");
  }, after);
  await closed;
  clearTimeout(timer);
  return { isKilled, end: () => parent.kill("SIGKILL") };
}
