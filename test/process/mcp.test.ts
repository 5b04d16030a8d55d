/** The built programs as servers of the Model Context Protocol, started as clients start them. */
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { beforeAll, expect, test } from "vitest";
import { afterFile } from "../lib/cleanup.ts";
import { silentServer } from "../lib/silent-server.ts";
import { calling, negotiation, protocols } from "../lib/mcp.ts";
import { root } from "../lib/paths.ts";
import { testSandbox } from "../lib/sandbox.ts";
import type { TestSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

let sandbox: TestSandbox;
let home = "";

beforeAll(async () => {
  sandbox = await testSandbox();
  home = await temporaryDirectory();
  await sandbox.done(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
});

/** Starts a built program and connects to it; `stderr` collects what it says. */
async function start(
  [program = "kb", ...args]: readonly string[],
  env: Readonly<Record<string, string>> = sandbox.env,
  protocol: (typeof protocols)[number] = protocols[0],
) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(root, "bin", `${program}.js`), ...args],
    env: { PATH: process.env["PATH"] ?? "", HOME: home, ...env },
    stderr: "pipe",
  });
  const stderr: string[] = [];
  transport.stderr?.on("data", (piece: Buffer) => stderr.push(piece.toString()));
  const client = new Client({ name: "test", version: "1" }, negotiation(protocol));
  await client.connect(transport);
  afterFile(() => client.close());
  return { ...calling(client), stderr, pid: transport.pid };
}

test.each(protocols)("kb mcp serves on stdin and stdout, by protocol %s", async (protocol) => {
  const { client, use, stderr } = await start(["kb", "mcp"], sandbox.env, protocol);
  expect(client.getServerVersion()).toMatchObject({ name: "kb", title: "Knowledge bases" });
  expect((await use("list")).value["items"]).toContainEqual(
    expect.objectContaining({ name: "Handbook" }),
  );
  expect(stderr.join("")).toBe("");
});

test("wf mcp serves the application of the key", async () => {
  const { use } = await start(["wf", "mcp"], { ...sandbox.env, KB_APP_KEY: "app-echo" });
  const { value } = await use("run_echo", { query: "hello" });
  expect(value).toMatchObject({ status: "succeeded", outputs: { query: "hello" } });
});

test("a wrong key ends the server with its error", async () => {
  const env = { ...sandbox.env, KB_APP_KEY: "app-wrong-key" };
  await expect(start(["wf", "mcp"], env)).rejects.toThrow();
});

test("a cancelled call ends its request, and the server continues", async () => {
  const { baseUrl, isSent, isClosed } = await silentServer();
  const env = { KB_BASE_URL: baseUrl, KB_KEY: "dataset-x" };
  const { client } = await start(["kb", "mcp"], env);
  const cancelled = new AbortController();
  const call = client.callTool({ name: "tag_list", arguments: {} }, { signal: cancelled.signal });
  const failed = expect(call).rejects.toThrow();
  await isSent;
  cancelled.abort();
  await failed;
  await isClosed;
  expect((await client.listTools()).tools.length).toBeGreaterThan(10);
});
