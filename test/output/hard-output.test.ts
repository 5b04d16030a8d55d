import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { closingReader } from "../lib/closing-reader.ts";
import { bin, shell } from "../lib/shell.ts";
import { playedRun, recordedRun } from "../lib/played-run.ts";
import { http, rawServer } from "../lib/raw-server.ts";
import { withoutProgress } from "../lib/support.ts";
import { turns } from "../lib/turns.ts";

const { home, server, env, readUntil } = await closingReader();

describe("a closed reader", () => {
  // More formats and sizes: test/long/closed-readers.test.ts.
  test.concurrent.each([
    [0, ["kb", "tag", "list", "--all", "-o", "grid"]],
    [100, ["kb", "tag", "list", "-o", "jsonl"]],
    [200, ["kb", "--help"]],
    [70_000, ["kb", "chunk", "list", "Docs", "long.txt", "--all", "-o", "jsonl"]],
    [0, ["kb", "tag", "list", "--jq", ".[]"]],
  ] as const)("after %d bytes of %j: 0, and stderr is empty", async (bytes, argv) => {
    expect(await readUntil(bytes, argv)).toEqual({ exit: 0, err: "" });
  });

  test("of followed events: exits with 0, the run continues", async () => {
    const run = recordedRun("run, streaming");
    const { baseUrl } = await playedRun(run, []);
    const line = [
      "wf",
      "events",
      String(run[0]?.data["workflow_run_id"]),
      "-F",
      "-q",
      "-o",
      "jsonl",
    ];
    const ran = await readUntil(1, line, { KB_BASE_URL: baseUrl, KB_APP_KEY: "app-x" });
    expect(ran).toEqual({ exit: 0, err: "" });
  });

  test("of a write: exits with 0 after the write", async () => {
    const ran = await readUntil(0, ["kb", "create", "Unread", "--indexing-technique", "economy"]);
    expect(ran).toEqual({ exit: 0, err: "" });
    expect((await server.cli(["kb", "show", "Unread"])).exit).toBe(0);
  });

  test("of rows of --each: exits with 0 after all rows", async () => {
    const rows = join(home, "rows.csv");
    await writeFile(rows, `name\n${Array.from({ length: 20 }, (_, at) => `row ${at}\n`).join("")}`);
    const ran = await readUntil(0, ["kb", "tag", "create", "--each", rows]);
    expect(ran.exit).toBe(0);
    expect(withoutProgress(ran.err)).toBe("Created tag: 20 of 20 rows done\n");
  });

  test("of stderr: exits with the code of the error", async () => {
    const child = spawn(process.execPath, [bin("kb"), "show", "nobody", "-vv"], {
      env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    child.stderr.destroy();
    expect(await once(child, "close")).toEqual([3, null]);
  });
});

describe("a slow reader of more than a MiB gets every byte", () => {
  const rows = Array.from({ length: 1000 }, (_, index) => `${index} ${"grüße 世界 ".repeat(100)}`);
  const large = JSON.stringify(rows);
  const started = async (format: string, stdout: "pipe" | number) => {
    const { baseUrl } = await rawServer([(socket) => socket.end(http(200, large))]);
    return spawn(process.execPath, [bin("kb"), "api", "GET", "/rows", "-o", format], {
      env: { ...env, KB_BASE_URL: baseUrl },
      stdio: ["ignore", stdout, "inherit"],
    });
  };

  test.concurrent.each([
    ["json", (text: string) => JSON.parse(text) as unknown],
    [
      "jsonl",
      (text: string) =>
        text
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line) as unknown),
    ],
  ])("through a socket that does not block, as %s", async (format, read) => {
    const child = await started(format, "pipe");
    const ended = once(child, "close");
    const pieces: Buffer[] = [];
    for await (const piece of child.stdout ?? []) {
      pieces.push(piece as Buffer);
      // One event-loop turn for each piece: the writer is always ahead.
      await turns();
    }
    expect(await ended).toEqual([0, null]);
    const got = read(Buffer.concat(pieces).toString());
    expect(Array.isArray(got) && Array.isArray(got[0]) ? got[0] : got).toEqual(rows);
  });

  test("through a pipe of a shell", async () => {
    const { baseUrl } = await rawServer([(socket) => socket.end(http(200, large))]);
    // `dd` reads a few bytes at a time, so the pipe is often full.
    const { ended } = shell("kb api GET /rows --jq '.[]' | dd bs=512 2> /dev/null | wc -c", {
      ...env,
      PATH: env.PATH ?? "",
      KB_BASE_URL: baseUrl,
    });
    const bytes = Buffer.byteLength(`${rows.join("\n")}\n`);
    expect(await ended).toMatchObject({ exit: 0, out: expect.stringContaining(String(bytes)) });
  });
});
