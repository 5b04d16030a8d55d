import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { http, rawServer } from "./raw-server.ts";
import { cli } from "./support.ts";

const page = '{"data":[],"has_more":false,"limit":20,"total":0,"page":1}';
const kb = '{"id":"0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e","name":"A","created_at":1}';
const keys = { KB_KEY: "dataset-sandbox", KB_APP_KEY: "app-echo" };
const say = (text: string) => (socket: Socket) => void socket.end(text);
const reset = (socket: Socket) => void socket.resetAndDestroy();

/** Runs a line against a server that answers so; tells exit, output, and the requests it saw. */
async function against(
  answers: Parameters<typeof rawServer>[0],
  line: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const server = await rawServer(answers);
  const waits: number[] = [];
  const ran = await cli(line, { env: { ...keys, KB_BASE_URL: server.baseUrl, ...env }, waits });
  return { ...ran, waits, requests: server.requests };
}

const list = ["kb", "list", "-o", "json"];
const create = ["kb", "create", "A"];
const rename = ["kb", "tag", "rename", "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e", "B"];
const remove = ["kb", "delete", "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e", "--yes"];

test("a read is repeated after a reset, a 503 and half an answer, with growing waits", async () => {
  const half = `${http(200, page).slice(0, -20)}`;
  const ran = await against(
    [
      reset,
      say(http(503, "<html>", { "content-type": "text/html" })),
      say(half),
      say(http(200, page)),
    ],
    list,
  );
  expect(ran).toMatchObject({ exit: 0, out: "[]\n" });
  expect(ran.requests).toHaveLength(4);
  expect(ran.waits.slice(0, 3)).toEqual([250, 500, 1000]);
});

test("a create is never repeated after a reset: it may have happened", async () => {
  const ran = await against([reset, say(http(200, kb))], create);
  expect(ran.exit).toBe(11);
  expect(ran.requests).toHaveLength(1);
  expect(ran.err).toContain("unknown whether it was applied");
});

test("a create is not repeated after a 503 either", async () => {
  const ran = await against([say(http(503, "{}")), say(http(200, kb))], create);
  expect(ran.exit).toBe(1);
  expect(ran.requests).toHaveLength(1);
});

test.each([
  [429, '{"code":"too_many_requests","message":"slow","status":429}'],
  [
    400,
    '{"code":"invalid_param","message":"Too many requests. Please try again later. The current maximum concurrent requests allowed for a is 1.","status":400}',
  ],
])("a create is repeated after a %d that means not started", async (status, body) => {
  const ran = await against([say(http(status, body)), say(http(200, kb))], create);
  expect(ran.exit).toBe(0);
  expect(ran.requests).toHaveLength(2);
});

test("rate_limit_error is never repeated", async () => {
  const ran = await against(
    [say(http(429, '{"code":"rate_limit_error","message":"quota","status":429}'))],
    list,
  );
  expect(ran.exit).toBe(7);
  expect(ran.requests).toHaveLength(1);
});

test("Retry-After is honoured", async () => {
  const ran = await against(
    [
      say(http(429, '{"code":"too_many_requests","message":"x"}', { "retry-after": "7" })),
      say(http(200, page)),
    ],
    list,
  );
  expect(ran.exit).toBe(0);
  expect(ran.waits[0]).toBe(7000);
});

test("a rename is repeated after a reset: the end is the same", async () => {
  const ran = await against(
    [reset, say(http(200, '{"id":"x","name":"B","type":"knowledge","binding_count":"0"}'))],
    rename,
  );
  expect(ran.exit).toBe(0);
  expect(ran.requests).toHaveLength(2);
});

test("a delete whose repeat answers 404 was done by the first try", async () => {
  const gone = http(404, '{"code":"not_found","message":"Dataset not found.","status":404}');
  const ran = await against([reset, say(gone)], remove);
  expect(ran.exit).toBe(0);
  const first = await against([say(gone)], remove);
  expect(first.exit).toBe(3);
});

test("--retries 0 repeats nothing", async () => {
  const ran = await against([reset, say(http(200, page))], [...list, "--retries", "0"]);
  expect(ran.exit).toBe(11);
  expect(ran.requests).toHaveLength(1);
});

test("nobody listening ends with 11 and says so, for writes as well after repeats", async () => {
  const waits: number[] = [];
  const ran = await cli(create, { env: { ...keys, KB_BASE_URL: "http://127.0.0.1:9/v1" }, waits });
  expect(ran.exit).toBe(11);
  expect(ran.err).toContain("connection refused");
  expect(ran.err).not.toContain("unknown whether");
  expect(waits).toHaveLength(3);
});

test("a redirect is never followed, and the key goes nowhere else", async () => {
  const ran = await against([say(http(308, "", { location: "https://example.com/v1/" }))], list);
  expect(ran.exit).toBe(6);
  expect(ran.err).toContain("redirects to https://example.com/v1/");
  expect(ran.requests).toHaveLength(1);
});

test("a web page where JSON belongs means a wrong base URL", async () => {
  const ran = await against(
    [say(http(200, "<!doctype html><html>", { "content-type": "text/html" }))],
    list,
  );
  expect(ran.exit).toBe(6);
  expect(ran.err).toContain("not the API");
});

test("JSON that is not whole is a failure that prints nothing", async () => {
  const ran = await against([say(http(200, page.slice(0, 20)))], list);
  expect(ran).toMatchObject({ exit: 1, out: "" });
});

test("silence is noticed", async () => {
  const ran = await against([() => {}], [...list, "--idle-timeout", "0.2s", "--retries", "0"]);
  expect(ran.exit).toBe(11);
  expect(ran.err).toContain("silent");
});

test("with -o json the error is one JSON line on standard error", async () => {
  const ran = await against(
    [
      say(
        http(
          409,
          '{"code":"dataset_name_duplicate","message":"The dataset name already exists.","status":409}',
        ),
      ),
    ],
    [...create, "-o", "json"],
  );
  expect(ran.exit).toBe(5);
  expect(ran.out).toBe("");
  expect(ran.err.trim().split("\n")).toHaveLength(1);
  expect(JSON.parse(ran.err)).toMatchObject({
    error: {
      code: "refused",
      exit: 5,
      http_status: 409,
      server_code: "dataset_name_duplicate",
      retryable: false,
      method: "POST",
      path: "/v1/datasets",
    },
  });
});
