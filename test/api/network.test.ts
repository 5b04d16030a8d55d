import { expect, test } from "vitest";
import { against, createdKb, emptyPage, http, keys, lines, reset, say } from "../lib/raw-server.ts";
import { cli } from "../lib/support.ts";

const { read: list, create, rename, remove } = lines;

test("a read is retried after a reset, a 503 and a truncated response, with increasing delays", async () => {
  const half = `${http(200, emptyPage).slice(0, -20)}`;
  const ran = await against(
    [
      reset,
      say(http(503, "<html>", { "content-type": "text/html" })),
      say(half),
      say(http(200, emptyPage)),
    ],
    list,
  );
  expect(ran).toMatchObject({ exit: 0, out: "[]\n" });
  expect(ran.requests).toHaveLength(4);
  expect(ran.waits.slice(0, 3)).toEqual([250, 500, 1000]);
});

test("a create is not retried after a reset: it may have been applied", async () => {
  const ran = await against([reset, say(http(200, createdKb))], create);
  expect(ran.exit).toBe(11);
  expect(ran.requests).toHaveLength(1);
  expect(ran.err).toContain("the change may have been applied");
});

test("a create is not retried after a 503", async () => {
  const ran = await against([say(http(503, "{}")), say(http(200, createdKb))], create);
  expect(ran.exit).toBe(1);
  expect(ran.requests).toHaveLength(1);
});

test.each([
  [429, '{"code":"too_many_requests","message":"slow","status":429}'],
  [
    400,
    '{"code":"invalid_param","message":"Too many requests. Please try again later. The current maximum concurrent requests allowed for a is 1.","status":400}',
  ],
])("a create is retried after a %d that means it was not applied", async (status, body) => {
  const ran = await against([say(http(status, body)), say(http(200, createdKb))], create);
  expect(ran.exit).toBe(0);
  expect(ran.requests).toHaveLength(2);
});

test("a request of api that writes is not retried after a 503", async () => {
  const line = ["kb", "api", "POST", "/datasets", "-F", "name=A"];
  const ran = await against([say(http(503, "{}")), say(http(200, createdKb))], line);
  expect(ran.exit).toBe(1);
  expect(ran.requests).toEqual(["POST /v1/datasets HTTP/1.1"]);
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
])("after %s the exit code is %d", async (name, exit) => {
  const env = { ...keys, KB_BASE_URL: "http://127.0.0.1:9/v1" };
  expect((await cli(list, { env, signal: AbortSignal.abort(name) })).exit).toBe(exit);
});

test.each([
  ["a read", list, false],
  ["a write", create, true],
])("Ctrl-C while the response of %s is awaited", async (_, line, writes) => {
  const stop = new AbortController();
  const ran = await against([() => stop.abort("SIGINT")], line, {}, stop.signal);
  expect(ran.exit).toBe(130);
  expect(ran.err.includes("the change may have been applied"), ran.err).toBe(writes);
});

test("a create is not retried after a truncated response", async () => {
  const half = http(200, createdKb).slice(0, -20);
  const ran = await against([say(half), say(http(200, createdKb))], create);
  expect(ran.exit).toBe(11);
  expect(ran.requests).toHaveLength(1);
  expect(ran.err).toContain("the change may have been applied");
});

test("a rename is retried after a reset: it is idempotent", async () => {
  const ran = await against(
    [reset, say(http(200, '{"id":"x","name":"B","type":"knowledge","binding_count":"0"}'))],
    rename,
  );
  expect(ran.exit).toBe(0);
  expect(ran.requests).toHaveLength(2);
});

test("a rename may have been applied by its first attempt if the last one is rejected", async () => {
  const busy = say(http(429, '{"code":"too_many_requests","message":"slow","status":429}'));
  const ran = await against([reset, busy, busy, busy], rename);
  expect(ran.exit).toBe(7);
  expect(ran.requests).toHaveLength(4);
  expect(ran.err).toContain("the change may have been applied");
});

test("a delete whose retry gets a 404 succeeded in the first attempt", async () => {
  const gone = http(404, '{"code":"not_found","message":"Dataset not found.","status":404}');
  const ran = await against([reset, say(gone)], remove);
  expect(ran.exit).toBe(0);
  const cut = await against([say(http(200, "{}").slice(0, -1)), say(gone)], remove);
  expect(cut.exit).toBe(0);
  const first = await against([say(gone)], remove);
  expect(first.exit).toBe(3);
});

const id = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";

test.each([
  [remove],
  [["kb", "doc", "delete", id, id, "--yes"]],
  [["kb", "api", "DELETE", `/datasets/${id}/metadata/${id}`, "--yes"]],
  [["wf", "annotation", "delete", id, "--yes"]],
])("%j: a 204 is a success, whatever its Content-Length", async (line) => {
  const head = "HTTP/1.1 204 NO CONTENT\r\nContent-Length: 2\r\nX-Version: 1.14.2\r\n\r\n";
  const show = `{"id":"${id}","name":"A","document_count":1,"doc_metadata":[]}`;
  const ran = await against(
    [
      (socket, request) =>
        socket.write(request.startsWith("GET ") ? http(200, show) : head, () => socket.end()),
    ],
    line,
  );
  expect(ran.err).not.toContain("error");
  expect(ran.exit).toBe(0);
  expect(ran.requests.filter((each) => !each.startsWith("GET "))).toHaveLength(1);
});

test("--retries 0 disables retries", async () => {
  const ran = await against([reset, say(http(200, emptyPage))], [...list, "--retries", "0"]);
  expect(ran.exit).toBe(11);
  expect(ran.requests).toHaveLength(1);
});

test("an HTML page instead of JSON is reported as a wrong base URL", async () => {
  const ran = await against(
    [say(http(200, "<!doctype html><html>", { "content-type": "text/html" }))],
    list,
  );
  expect(ran.exit).toBe(6);
  expect(ran.err).toContain("not an API endpoint");
});

test("with -o json the error is one line of JSON on stderr", async () => {
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
