import { expect, test } from "vitest";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { runShards } from "../lib/shards.ts";
import { start } from "../lib/sync-kills.ts";

test("sixteen processes share a server with ten connections", { timeout: 600_000 }, async () => {
  let [open, most] = [0, 0];
  const server = await testSandbox({
    connections: 10,
    speed: 1,
    faults: [parseFault("POST * delay=200ms")],
    onRequest: () => void (most = Math.max(most, ++open)),
    onResponse: () => void open--,
  });
  await runShards(
    server,
    { files: 400, tests: 160 },
    ([program = "", ...argv], home) => start(server, home, argv, program).ended,
  );
  expect(most).toBe(10);
});
