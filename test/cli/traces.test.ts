import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { http, rawServer } from "../lib/raw-server.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";

const server = await testSandbox();
const run = (line: string, env: Readonly<Record<string, string>> = {}) =>
  server.cli(line.split(" "), { env });
const lines = (text: string, mark: string) =>
  text.split("\n").filter((line) => line.startsWith(mark));

const key = "dataset-Zx81QwErTyUiOpAsDfGhJkLm";
/** A server with one response to every request, and the environment to reach it. */
async function answering(status: number, body: string, headers: Record<string, string> = {}) {
  const { baseUrl } = await rawServer([(socket) => socket.end(http(status, body, headers))]);
  return { KB_BASE_URL: baseUrl, KB_KEY: key };
}

test("without -v requests are not traced", async () => {
  expect(await run("kb list")).toMatchObject({ exit: 0, err: "" });
});

test("-v names each request with status, time and size, and where address and key come from", async () => {
  const { err } = await run("kb list -v");
  expect(err.replace(/\d+ ms/, "N ms").replaceAll(server.sandbox.origin, "ORIGIN")).toBe(
    [
      "* base URL ORIGIN/v1 (KB_BASE_URL), key dataset-****dbox (KB_KEY)",
      "* GET /v1/datasets?include_all=true&page=1&limit=20: 200 in N ms, 68 bytes",
      "",
    ].join("\n"),
  );
});

test("-v names every attempt of a retried request", async () => {
  server.sandbox.setFaults([parseFault("GET /datasets* status=503 times=2")]);
  const { err } = await run("kb list -v");
  server.sandbox.setFaults([]);
  expect(lines(err, "* GET").map((line) => line.replace(/ in .*/, ""))).toEqual([
    "* GET /v1/datasets?include_all=true&page=1&limit=20: 503",
    "* GET /v1/datasets?include_all=true&page=1&limit=20: 503",
    "* GET /v1/datasets?include_all=true&page=1&limit=20: 200",
  ]);
});

test("-vv shows request and response like curl, with the key redacted", async () => {
  const env = await answering(200, '{\n  "id": "1",\n  "name": "Handbook"\n}', {
    "x-version": "1.14.2",
  });
  const { err, exit } = await cli(
    ["kb", "create", "Handbook", "-vv", "--indexing-technique", "economy"],
    { env },
  );
  expect(exit, err).toBe(0);
  expect(lines(err, "> ")).toEqual([
    "> POST /v1/datasets",
    `> host: ${new URL(env.KB_BASE_URL).host}`,
    "> accept: */*",
    "> content-type: application/json",
    "> authorization: Bearer dataset-****JkLm",
    "> ",
    '> {"name":"Handbook","indexing_technique":"economy"}',
  ]);
  expect(lines(err, "< ")).toEqual([
    "< 200",
    "< content-length: 37",
    "< content-type: application/json",
    "< connection: close",
    "< x-version: 1.14.2",
    '< {"id":"1","name":"Handbook"}',
  ]);
  expect(err).toMatch(/\* connected to (127\.0\.0\.1:\d+) \(127\.0\.0\.1 port \d+\)\n/);
  expect(err).toMatch(/\* first byte after \d+ ms\n/);
});

test("-vv names the proxy that is set, without its password", async () => {
  const { err } = await run("kb list -vv", { https_proxy: "http://ann:Hush1234@proxy:3128" });
  expect(err).toContain("* HTTPS_PROXY is http://***@proxy:3128\n");
});

test("KB_DEBUG=2 is -vv", async () => {
  expect((await run("kb list", { KB_DEBUG: "2" })).err).toContain("> GET /v1/datasets");
});

test.each([
  ["a field", '{"api_key":"Hush-1234","name":"x"}', "Hush-1234"],
  ["a number", '{"password":12345678}', "12345678"],
  ["a field in camel case", '{"accessToken":"Hush-1234"}', "Hush-1234"],
  ["what stands in credentials", '{"credentials":{"openai":["Hush-1234"]}}', "Hush-1234"],
  ["a signed address", '{"url":"https://x.example/f?sign=Hush1234&n=1"}', "Hush1234"],
  ["a password in an address", '{"url":"https://ann:Hush1234@x.example/"}', "Hush1234"],
  ["the key itself", `{"echo":"you sent ${key}"}`, key],
  ["a field of a body that breaks off", '{"a":{"secret":"Hush-1234","b":', "Hush-1234"],
])("%s of a response is redacted", async (_, body, secret) => {
  const env = await answering(200, body);
  const { err } = await cli(["kb", "api", "GET", "/datasets", "-vvv"], { env });
  expect(err).toContain("***");
  expect(err).not.toContain(secret);
});

