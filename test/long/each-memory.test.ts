import { createServer } from "node:http";
import { expect, test } from "vitest";
import { shell } from "../lib/shell.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { listening } from "../lib/listening.ts";

/** The peak memory in MB of a command that checks rows of 200 bytes, is refused, and reports each of them. */
async function peakOf(rows: number): Promise<number> {
  const server = createServer((_, response) => {
    response.writeHead(401, { "content-type": "application/json" });
    response.end('{"code":"unauthorized","message":"Access token is invalid"}');
  });
  const baseUrl = await listening(server);
  const env = {
    HOME: await temporaryDirectory(),
    KB_BASE_URL: baseUrl,
    KB_KEY: "dataset-x",
  };
  const peak =
    "data:text/javascript,process.on('exit',()=>process._rawDebug('peak%20'+process.resourceUsage().maxRSS))";
  const line = `{"name":"tag"}${" ".repeat(185)}`;
  const script = `yes '${line}' | head -n ${rows} |
    NODE_OPTIONS="--import ${peak}" kb tag create --each - --concurrency 1 -o jsonl | wc -l`;
  const ran = await shell(script, env).ended;
  server.close();
  expect(ran.out.trim()).toBe(String(rows));
  expect(ran.err).toContain(`0 of ${rows} rows done, 1 failed, ${rows - 1} not sent`);
  return Number(/^peak (\d+)$/m.exec(ran.err)?.[1]) / 1000;
}

test("a million rows take at most 60 MB more than ten thousand", async () => {
  const few = await peakOf(10_000);
  expect(await peakOf(1_000_000)).toBeLessThan(few + 60);
});

test("a gigabyte of one row on stdin ends with 2, in a heap of 48 MB", async () => {
  const env = {
    HOME: await temporaryDirectory(),
    KB_BASE_URL: "http://127.0.0.1:1/v1",
    KB_KEY: "dataset-x",
    NODE_OPTIONS: "--max-old-space-size=48",
  };
  const ran = await shell("head -c 1000000000 /dev/zero | kb tag create --each -", env).ended;
  expect(ran).toMatchObject({ exit: 2, out: "" });
  expect(ran.err).toContain("stdin line 1: row longer than 8 MiB");
});
