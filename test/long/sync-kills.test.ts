import { test } from "vitest";
import { parseFault } from "../../src/sandbox/http/faults.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryFolder } from "../lib/support.ts";
import { killed, sharded } from "../lib/sync-kills.ts";

const server = await testSandbox({ speed: 50 });
const home = await temporaryFolder();

test.each([1, 2, 3, 4, 5])("a sync killed twenty times (seed %d)", { timeout: 600_000 }, (seed) => {
  // Lists of some servers have null for a document without values, and text for numbers.
  server.sandbox.setFaults(seed % 2 === 1 ? [parseFault("* * plain-metadata")] : []);
  return killed(server, home, 100 + seed, 20);
});

test("eight shards, one of them killed", { timeout: 600_000 }, () => sharded(server, home, 8, 400));
