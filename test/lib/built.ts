import { spawn } from "node:child_process";
import { join } from "node:path";
import { keys } from "./raw-server.ts";
import { temporaryDirectory } from "./support.ts";
import type { Ran } from "./support.ts";
import { root } from "./paths.ts";

/** Runs the built program in a home of its own, to test the real host: proxies, certificates, timeouts. */
export async function built(
  [program = "kb", ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Ran> {
  const home = await temporaryDirectory();
  const child = spawn(process.execPath, [join(root, "bin", `${program}.js`), ...args], {
    env: { PATH: process.env["PATH"], HOME: home, ...keys, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
  return new Promise((resolve) => {
    child.on("close", (exit) =>
      resolve({
        exit: exit ?? -1,
        out: Buffer.concat(out).toString(),
        err: Buffer.concat(err).toString(),
      }),
    );
  });
}
