/** The sandbox as a stand-in for tests: its control routes, deterministic start, and addresses. */
import { axeViolations, invalidParts, openedPage, textsOf } from "../lib/opened-page.ts";
import { request } from "node:http";
import { expect, test } from "vitest";
import { RequestHistory } from "../../src/sandbox/control/control.ts";
import { originOf } from "../../src/sandbox/http/exchange.ts";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { rareTest } from "../lib/sampled.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { manualClock } from "../lib/manual-clock.ts";
import { fileForm, openTestSandbox, type TestSandbox } from "../lib/sandbox-client.ts";

/** Sends a request to a control route; returns status and parsed JSON. */
async function control({ sandbox }: TestSandbox, line: string, body?: string) {
  const [method = "", path = ""] = line.split(" ");
  const response = await fetch(`${sandbox.origin}/_sandbox${path}`, {
    method,
    ...(body !== undefined && { body }),
  });
  const json = (await response.json()) as Record<string, unknown>;
  return { status: response.status, ...json } as {
    readonly status: number | string;
    readonly error: string;
    readonly data: readonly Record<string, unknown>[];
    readonly total: number;
    readonly counts: Record<string, number>;
    readonly applications: readonly object[];
    readonly faults: readonly string[];
  };
}

/** Runs the workflow `echo`; returns the response. */
const runEcho = ({ sandbox }: TestSandbox) =>
  fetch(`${sandbox.origin}/v1/workflows/run`, {
    method: "POST",
    headers: { Authorization: "Bearer app-echo", "Content-Type": "application/json" },
    body: JSON.stringify({ inputs: { query: "hello" }, user: "ann" }),
  });

test("health shows addresses, keys and counts", async () => {
  const server = await openTestSandbox({ faults: [parseFault("GET /x reset")] });
  await server.base();
  await runEcho(server);
  const health = await control(server, "GET /health");
  expect(health).toMatchObject({
    status: "ok",
    version: "1.14.2",
    base_url: `${server.sandbox.origin}/v1`,
    models: false,
    knowledge_key: "dataset-sandbox",
    counts: { datasets: 1, documents: 0, conversations: 0, messages: 0, runs: 1, requests: 2 },
    faults: ["GET /x reset"],
  });
  expect(health.applications).toContainEqual({ name: "echo", mode: "workflow", key: "app-echo" });
});

rareTest(
  "the page for people names the base URL and the applications, and escapes texts",
  async () => {
    const server = await openTestSandbox({ faults: [parseFault("GET /<b>&* reset")] });
    const response = await fetch(server.sandbox.origin);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("content-security-policy")).toMatch(/^default-src 'none';/);
    const page = await response.text();
    const rows = textsOf(openedPage(page), "tbody tr");
    expect(rows).toContain(`base URL${server.sandbox.origin}/v1`);
    expect(rows).toContain("echoworkflowapp-echo");
    expect(rows).toContain("GET /<b>&* reset");
    expect(await invalidParts(page)).toEqual([]);
    expect(await axeViolations(page, false)).toEqual([]);
  },
);

test("requests are listed with their bodies and statuses, without keys", async () => {
  const server = await openTestSandbox();
  const base = await server.base();
  await runEcho(server);
  await server.call("GET", `/datasets/${base}/documents?page=2&limit=5`);
  await server.send(
    "POST",
    `/datasets/${base}/document/create-by-file`,
    fileForm("a.txt", "private text"),
  );
  const { data, total } = await control(server, "GET /requests");
  expect(total).toBe(4);
  const common = { time: "2026-11-21T00:00:00.000Z" };
  expect(data).toMatchObject([
    {
      ...common,
      method: "POST",
      path: "/v1/datasets",
      query: {},
      app: null,
      dataset: null,
      body: { name: "Handbook", indexing_technique: "economy" },
      size: 50,
      status: 200,
    },
    { ...common, path: "/v1/workflows/run", app: "echo", dataset: null, status: 200 },
    { ...common, method: "GET", query: { page: "2", limit: "5" }, dataset: base, body: null },
    {
      dataset: base,
      body: [
        { name: "data", text: '{"process_rule":{"mode":"automatic"}}' },
        { name: "file", filename: "a.txt", type: "text/plain", size: 12 },
      ],
    },
  ]);
  expect(JSON.stringify(data)).not.toMatch(/app-echo|dataset-sandbox|private text/);
});

