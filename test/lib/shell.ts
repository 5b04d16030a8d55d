import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { afterFile } from "./cleanup.ts";
import { root } from "./paths.ts";

/** The JavaScript file of a built program. */
export const bin = (program: string): string => join(root, "bin", `${program}.js`);

/** The result of a shell script. */
export interface Ended {
  /** Null after a signal. */
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
}

/** Starts `sh -c script`, in which `kb` and `wf` are the built programs. */
export function shell(
  script: string,
  env: Readonly<Record<string, string>>,
  {
    args = [],
    ...options
  }: { readonly cwd?: string; readonly uid?: number; readonly args?: readonly string[] } = {},
): { readonly child: ChildProcess; readonly ended: Promise<Ended> } {
  const functions = ["kb", "wf"].map((name) => `${name}() { "$NODE" "${bin(name)}" "$@"; }`);
  const child = spawn("sh", ["-c", [...functions, script].join("\n"), "sh", ...args], {
    env: { PATH: process.env["PATH"], NODE: process.execPath, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    ...options,
  });
  // Has no effect if it has ended.
  afterFile(() => child.kill("SIGKILL"));
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  const ended = new Promise<Ended>((resolve) => {
    child.on("close", (exit) => resolve({ exit, out, err }));
  });
  return { child, ended };
}
