import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bin } from "./shell.ts";
import { testSandbox } from "./sandbox.ts";
import { temporaryDirectory } from "./support.ts";

/** A sandbox with long lists and texts, and built programs whose reader closes early. */
export async function closingReader() {
  const home = await temporaryDirectory();
  const server = await testSandbox();
  const env = { PATH: process.env["PATH"], HOME: home, ...server.env };
  const text = "grüße 世界 a line of a text that takes some room\n".repeat(6_000);
  await writeFile(join(home, "long.txt"), text);
  await server.done(["kb", "create", "Docs", "--indexing-technique", "economy"]);
  const add = ["kb", "doc", "add", "Docs", "long.txt", "--text-file"];
  await server.done([...add, join(home, "long.txt")]);
  for (let index = 0; index < 60; index++)
    await server.done(["kb", "tag", "create", `tag ${index}`]);

  /** Runs a built program whose reader closes after a number of bytes. */
  async function readUntil(bytes: number, [program = "kb", ...args]: readonly string[], more = {}) {
    const child = spawn(process.execPath, [bin(program), ...args], {
      env: { ...env, ...more },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [read, err] = [0, ""];
    child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
    if (bytes === 0) child.stdout.destroy();
    else
      child.stdout.on("data", (chunk: Buffer) => {
        read += chunk.length;
        if (read >= bytes) child.stdout.destroy();
      });
    const [exit] = (await once(child, "close")) as [number | null];
    return { exit, err };
  }
  return { home, server, env, readUntil };
}