test("models are disabled, lose their credentials, and are given back by a reset", async () => {
  const server = await openTestSandbox({ models: true });
  const models = async () =>
    ((await server.call("GET", MODELS)).data as readonly { readonly models?: unknown }[]).map(
      ({ models: list }) =>
        (list as readonly { readonly model: string }[]).map(({ model }) => model),
    );
  const changed = await control(server, "PATCH /models", '{"disabled": ["stub-chat"]}');
  expect(changed).toEqual({ status: 200, disabled: ["stub-chat"], credentials: true });
  expect(await models()).toEqual([["stub-plain"]]);
  await control(server, "PATCH /models", '{"credentials": false}');
  expect(await control(server, "GET /models")).toMatchObject({
    disabled: ["stub-chat"],
    credentials: false,
  });
  expect(await models()).toEqual([]);
  await control(server, "POST /reset");
  expect(await models()).toEqual([["stub-chat", "stub-plain"]]);
});

const MODELS = "/workspaces/current/models/model-types/llm";

test.each([
  ["{", "expected JSON such as"],
  ['{"disabled": "stub-chat"}', "expected JSON such as"],
  ['{"credentials": null}', "expected JSON such as"],
  ['{"disabled": ["gpt"]}', 'there is no model "gpt"'],
])("the settings of models %s are rejected: %s", async (body, reason) => {
  const server = await openTestSandbox({ models: true });
  const { status, error } = await control(server, "PATCH /models", body);
  expect([status, error]).toEqual([400, expect.stringContaining(`models: ${reason}`)]);
  expect(await control(server, "GET /models")).toMatchObject({ disabled: [], credentials: true });
});

test.each([
  ["method=get", 1],
  ["path=/datasets", 2],
  ["path=/v1/datasets", 2],
  ["path=/work*", 1],
  ["status=404", 1],
  ["app=echo", 1],
  ["method=POST&path=/datasets", 1],
  ["status=200&app=loop", 0],
])("requests with %s: %i", async (query, count) => {
  const server = await openTestSandbox();
  await server.base();
  await runEcho(server);
  await server.call("GET", "/datasets");
  await server.call("PUT", "/nothing");
  expect((await control(server, `GET /requests?${query}`)).data.length).toBe(count);
});

test("a request without a response has no status", async () => {
  const server = await openTestSandbox({ faults: [parseFault("GET /datasets reset")] });
  await expect(server.call("GET", "/datasets")).rejects.toThrow();
  const { data } = await control(server, "GET /requests");
  expect(data).toMatchObject([{ path: "/v1/datasets", status: null }]);
});

test("the last 500 requests are kept, and bodies up to 32 KiB", () => {
  const history = new RequestHistory(manualClock());
  const add = (path: string, body: string) =>
    history.add(
      { method: "GET", path, headers: {}, body: new TextEncoder().encode(body), parts: [] },
      null,
    );
  for (let n = 0; n < 501; n++) add(`/v1/${n}`, n === 500 ? `"${"x".repeat(32 * 1024)}"` : `${n}`);
  expect(history.total).toBe(501);
  expect(history.records.length).toBe(500);
  expect(history.records[0]).toMatchObject({ path: "/v1/1", body: 1, size: 1 });
  expect(history.records.at(-1)).toMatchObject({ path: "/v1/500", body: null, size: 32_770 });
});

test("faults are added, counted and removed; control routes do not use them up", async () => {
  const server = await openTestSandbox();
  const lines = "GET /datasets status=503 times=1\n\nPOST * status=500\n";
  expect((await control(server, "POST /faults", lines)).data).toEqual([
    { fault: "GET /datasets status=503 times=1", matched: 0 },
    { fault: "POST * status=500", matched: 0 },
  ]);
  expect((await server.call("GET", "/datasets")).code).toBe("service_unavailable");
  expect((await server.call("GET", "/datasets")).total).toBe(0);
  expect((await control(server, "GET /faults")).data).toEqual([
    { fault: "GET /datasets status=503 times=1", matched: 2 },
    { fault: "POST * status=500", matched: 0 },
  ]);
  expect((await control(server, "DELETE /faults")).data).toEqual([]);
  expect((await runEcho(server)).status).toBe(200);
});

