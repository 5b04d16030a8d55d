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
