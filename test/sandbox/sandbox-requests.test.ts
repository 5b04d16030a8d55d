/** The sandbox with unusual invalid requests: which are rejected, and which are internal errors. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "node:net";
import { type Sandbox, startSandbox } from "../../src/sandbox/http/server.ts";
import { openStage, payloads, targets } from "../lib/fuzzing/requests.ts";
import { manualClock, type ManualClock } from "../lib/manual-clock.ts";
import { rareTest } from "../lib/sampled.ts";

let clock: ManualClock;
let random = Math.random;
let sandbox: Sandbox;
const errors: string[] = [];
let knowledgeBase = "";
let document = "";

interface ResponseBody {
  readonly code?: string;
  readonly message?: string;
  readonly error?: string;
  readonly id?: string;
  readonly document?: { readonly id: string };
  readonly data?: readonly { readonly id: string }[];
}

async function call(
  method: string,
  path: string,
  body?: string | Uint8Array<ArrayBuffer>,
): Promise<[number, ResponseBody]> {
  const response = await fetch(`${sandbox.origin}/v1${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${/^.(app|chat)/.test(path) ? "app-chat" : "dataset-sandbox"}`,
      ...(body !== undefined && { "Content-Type": "application/json" }),
    },
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  return [response.status, text === "" ? {} : (JSON.parse(text) as ResponseBody)];
}

beforeAll(async () => {
  clock = manualClock();
  const onError = (error: unknown) => void errors.push(String(error));
  sandbox = await startSandbox({ clock, random: () => random(), directory: null, onError });
  knowledgeBase = (await call("POST", "/datasets", '{"name":"a"}'))[1].id ?? "";
  const text = { name: "a.txt", text: "one", indexing_technique: "economy" };
  const path = `/datasets/${knowledgeBase}/document/create-by-text`;
  document = (await call("POST", path, JSON.stringify(text)))[1].document?.id ?? "";
  await clock.advance(1000);
});
afterAll(async () => {
  await sandbox.stop();
  expect(errors).toEqual([]);
});

const fillIds = (path: string) => path.replace("KB", knowledgeBase).replace("DOC", document);

test.each([
  "/datasets",
  "/datasets/KB/documents",
  "/datasets/KB/documents/DOC/segments",
  "/datasets/KB/documents/DOC/segments/CHUNK/child_chunks",
  "/app/feedbacks",
  "/apps/annotations",
])("%s: an absurd page or limit is rejected, the next request succeeds", async (path) => {
  const { data } = (await call("GET", fillIds("/datasets/KB/documents/DOC/segments")))[1];
  const place = fillIds(path).replace("CHUNK", data?.[0]?.id ?? "");
  const absurd = ["page=99999999999", "page=5000000000000000000", "limit=99999999999"];
  for (const query of absurd) {
    const [status, { code, message }] = await call("GET", `${place}?${query}`);
    expect([status, code]).toEqual([400, "invalid_param"]);
    expect(message).toContain("Input should be less than or equal to ");
  }
  // A page behind the last one is empty.
  for (const query of ["", "?page=99999", ""])
    expect((await call("GET", `${place}${query}`))[0]).toBe(200);
});

describe("bodies that once caused a TypeError", () => {
  const status = "/datasets/KB/documents/status/enable";
  test.each([
    ["PATCH", status, "{}", 200, undefined],
    ["PATCH", status, '{"document_ids":null}', 400, "invalid_param"],
    ["PATCH", status, '{"document_ids":[null]}', 400, "invalid_param"],
    ["POST", "/datasets/KB/documents/metadata", '{"operation_data":[null]}', 400, "invalid_param"],
    ["POST", "/datasets/KB/documents/DOC/segments", '{"segments":[null]}', 400, undefined],
  ])("%s %s %s returns %d", async (method, path, body, status, code) => {
    const [actual, response] = await call(method, fillIds(path), body);
    expect([actual, response.code]).toEqual([status, code]);
  });
});

describe("text that the server cannot decode or store", () => {
  const bytes = (text: string) => Uint8Array.from(Buffer.from(text, "latin1"));
  test.each([
    ["bytes that are not UTF-8", bytes('{"name":"caf\xe9"}'), 400, "bad_request"],
    ["a lone surrogate", '{"name":"\\ud800x"}', 500, "unknown"],
    ["NUL", '{"name":"b","description":"a\\u0000b"}', 500, "unknown"],
    ["a surrogate pair", '{"name":"\\ud83d\\ude00"}', 200, undefined],
  ])("%s", async (_what, body, status, code) => {
    const [actual, response] = await call("POST", "/datasets", body);
    expect([actual, response.code]).toEqual([status, code]);
  });
});

test("an internal error of the sandbox is reported, and the next request succeeds", async () => {
  random = () => {
    throw new TypeError("no chance");
  };
  const [status, { code, message }] = await call("POST", "/datasets", '{"name":"never made"}');
  random = Math.random;
  expect([status, code, message]).toEqual([
    500,
    "sandbox_bug",
    "The sandbox failed: TypeError: no chance",
  ]);
  expect(errors.splice(0)).toEqual(["TypeError: no chance"]);
  expect((await call("GET", "/datasets"))[0]).toBe(200);
});

test.each([
  ["http://127.0.0.1:PORT/v1/datasets", "HTTP/1.1 200"],
  ["HTTP://LocalHost:PORT/v1/datasets?limit=1", "HTTP/1.1 200"],
  ["http://evil.example/v1/datasets", "HTTP/1.1 403"],
])("a request line in absolute form, %s: %s", async (target, line) => {
  const port = String(sandbox.port);
  const text = await new Promise<string>((resolve, reject) => {
    let response = "";
    const socket = connect(sandbox.port, "127.0.0.1", () => {
      const lines = [
        `GET ${target.replace("PORT", port)} HTTP/1.1`,
        `Host: 127.0.0.1:${port}`,
        "Authorization: Bearer dataset-sandbox",
        "Connection: close",
      ];
      socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    });
    socket.on("data", (chunk) => (response += chunk.toString()));
    socket.on("end", () => resolve(response));
    socket.on("error", reject);
  });
  expect(text.slice(0, line.length)).toBe(line);
});

test.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])(
  "a body of type %s, which web pages may send without a preflight, creates nothing",
  async (type) => {
    const send = (headers: Record<string, string>) =>
      fetch(`${sandbox.origin}/v1/datasets`, {
        method: "POST",
        headers: { "Content-Type": type, ...headers },
        body: '{"name":"of a form"}',
      });
    expect((await send({})).status).toBe(401);
    expect((await send({ Authorization: "Bearer dataset-sandbox" })).status).toBe(415);
    const list = await fetch(`${sandbox.origin}/v1/datasets`, {
      headers: { Authorization: "Bearer dataset-sandbox" },
    });
    expect(await list.text()).not.toContain("of a form");
  },
);

// All payloads in all parameters: test/long/sandbox-requests.test.ts.
rareTest(
  "SQL, huge numbers and wrong types in every parameter: no internal error, no change to other data",
  async () => {
    const stage = await openStage();
    const before = await stage.others();
    const statuses = new Map<number, number>();
    for (const [index, target] of targets.entries()) {
      const payload = payloads[(index * 7) % payloads.length];
      const { status } = await stage.send({ ...target, payload });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect(stage.bugs).toEqual([]);
    expect(await stage.others()).toBe(before);
    // Most are rejected as intended; enough pass the validation.
    expect(new Set(targets.map(({ row }) => row.id)).size).toBeGreaterThan(75);
    expect(statuses.get(200)).toBeGreaterThan(30);
    await stage.stop();
  },
);
