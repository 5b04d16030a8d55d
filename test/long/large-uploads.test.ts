// Memory of uploads that are larger than it should be.
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listening } from "../lib/listening.ts";
import { shell } from "../lib/shell.ts";
import { temporaryDirectory } from "../lib/support.ts";

const size = 100_000_000;

/** Prints the peak in KB at the exit. A process inherits that of its parent's resource usage, but not this one. */
const hook = `process.on("exit", () => {
  const status = require("node:fs").readFileSync("/proc/self/status", "utf8");
  process._rawDebug("peak " + /VmHWM:\\s*(\\d+)/.exec(status)[1]);
});`;

/** Uploads a file, or stdin, of 100 MB; returns the peak memory in MB. */
async function peakOf(script: string): Promise<number> {
  let received = 0;
  const server = createServer((request, response) => {
    request.on("data", (chunk: Buffer) => (received += chunk.length));
    request.on("end", () => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"text":"words"}');
    });
  });
  const home = await temporaryDirectory();
  await writeFile(join(home, "peak.cjs"), hook);
  const env = {
    HOME: home,
    KB_BASE_URL: await listening(server),
    KB_APP_KEY: "app-x",
    NODE_OPTIONS: `--require ${join(home, "peak.cjs")}`,
  };
  const ran = await shell(`cd ${home}; ${script}`, env).ended;
  expect(ran, ran.err).toMatchObject({ exit: 0 });
  expect(received).toBeGreaterThan(size);
  return Number(/^peak (\d+)$/m.exec(ran.err)?.[1]) / 1000;
}

test.runIf(process.platform === "linux")(
  "an upload from stdin takes its size in memory, and one of a file does not",
  async () => {
    const file = await peakOf(`head -c ${size} /dev/zero > a.mp3; wf audio transcribe a.mp3`);
    expect(file).toBeLessThan(150);
    expect(await peakOf(`head -c ${size} /dev/zero | wf audio transcribe -`)).toBeLessThan(
      file + 150,
    );
  },
);
