import { expect, test } from "vitest";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { exportToKill, importWithKill, syncInShards, syncWithKills } from "../lib/sync-kills.ts";

const server = await testSandbox({ speed: 50 });
const home = await temporaryDirectory();

test.each([1, 2, 3, 4, 5])("a sync that is killed twenty times (seed %d)", (seed) => {
  // Lists of some servers have null for a document without values, and text for numbers.
  server.sandbox.setFaults(seed % 2 === 1 ? [parseFault("* * plain-metadata")] : []);
  return syncWithKills(server, home, 100 + seed, 20);
});

test.each([
  [3, 40],
  [8, 400],
])("%d shards, one of which is killed and started again", (shards, files) =>
  syncInShards(server, home, shards, files),
);

test.each(["import", "copy"])("%s that is killed after each of its requests", async (command) => {
  const source = `Source of ${command}`;
  const bundle = await exportToKill(server, home, source);
  const argv = [command, command === "import" ? bundle : source];
  let requests = 1;
  while (await importWithKill(server, home, { argv, source, requests })) requests++;
  expect(requests).toBeGreaterThan(10);
});
