/** Commands at once that do not know of each other. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { write } from "../lib/directory.ts";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { runShards } from "../lib/shards.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { start } from "../lib/sync-kills.ts";

test("eight shards of a sync and eight of a suite share a server with ten connections", async () => {
  const server = await testSandbox({
    connections: 10,
    faults: [parseFault("POST * delay=500ms")],
  });
  await runShards(server, { files: 40, tests: 32 });
}, 120_000);

test("commands that are stopped do not hold up another one", async () => {
  const creates = { open: 0, onTen: () => {} };
  const server = await testSandbox({
    onRequest({ path }) {
      if (path.endsWith("/create-by-text") && ++creates.open === 10) creates.onTen();
    },
  });
  const home = await temporaryDirectory();
  const sync = async (name: string) => {
    const files = Array.from({ length: 4 }, (_, at) => [`${at}.md`, `${name} ${at}`]);
    await write(join(home, name), Object.fromEntries(files));
    await server.done(["kb", "create", name, "--indexing-technique", "economy"]);
    return start(server, home, ["sync", name, join(home, name), "--no-wait", "--timeout", "2m"]);
  };
  server.sandbox.setFaults([parseFault("POST */create-by-text silence")]);
  const haveTen = new Promise<void>((resolve) => (creates.onTen = resolve));
  const stopped = await Promise.all(["one", "two", "three", "four"].map(sync));
  await haveTen;
  for (const { child } of stopped) child.kill("SIGSTOP");
  server.sandbox.setFaults([]);
  const { exit, err } = await (await sync("next")).ended;
  for (const { child } of stopped) child.kill("SIGKILL");
  expect(exit, err).toBe(0);
  await Promise.all(stopped.map(({ ended }) => ended));
  // The journals of the killed ones wait for the next sync of their knowledge bases.
  const left = await readdir(join(home, "state"));
  expect(left.filter((name) => !name.startsWith("sync-"))).toEqual([]);
}, 180_000);