test("headers and parameters that hold credentials are masked", async () => {
  const env = await answering(200, "{}", { "set-cookie": "session=Hush1234" });
  const { err } = await cli(
    [
      "kb",
      ..."api GET /datasets?token=Hush1234&page=2 -vv".split(" "),
      "--header",
      "Proxy-Authorization: Basic Hush1234",
      "--header",
      "X-Api-Key: Hush1234",
    ],
    { env },
  );
  expect(err).toContain("token=***&page=2");
  expect(err.toLowerCase()).toContain("> x-api-key: ***");
  expect(err).toContain("< set-cookie: ***");
  expect(err).not.toContain("Hush1234");
});

test("control characters of a response are escaped", async () => {
  const env = await answering(200, "no json \u001b[31mred\u0007");
  const { err } = await cli(["kb", "list", "-vv"], { env });
  expect(err).toContain("< no json ␛[31mred␇");
  expect(err).not.toContain("\u001b");
});

test("long bodies are cut, with their length", async () => {
  const env = await answering(200, JSON.stringify({ text: "a".repeat(5000) }));
  const { err } = await cli(["kb", "api", "GET", "/datasets", "-vv"], { env });
  expect(err).toContain(`< {"text":"${"a".repeat(1991)}… (5011 characters)\n`);
});

test("a file that is sent is named with its size, one that comes by type and size", async () => {
  const folder = await temporaryDirectory();
  const path = join(folder, "a.md");
  await writeFile(path, "hello");
  const empty = '"data":[],"has_more":false,"limit":100,"total":0,"page":1';
  const env = await answering(200, `{"document":{"id":"1"},"batch":"b",${empty}}`);
  const id = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
  const { err } = await cli(["kb", "doc", "upload", id, path, "-vv"], { env });
  expect(err).toMatch(/> part file: file "a\.md", [\w/.+-]+, 5 bytes\n/);
  const zip = await rawServer([
    (socket) =>
      socket.end(
        "HTTP/1.1 200 X\r\ncontent-type: application/zip\r\ncontent-length: 4\r\n\r\nPK\u0003\u0004",
      ),
  ]);
  const got = await cli(["kb", "api", "GET", "/zip", "-vv"], {
    env: { KB_BASE_URL: zip.baseUrl, KB_KEY: key },
  });
  expect(got.err).toContain("< 4 bytes of application/zip\n");
});

test("an event stream is shown event by event", async () => {
  const { err, exit } = await run("wf --app echo run --input query=hi -vv", {
    KB_APP_KEY: "app-echo",
  });
  expect(exit, err).toBe(0);
  const events = lines(err, '< {"event":').map((line) => /"event":"(\w+)"/.exec(line)?.[1]);
  expect(events[0]).toBe("workflow_started");
  expect(events.at(-1)).toBe("workflow_finished");
});

test("-vvv shows what caused an error and how long each phase took", async () => {
  let time = Date.parse("2026-11-21T12:00:00Z");
  const { err, exit } = await cli(["kb", "list", "-vvv", "--retries", "0"], {
    now: () => new Date(time++),
    env: { KB_BASE_URL: "http://127.0.0.1:1/v1", KB_KEY: key },
  });
  expect(exit).toBe(11);
  expect(err).toMatch(
    /\* GET \/v1\/datasets\?include_all=true&page=1&limit=20: no response after \d+ ms: /,
  );
  expect(err).toContain("caused by: Error: connect ECONNREFUSED 127.0.0.1:1");
  expect(err).toMatch(
    /\* [1-9]\d* ms before the first request, \d+ ms with 1 attempt, \d+ ms after\n/,
  );
  expect(
    (
      await cli(["kb", "list", "-vv"], {
        env: { KB_BASE_URL: "http://127.0.0.1:1/v1", KB_KEY: key },
      })
    ).err,
  ).not.toContain("    at ");
});

test("with -o json the error stays the last line", async () => {
  const env = await answering(404, '{"code":"not_found","message":"Dataset not found."}');
  const { err } = await cli(["kb", "list", "-o", "json", "-vvv"], { env });
  const last = err.trimEnd().split("\n").at(-1) ?? "";
  expect(JSON.parse(last)).toMatchObject({ error: { http_status: 404 } });
});
