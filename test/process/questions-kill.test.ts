/** The built program, killed while an application writes questions: answers that were paid for are kept. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../lib/paths.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { start } from "../lib/sync-kills.ts";

/** Requests at a time, the most that can be on their way when a process is killed. */
const inFlight = 8;

test("questions that were killed are continued, and no answer is paid for twice", async () => {
  const server = await testSandbox({ models: true });
  const home = await temporaryDirectory();
  await server.done(["kb", "create", "Staff", "--indexing-technique", "high_quality"]);
  await server.done(["kb", "sync", "Staff", join(root, "examples/handbook")], { folder: home });
  const asked = (from: number) =>
    server.seen.slice(from).filter(({ path }) => path.endsWith("/workflows/run")).length;
  const line = (name: string, seed: string) => [
    "questions",
    "Staff",
    join(home, name),
    "--app",
    "questioner",
    "--count",
    "30",
    "--seed",
    seed,
    "--yes",
  ];
  const before = server.seen.length;
  await server.done(["kb", ...line("whole.jsonl", "3")], { folder: home });
  const whole = asked(before);
  const from = server.seen.length;
  const kills = [5, 15, 25];
  for (const after of kills) {
    const { child, ended } = start(server, home, line("killed.jsonl", "3"));
    const watch = setInterval(() => {
      if (asked(from) >= after) child.kill("SIGKILL");
    }, 1);
    expect((await ended).exit).not.toBe(0);
    clearInterval(watch);
  }
  await server.done(["kb", ...line("killed.jsonl", "3")], { folder: home });
  expect(await readFile(join(home, "killed.jsonl"), "utf8")).toBe(
    await readFile(join(home, "whole.jsonl"), "utf8"),
  );
  expect(asked(from)).toBeLessThanOrEqual(whole + kills.length * inFlight);
});
