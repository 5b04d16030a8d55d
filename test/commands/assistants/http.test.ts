/** `kb mcp --http` and `wf mcp --http` with the official client, and with requests that are none of its. */
import { request } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { ClientOptions } from "@modelcontextprotocol/client";
import { beforeAll, describe, expect, test } from "vitest";
import { afterFile } from "../../lib/cleanup.ts";
import { silentServer } from "../../lib/silent-server.ts";
import { listening } from "../../lib/mcp-http.ts";
import type { Listening } from "../../lib/mcp-http.ts";
import { calling, negotiation, protocols } from "../../lib/mcp.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import type { TestSandbox } from "../../lib/sandbox.ts";

let sandbox: TestSandbox;
let kb: Listening;

async function client(
  { url, token }: Listening,
  options: ClientOptions = {},
  prepare: (client: Client) => void = () => {},
) {
  const made = new Client({ name: "test", version: "1" }, options);
  prepare(made);
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  await made.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  afterFile(() => made.close());
  return calling(made);
}

beforeAll(async () => {
  sandbox = await testSandbox({ models: true });
  await sandbox.done(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
  const add = ["kb", "doc", "add", "Handbook", "leave.md", "--text", "30 days of leave"];
  await sandbox.done(add);
  await sandbox.done(["kb", "doc", "wait", "Handbook"]);
  kb = await listening(["kb", "mcp"], sandbox.env);
});

describe.each(protocols)("protocol %s", (protocol) => {
  test("tools, resources, prompts and errors", async () => {
    const { client: connected, use, fail } = await client(kb, negotiation(protocol));
    expect(connected.getNegotiatedProtocolVersion()).toBe(protocol);
    expect((await connected.listTools()).tools.map(({ name }) => name)).toContain("search");
    const { value } = await use("search", { kb: "Handbook", query: "leave" });
    expect(value["results"]).toMatchObject([{ uri: "kb://Handbook/leave.md" }]);
    expect((await fail("show", { kb: "Nope" })).error).toMatchObject({ exit_name: "not-found" });
    const { contents } = await connected.readResource({ uri: "kb://Handbook/leave.md" });
    expect(JSON.stringify(contents)).toContain("30 days of leave");
    expect((await connected.listPrompts()).prompts).toHaveLength(2);
  });

  test("a run reports its progress and asks the user", async () => {
    const env = { ...sandbox.env, KB_APP_KEY: "app-review" };
    const wf = await listening(["wf", "mcp"], env);
    const options = { ...negotiation(protocol), capabilities: { elicitation: { form: {} } } };
    const { client: connected } = await client(wf, options, (made) => {
      made.setRequestHandler("elicitation/create", () => ({
        action: "accept" as const,
        content: { action: "approve", comment: "fine" },
      }));
    });
    const steps: number[] = [];
    const result = await connected.callTool(
      { name: "run_review", arguments: { query: "x" } },
      { onprogress: ({ progress }) => void steps.push(progress) },
    );
    expect(result.structuredContent).toMatchObject({ status: "succeeded" });
    expect(steps.length).toBeGreaterThan(0);
    expect(await wf.stop()).toMatchObject({ exit: 143, out: "" });
  });

  test("a cancelled call ends its request", async () => {
    const { baseUrl, isSent, isClosed } = await silentServer();
    const env = { ...sandbox.env, KB_BASE_URL: baseUrl };
    const { client: connected } = await client(
      await listening(["kb", "mcp"], env),
      negotiation(protocol),
    );
    const stop = new AbortController();
    const call = connected.callTool({ name: "tag_list", arguments: {} }, { signal: stop.signal });
    const failed = expect(call).rejects.toThrow();
    await isSent;
    stop.abort();
    await failed;
    await isClosed;
    expect((await connected.listTools()).tools.length).toBeGreaterThan(10);
  });

  test("two clients do not share anything", async () => {
    const [a, b] = await Promise.all([1, 2].map(() => client(kb, negotiation(protocol))));
    const results = await Promise.all([
      a?.use("read", { kb: "Handbook", document: "leave.md" }),
      b?.use("list"),
    ]);
    expect(results.map((each) => Object.keys(each?.value ?? {}))).toEqual([
      expect.arrayContaining(["document"]),
      expect.arrayContaining(["items"]),
    ]);
  });
});

/** Sends a request that `fetch` would not: with any Host and Origin. */
const send = (headers: Readonly<Record<string, string>>, path = "/mcp", method = "POST") =>
  new Promise<{ status: number | undefined; body: string; headers: object }>((resolve, reject) => {
    const { hostname, port } = new URL(kb.url);
    const outgoing = request({ hostname, port, path, method, headers }, (response) => {
      const pieces: string[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece.toString()));
      response.on("end", () =>
        resolve({ status: response.statusCode, body: pieces.join(""), headers: response.headers }),
      );
    });
    outgoing.on("error", reject);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    outgoing.end(method === "POST" ? body : undefined);
  });

