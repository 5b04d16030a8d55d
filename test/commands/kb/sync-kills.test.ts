import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { textsOf } from "../../lib/synced-base.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import { exportToKill, importWithKill, start, syncWithKills } from "../../lib/sync-kills.ts";

const server = await testSandbox({ speed: 50 });
const home = await temporaryDirectory();

test("repeatedly killed syncs end with the state of the directory", async () => {
  // Lists of some servers have null for a document without values.
  server.sandbox.setFaults([parseFault("* * plain-metadata")]);
  await syncWithKills(server, home, 1, 2);
  server.sandbox.setFaults([]);
});

test("a killed import and a killed copy resume", async () => {
  const source = "Killed";
  const bundle = await exportToKill(server, home, source);
  for (const [argv, requests] of [
    [["import", bundle], 5],
    [["copy", source], 14],
  ] as const)
    expect(await importWithKill(server, home, { argv, source, requests })).toBe(true);
});

const base = async (name: string) =>
  (
    await server.cli(["kb", "create", name, "--indexing-technique", "economy", "-o", "name"])
  ).out.trim();
const texts = (kb: string) => textsOf(server, kb);

test("--watch syncs after each change until Ctrl-C", async () => {
  const dir = join(home, "watched");
  await write(dir, { "a.md": "one" });
  const kb = await base("Watched");
  const { child, ended } = start(server, home, ["sync", kb, dir, "--watch"]);
  const info = () =>
    new Promise<void>((resolve) => {
      let text = "";
      child.stderr.on("data", function heard(chunk: Buffer) {
        text += chunk.toString();
        if (!text.includes("watching")) return;
        child.stderr.off("data", heard);
        resolve();
      });
    });
  await info();
  const again = info();
  await write(dir, { "a.md": "two", "sub/b.md": "new" });
  await again;
  expect((await texts(kb))["a.md"]).toBe("two");
  child.kill("SIGINT");
  const { exit, err } = await ended;
  expect([exit, err]).toEqual([130, expect.not.stringContaining("unknown")]);
});

test("--since reads only files changed in git, with the same result as a full sync", async () => {
  const dir = join(home, "repository");
  const git = (...args: readonly string[]) =>
    execFileSync("git", [
      "-C",
      dir,
      "-c",
      "user.name=a",
      "-c",
      "user.email=a@example.com",
      ...args,
    ]);
  await write(dir, { "docs/a.md": "a", "docs/b.md": "b", "other.md": "o" });
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "first");
  const kb = await base("Since");
  const sync = async (...flags: readonly string[]) => {
    const ran = await start(server, home, ["sync", kb, join(dir, "docs"), ...flags]).ended;
    expect(ran.exit, ran.err).toBe(0);
    return ran.err;
  };
  expect(await sync("--since", "HEAD")).toContain("2 files: 2 created");
  await write(dir, { "docs/b.md": "changed", "docs/c.md": "new", "other.md": "changed" });
  expect(await sync("--since", "HEAD")).toMatch(
    /^2 files: (1 updated, 1 created|1 created, 1 updated);/m,
  );
  expect(await texts(kb)).toEqual({ "a.md": "a", "b.md": "changed", "c.md": "new" });
  expect(await sync()).toContain("3 files: 3 unchanged");
  const wrong = await start(server, home, ["sync", kb, join(dir, "docs"), "--since", "nowhere"])
    .ended;
  expect(wrong.exit).toBe(2);
});
