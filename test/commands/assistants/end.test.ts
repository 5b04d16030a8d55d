import { expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";
import { silentServer } from "../../lib/silent-server.ts";
import { cli } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const request = (id: number | string, method: string, params: object) => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});
const initialize = request(0, "initialize", {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "x", version: "1" },
});
const search = (id: number | string) =>
  request(id, "tools/call", { name: "search", arguments: { kb: "H", query: "x" } });
const cancel = (requestId: number) => ({
  jsonrpc: "2.0",
  method: "notifications/cancelled",
  params: { requestId },
});

const server = await testSandbox();
await server.done(["kb", "create", "H", "--indexing-technique", "economy"]);

/** Runs `kb mcp` with these messages on its stdin, which then ends. */
async function answered(messages: readonly object[], world: World) {
  const text = messages.map((each) => `${JSON.stringify(each)}\n`).join("");
  const ran = await cli(["kb", "mcp"], {
    ...world,
    around: (host) => ({
      ...(world.around?.(host) ?? host),
      stdin: {
        isTTY: false,
        async *bytes() {
          yield new TextEncoder().encode(text);
        },
      },
    }),
  });
  const lines = ran.out.split("\n").filter((line) => line !== "");
  return { ...ran, ids: lines.map((line) => (JSON.parse(line) as { id: unknown }).id) };
}

test.each<readonly [string, readonly object[], readonly unknown[]]>([
  ["nothing", [], []],
  ["the first request", [initialize], [0]],
  ["a call of a tool", [initialize, search(1)], [0, 1]],
  ["several calls", [initialize, search(1), search("two"), search(3)], [0, 1, "two", 3]],
  ["an unknown method", [initialize, request(1, "none", {})], [0, 1]],
])("requests before the end of stdin are answered: %s", async (_, messages, ids) => {
  const ran = await answered(messages, { env: server.env });
  expect(ran, ran.err).toMatchObject({ exit: 0, err: "" });
  expect(ran.ids.toSorted()).toEqual(ids.toSorted());
});

test.each<readonly [string, readonly object[], number, string]>([
  [
    "has no answer in time",
    [initialize, search(1)],
    12,
    "error: stdin ended, and 1 request got no answer",
  ],
  ["was cancelled", [initialize, search(1), cancel(1)], 0, ""],
])("a request that %s does not keep the process", async (_, messages, exit, words) => {
  const { baseUrl, isSent } = await silentServer();
  const around: World["around"] = (host) => ({
    ...host,
    sleep: (ms, signal) => (ms === 60_000 && exit !== 0 ? isSent : host.sleep(ms, signal)),
  });
  const env = { KB_BASE_URL: baseUrl, KB_KEY: "dataset-x" };
  const ran = await answered(messages, { env, around });
  expect(ran, ran.err).toMatchObject({ exit, ids: [0] });
  expect(ran.err).toContain(words);
});