test.each([
  ["POST /faults", "GET /x explode", 400, /^fault "GET \/x explode": unknown action 'explode'/],
  ["GET /requests?key=1", undefined, 400, /^unknown filter "key" \(one of: method, path, /],
  ["GET /nothing", undefined, 404, /^no such route; there are GET \/, GET \/_sandbox\/health, /],
  ["PUT /reset", "", 404, /^no such route/],
])("%s %j: status %i", async (line, body, status, message) => {
  const response = await control(await openTestSandbox(), line, body);
  expect(response.status).toBe(status);
  expect(response.error).toMatch(message);
});

test("a document that a worker abandons keeps its status and its chunks until it is written again", async () => {
  const server = await openTestSandbox();
  const base = await server.base();
  const id = await server.add(base, "a.md", "First");
  const place = `/datasets/${base}/documents/${id}`;
  const chunks = async () =>
    (await server.call("GET", `${place}/segments`)).data.map(({ content }) => content);
  for (const [indexing_status, display_status] of [
    ["waiting", "queuing"],
    ["splitting", "indexing"],
    ["paused", "paused"],
    ["error", "error"],
  ]) {
    const given = { document: id, status: indexing_status };
    await control(server, "POST /abandon", JSON.stringify(given));
    await server.clock.advance(60_000);
    expect(await server.call("GET", place)).toMatchObject({ indexing_status, display_status });
    expect(await chunks()).toEqual(["First"]);
  }
  expect(await server.add(base, "a.md", "Second")).toBe(id);
  expect(await server.call("GET", place)).toMatchObject({ indexing_status: "completed" });
  expect(await chunks()).toEqual(["Second"]);
});

test.each([
  ['{"document":"x","status":"completed"}', "document: expected JSON such as "],
  ['{"document":"x","status":"indexing"}', "document: there is no document x"],
])("%s abandons nothing", async (body, problem) => {
  const { status, error } = await control(await openTestSandbox(), "POST /abandon", body);
  expect([status, error]).toEqual([400, expect.stringContaining(problem)]);
});

test("reset returns to the start: no data, the first faults, no requests, no open streams", async () => {
  const server = await openTestSandbox({ faults: [parseFault("GET /nothing status=503")] });
  await server.base();
  await control(server, "POST /faults", "GET /datasets status=500");
  const stream = await fetch(`${server.sandbox.origin}/v1/workflows/run`, {
    method: "POST",
    headers: { Authorization: "Bearer app-slow", "Content-Type": "application/json" },
    body: JSON.stringify({ inputs: { query: "x" }, user: "a", response_mode: "streaming" }),
  });
  expect(await control(server, "POST /reset")).toMatchObject({
    counts: { datasets: 0, runs: 0, requests: 0 },
    faults: ["GET /nothing status=503"],
  });
  await expect(stream.text()).rejects.toThrow();
  expect((await server.call("GET", "/datasets")).total).toBe(0);
});

test("a sandbox that keeps its data is not reset", async () => {
  const server = await openTestSandbox({ directory: await temporaryDirectory() });
  await server.base();
  const response = await control(server, "POST /reset");
  expect(response.status).toBe(409);
  expect(response.error).toMatch(/keeps its data/);
  expect((await server.call("GET", "/datasets")).total).toBe(1);
});

/** The texts of some responses: of knowledge bases, a document, a run and a reply. */
async function play(server: TestSandbox): Promise<string[]> {
  const texts: string[] = [];
  const say = async (response: Promise<Response>) => texts.push(await (await response).text());
  const base = await server.base();
  await server.add(base, "a.md", "one two");
  await say(server.send("GET", `/datasets/${base}/documents`));
  await say(runEcho(server));
  await say(server.send("GET", "/datasets"));
  await say(
    fetch(`${server.sandbox.origin}/v1/chat-messages`, {
      method: "POST",
      headers: { Authorization: "Bearer app-assistant", "Content-Type": "application/json" },
      body: JSON.stringify({ query: "[[say:]] one", inputs: {}, user: "ann" }),
    }),
  );
  return texts;
}

test("with a seed the same requests have the same responses, also after a reset", async () => {
  const server = await openTestSandbox({ seed: 7, models: true });
  const texts = await play(server);
  expect(JSON.parse(texts[0] ?? "")).toMatchObject({
    data: [{ created_at: 1_767_225_602, indexing_status: "completed" }], // 2026-01-01 00:00:02
  });
  expect(texts.at(-1)).toContain('"message_id":');
  await control(server, "POST /reset");
  expect(await play(server)).toEqual(texts);
  // Neither the clock nor the random numbers of the caller count.
  const other = await openTestSandbox({
    seed: 7,
    models: true,
    random: () => 0.9,
    clock: manualClock("2030"),
  });
  expect((await play(other)).join().replaceAll(other.sandbox.origin, "")).toBe(
    texts.join().replaceAll(server.sandbox.origin, ""),
  );
  const different = await play(await openTestSandbox({ seed: 8, models: true }));
  expect(different[0]).not.toBe(texts[0]);
});

/** The status of `GET path` with this Host, and the message of an error. */
const statusFor = (port: number, host: string, address = "127.0.0.1", path = "/_sandbox/health") =>
  new Promise<{ readonly status: number | undefined; readonly text: string }>((resolve, reject) => {
    const options = { host: address, port, path, headers: { Host: host }, agent: false };
    const outgoing = request(options, async (response) => {
      let text = "";
      for await (const chunk of response) text += String(chunk);
      resolve({ status: response.statusCode, text });
    });
    outgoing.on("error", reject);
    outgoing.end();
  });

test.each([
  ["kb-sandbox:PORT", 200],
  ["KB-Sandbox", 200],
  ["kb-sandbox:80", 200],
  ["other:8080", 200],
  ["other:8081", 403],
  ["other", 403],
  ["kb-sandbox.evil.example:PORT", 403],
  ["127.0.0.1:PORT", 200],
])("Host %s: status %i if kb-sandbox and other:8080 are allowed", async (host, status) => {
  const { sandbox } = await openTestSandbox({ allowedHosts: ["kb-sandbox", "Other:8080"] });
  const sent = host.replace("PORT", String(sandbox.port));
  const response = await statusFor(sandbox.port, sent);
  expect(response.status).toBe(status);
  if (status === 403) expect(response.text).toContain("--allow-host");
});

test.runIf(process.platform === "linux")("listens on another address of this machine", async () => {
  const { sandbox, call } = await openTestSandbox({ host: "127.0.0.2" });
  expect(sandbox.origin).toBe(`http://127.0.0.2:${sandbox.port}`);
  expect((await call("GET", "/datasets")).total).toBe(0);
});

test.each([
  ["127.0.0.1", "http://127.0.0.1:80"],
  ["10.0.0.7", "http://10.0.0.7:80"],
  ["0.0.0.0", "http://127.0.0.1:80"],
  ["::", "http://127.0.0.1:80"],
  ["::1", "http://[::1]:80"],
])("a server on %s is reached at %s", (address, origin) => {
  expect(originOf({ address, port: 80, allowed: [] })).toBe(origin);
});

test("URLs of files have the host that the client used", async () => {
  const server = await openTestSandbox({ allowedHosts: ["kb-sandbox"] });
  const base = await server.base();
  const document = await server.add(base, "a.md", "one");
  const path = `/v1/datasets/${base}/documents/${document}/download`;
  const text = await new Promise<string>((resolve, reject) => {
    const headers = { Host: "kb-sandbox", Authorization: "Bearer dataset-sandbox" };
    const outgoing = request(server.sandbox.origin + path, { headers }, async (response) => {
      let body = "";
      for await (const chunk of response) body += String(chunk);
      resolve(body);
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
  expect(text).toContain('"http://kb-sandbox/files/');
});
