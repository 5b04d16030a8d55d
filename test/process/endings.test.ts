import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { playedRun, recordedRun } from "../lib/played-run.ts";
import { sampled } from "../lib/sampled.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { root } from "../lib/paths.ts";

const bin = join(root, "bin", "wf.js");
const home = await temporaryDirectory();
const server = await testSandbox({ speed: 1 });
let number = 0;
/** A run that takes a minute. */
const slow = ["--app", "slow", "run", "--input", "query=x", "--input", "seconds=60"];

/** Runs the built program; `act` is called with its output so far. */
async function wf(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = server.env,
  act?: readonly [text: string, signal: NodeJS.Signals],
) {
  const child = spawn(process.execPath, [bin, ...argv], {
    env: { PATH: process.env["PATH"], HOME: home, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, err] = ["", ""];
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
    if (act && out.includes(act[0])) child.kill(act[1]);
  });
  const [exit] = (await once(child, "close")) as [number | null];
  return { exit, out, err };
}

/** A server that replays a recorded run, and the command line that follows it. */
async function played(title: string, ...cuts: Parameters<typeof playedRun>[1]) {
  const run = recordedRun(title);
  const { baseUrl } = await playedRun(run, cuts);
  return {
    env: { KB_BASE_URL: baseUrl, KB_APP_KEY: "app-x" },
    line: ["events", String(run[0]?.data["workflow_run_id"]), "--follow", "-o", "jsonl"],
  };
}

describe("the exit code of a followed run is its outcome", () => {
  const outcomes = [
    ["run that fails, streaming", 9],
    ["run, streaming", 0],
    ["run with human input, streaming: ends at the pause", 8],
    ["node that fails with a default value: partial-succeeded", 0],
  ] as const;

  test.each(sampled(9, outcomes))("%s: %d", async (title, exit) => {
    const { line, env } = await played(title);
    expect((await wf(line, env)).exit).toBe(exit);
  });

  test("a server that does not respond: 11", async () => {
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port } = closed.address() as AddressInfo; // a TCP server has no other kind
    closed.close();
    const { line } = await played("run, streaming");
    const env = { KB_BASE_URL: `http://127.0.0.1:${port}/v1`, KB_APP_KEY: "app-x" };
    expect((await wf([...line, "--retries", "0"], env)).exit).toBe(11);
  });

  test("a timeout: 12", async () => {
    const started = await wf(slow.concat("--detach", "-o", "name"));
    const line = ["--app", "slow", "events", started.out.trim(), "-F", "--timeout", "1s"];
    const ran = await wf(line);
    expect(ran.exit).toBe(12);
    expect(ran.err).toContain(`wf events ${started.out.trim()} --follow`);
  });

  test("a lost stream without --follow: 13", async () => {
    const { line, env } = await played("run, streaming", {
      at: 300,
      how: "end",
      lost: 0,
      failures: [],
    });
    const once = line.filter((word) => word !== "--follow");
    expect((await wf(once, env)).exit).toBe(13);
  });

  test("an expectation not met: 14", async () => {
    const { line, env } = await played("run, streaming");
    expect((await wf([...line, "--expect", "run failed"], env)).exit).toBe(14);
  });

  const signals = [
    ["SIGINT", 130],
    ["SIGHUP", 129],
    ["SIGTERM", 143],
  ] as const;

  test.each(sampled(5, signals))(
    "%s: %d, the command line to resume, and a recording of complete lines",
    async (signal, exit) => {
      const record = join(home, `${++number}.jsonl`);
      const line = ["--app", "slow", "run", "--input", "query=x", "--input", "seconds=60"];
      const flags = ["--record", record, "-o", "jsonl"];
      const ran = await wf([...line, ...flags], server.env, ["Wait", signal]);
      expect(ran.exit, ran.err).toBe(exit);
      expect(ran.err).toMatch(/wf events [0-9a-f-]{36} --follow/);
      const lines = (await readFile(record, "utf8")).split("\n");
      expect(lines.pop()).toBe("");
      expect(lines.map((each) => Object.keys(JSON.parse(each) as object)[0])).toEqual([
        "recording",
        ...ran.out
          .trimEnd()
          .split("\n")
          .map(() => "at"),
        "end",
      ]);
      expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ end: { exit } });
      expect((await wf(["replay", record, "-q"])).exit).toBe(13);
    },
  );

  test("Ctrl-C while waiting for a run", async () => {
    const started = await wf(slow.concat("--detach", "-o", "name"));
    const child = spawn(
      process.execPath,
      [bin, "--app", "slow", "wait", started.out.trim(), "-v"],
      {
        env: { PATH: process.env["PATH"], HOME: home, ...server.env },
        stdio: ["ignore", "ignore", "pipe"],
      },
    );
    let err = "";
    child.stderr.on("data", (chunk: Buffer) => {
      err += chunk.toString();
      if (err.includes("is running")) child.kill("SIGINT");
    });
    const [exit] = (await once(child, "close")) as [number | null];
    expect(exit).toBe(130);
    expect(err).toContain(`run \`wf wait ${started.out.trim()} --app slow\` to wait again`);
  });
});

afterAll(() => server.sandbox.setFaults([]));
