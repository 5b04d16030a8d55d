import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { root } from "../lib/paths.ts";

const server = await testSandbox({ speed: 50 });
const home = await temporaryDirectory();
const bin = join(root, "bin", "kb.js");

/** Creates a directory with short texts. */
async function directory(count: number): Promise<string> {
  const dir = join(home, String(count));
  for (let at = 0; at < count; at++) {
    if (at < 100) await mkdir(join(dir, String(at)), { recursive: true });
    await writeFile(join(dir, String(at % 100), `${at}.md`), `# Document ${at}\n`);
  }
  return dir;
}

/** Runs the built program with 256 MB of heap. */
async function run(argv: readonly string[]): Promise<{ exit: unknown; err: string }> {
  const child = spawn(process.execPath, ["--max-old-space-size=256", bin, ...argv], {
    env: { PATH: process.env["PATH"], HOME: home, ...server.env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let err = "";
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const [exit] = (await once(child, "close")) as unknown[];
  return { exit, err };
}

test.each([
  ["100000", ["--dry-run"], "100,000 files: 100,000 to create"],
  ["5000", [], "5,000 files: 5,000 created"],
  ["5000", [], "5,000 files: 5,000 unchanged"],
])("a directory of %s files is synced %j", async (count, flags, info) => {
  const dir = await directory(Number(count));
  await server.cli(["kb", "create", `Base ${count}`, "--indexing-technique", "economy"]);
  const ran = await run(["sync", `Base ${count}`, dir, ...flags]);
  expect(ran.exit, ran.err).toBe(0);
  expect(ran.err).toContain(info);
});