describe("who may send requests", () => {
  const json = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const withToken = () => ({ ...json, authorization: `Bearer ${kb.token}` });

  test("the token is random, long and required", async () => {
    expect(kb.token).toMatch(/^[\w-]{43}$/);
    const other = await listening(["kb", "mcp"], sandbox.env);
    expect(other.token).not.toBe(kb.token);
    const missing = await send(json);
    expect(missing).toMatchObject({ status: 401, headers: { "www-authenticate": "Bearer" } });
    for (const wrong of ["", "Bearer", `Bearer ${other.token}`, `Basic ${kb.token}`, kb.token])
      expect((await send({ ...json, authorization: wrong })).status, wrong).toBe(401);
    for (const method of ["GET", "DELETE", "PUT"])
      expect((await send(json, "/mcp", method)).status, method).toBe(401);
  });

  test.each([
    ["http://example.com", 403],
    ["null", 403],
    ["http://127.0.0.1.example.com", 403],
    ["http://localhost:1", 403],
    ["http://localhost", 403],
    ["https://localhost:PORT", 403],
    ["http://localhost:PORT", 400], // of this server: only then the request itself is looked at
    ["http://127.0.0.1:PORT", 400],
  ])("Origin %s: %i", async (origin, status) => {
    const named = origin.replace("PORT", new URL(kb.url).port);
    expect((await send({ ...withToken(), origin: named })).status).toBe(status);
  });

  test.each([
    ["example.com", 403],
    ["127.0.0.1.example.com:80", 403],
    ["localhost", 403],
    ["127.0.0.1:1", 403],
    ["localhost:PORT", 400],
    ["[::1]:PORT", 400],
  ])("Host %s: %i", async (host, status) => {
    const named = host.replace("PORT", new URL(kb.url).port);
    expect((await send({ ...withToken(), host: named })).status).toBe(status);
  });

  test("TRACE is refused", async () => {
    expect((await send(withToken(), "/mcp", "TRACE")).status).toBe(405);
  });

  test("other paths are not found", async () => {
    for (const path of ["/", "//", "/mcp/x", "http://["])
      expect((await send(withToken(), path)).status, path).toBe(404);
  });

  test.each([
    ["0.0.0.0:0", /not a loopback address/],
    ["example.com:80", /not a loopback address/],
    ["127.0.0.1.example.com:80", /not a loopback address/],
    ["127.0.0.1", /not an address with a port/],
    ["127.0.0.1:99999", /not an address with a port/],
  ])("--http %s is rejected", async (address, message) => {
    const ran = await sandbox.cli(["kb", "mcp", "--http", address]);
    expect(ran).toMatchObject({ exit: 2, out: "" });
    expect(ran.err).toMatch(message);
  });

  test("a port in use is named", async () => {
    const { port } = new URL(kb.url);
    const ran = await sandbox.cli(["kb", "mcp", "--http", `127.0.0.1:${port}`]);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(`port ${port} is already in use`);
  });
});
