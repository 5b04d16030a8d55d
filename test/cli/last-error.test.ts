import { mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { http, rawServer } from "../lib/raw-server.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { cli, temporaryDirectory, type World } from "../lib/support.ts";

const server = await testSandbox();
const id = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
const key = "dataset-Zx81QwErTyUiOpAsDfGhJkLm";

/** Command lines with a state directory of their own. */
async function machine(env: Readonly<Record<string, string>> = server.env) {
  const folder = await temporaryDirectory();
  const failures = join(folder, "state", "failures");
  return {
    folder,
    failures,
    run: (argv: readonly string[], world: World = {}) =>
      cli(argv, { folder, ...world, env: { ...env, ...world.env } }),
    kept: () => readdir(failures).catch(() => []),
  };
}

/** Output of `doctor --last-error -o json`. */
async function last(it: Awaited<ReturnType<typeof machine>>, n = "1") {
  const { out, exit, err } = await it.run(["kb", "doctor", "--last-error", n, "-o", "json"]);
  expect(exit, err).toBe(0);
  return JSON.parse(out) as Record<string, unknown>;
}

test("the last error is logged with command, error, requests and waits, also as JSON", async () => {
  const it = await machine();
  server.sandbox.setFaults([parseFault("GET /datasets* status=503")]);
  const failed = await it.run(["kb", "list", "--retries", "1"], {
    now: () => new Date("2026-11-21T12:00:00Z"),
  });
  server.sandbox.setFaults([]);
  expect(failed.exit).toBe(1);
  const request = {
    method: "GET",
    path: "/v1/datasets?include_all=true&page=1&limit=20",
    status: 503,
    ms: 0,
  };
  const kept = await last(it);
  expect(kept).toMatchObject({
    time: "2026-11-21T12:00:00.000Z",
    program: expect.stringMatching(/^kb \d/) as string,
    platform: "v20.19.0 test",
    command: "kb list --retries 1",
    error: {
      code: "failure",
      exit: 1,
      http_status: 503,
      server_code: "service_unavailable",
      method: "GET",
      path: "/v1/datasets",
    },
    sent: 2,
    curl: `curl --fail-with-body '${server.sandbox.origin}/v1/datasets?include_all=true&page=1&limit=20' -H "Authorization: Bearer $KB_KEY"`,
  });
  expect(kept["requests"]).toEqual([
    { ...request, failure: null, waited_ms: 250 },
    { ...request, failure: null, waited_ms: null },
  ]);
});

test("people read it in words", async () => {
  const it = await machine();
  await it.run(["wf", "show", id, "--nonsense"], { env: { KB_APP_KEY: "app-echo" } });
  await it.run(["kb", "show", id], { now: () => new Date("2026-11-21T12:00:00Z") });
  const { out, err, exit } = await it.run(["kb", "doctor", "--last-error"]);
  expect(exit, err).toBe(0);
  expect(out.replace(/kb \d[^,]*,/, "kb N,")).toBe(
    [
      "2026-11-21T12:00:00.000Z  kb N, v20.19.0 test",
      `command: kb show ${id}`,
      `error: failed to get knowledge base ${id}: Dataset not found. (404 not_found)`,
      "  code not-found, exit 3, status 404, server code not_found",
      "requests: 1",
      `  GET /v1/datasets/${id}: 404 in 0 ms`,
      "the failed request, with its key in a variable:",
      `  curl --fail-with-body ${server.sandbox.origin}/v1/datasets/${id} -H "Authorization: Bearer $KB_KEY"`,
      "",
    ].join("\n"),
  );
});

test("showing it sends nothing, and both programs show both", async () => {
  const it = await machine();
  await it.run(["kb", "show", id]);
  server.seen.length = 0;
  const { out } = await it.run(["wf", "doctor", "--last-error"]);
  expect(out).toContain(`command: kb show ${id}\n`);
  expect(server.seen).toEqual([]);
});

test("earlier ones are selected by number", async () => {
  const it = await machine();
  for (const [second, name] of ["a", "b", "c"].entries()) {
    await it.run(["kb", "show", `name:${name}`], {
      now: () => new Date(Date.UTC(2026, 10, 21, 12, 0, second)),
    });
  }
  expect((await last(it, "1"))["command"]).toBe("kb show name:c");
  expect((await last(it, "3"))["command"]).toBe("kb show name:a");
  expect(await it.run(["kb", "doctor", "--last-error=4"])).toMatchObject({
    exit: 0,
    out: "",
    err: "only 3 errors logged\n",
  });
  expect((await it.run(["kb", "doctor", "--last-error", "21"])).exit).toBe(2);
});

test("an empty log is reported, not an error", async () => {
  const it = await machine();
  expect(await it.run(["kb", "doctor", "--last-error"])).toEqual({
    exit: 0,
    out: "",
    err: "no errors logged\n",
  });
  const json = await it.run(["kb", "doctor", "--last-error", "-o", "json"]);
  expect(json).toEqual({ exit: 0, out: "null\n", err: "" });
});

test.each([
  ["a usage error", ["kb", "list", "--nonsense"], {}],
  ["a wrong value", ["kb", "show"], {}],
  ["a success", ["kb", "list"], {}],
  ["a failure with KB_KEEP_ERRORS=0", ["kb", "show", id], { KB_KEEP_ERRORS: "0" }],
  ["problems that doctor finds", ["kb", "doctor"], { KB_KEY: "dataset-wrong" }],
])("%s is not kept", async (_, argv, env) => {
  const it = await machine();
  await it.run(argv, { env });
  expect(await it.kept()).toEqual([]);
});

test("what somebody stops is not kept", async () => {
  const it = await machine();
  const ran = await it.run(["kb", "list"], { signal: AbortSignal.abort("SIGINT") });
  expect(ran.exit).toBe(130);
  expect(await it.kept()).toEqual([]);
});

test("a request without a response is logged with the reason", async () => {
  const it = await machine({ KB_BASE_URL: "http://127.0.0.1:1/v1", KB_KEY: key });
  await it.run(["kb", "list", "--retries", "0"]);
  expect(await last(it)).toMatchObject({
    error: { code: "network", exit: 11 },
    requests: [{ status: null, failure: "connect ECONNREFUSED 127.0.0.1:1" }],
  });
});

test("keys, credentials and bodies are not kept", async () => {
  const echo = `{"code":"invalid_param","message":"you sent ${key} and Bearer abc123def456ghi"}`;
  const { baseUrl } = await rawServer([
    (socket) => socket.end(http(200, `{"id":"${id}","doc_form":"text_model"}`)),
    (socket) => socket.end(http(200, '{"data":[],"has_more":false,"total":0}')),
    (socket) => socket.end(http(400, echo)),
  ]);
  const it = await machine({ KB_BASE_URL: baseUrl, KB_KEY: key });
  const text = "The plan nobody may read. ".repeat(20);
  await it.run(["kb", "doc", "add", id, "plan.md", "--text", text]);
  await it.run([
    ..."kb api POST /datasets?sign=Hush1234 -f password=Hush1234 -f name=Board".split(" "),
    "--header",
    "X-Token: Hush1234",
  ]);
  const files = await it.kept();
  const texts = await Promise.all(files.map((name) => readFile(join(it.failures, name), "utf8")));
  expect(texts).toHaveLength(2);
  for (const secret of [key, "Hush1234", "abc123def456ghi", text]) {
    expect(texts.join()).not.toContain(secret);
  }
  expect((await last(it, "2"))["command"]).toBe(
    `kb doc add ${id} plan.md --text ${text.slice(0, 60)}… (520 characters)`,
  );
  expect((await last(it, "2"))["curl"]).toContain(
    `--data-binary '{"name":"<7 characters>","text":"<520 characters>"`,
  );
  expect((await last(it))["curl"]).toContain('"name":"<5 characters>"');
});

test("only their owner can read them", async () => {
  const it = await machine();
  await it.run(["kb", "show", id]);
  const [name = ""] = await it.kept();
  expect((await stat(join(it.failures, name))).mode & 0o777).toBe(0o600);
  expect((await stat(it.failures)).mode & 0o777).toBe(0o700);
});

test("twenty are kept, the oldest are forgotten, however many fail at once", async () => {
  const it = await machine();
  await Promise.all(
    Array.from({ length: 30 }, (_, second) =>
      it.run(["kb", "show", id], {
        now: () => new Date(Date.UTC(2026, 10, 21, 12, 0, second)),
      }),
    ),
  );
  await it.run(["kb", "show", id], { now: () => new Date(Date.UTC(2026, 10, 21, 13)) });
  expect(await it.kept()).toHaveLength(20);
  expect((await last(it))["time"]).toBe("2026-11-21T13:00:00.000Z");
  expect((await last(it, "20"))["time"]).toBe("2026-11-21T12:00:11.000Z");
});

test("a damaged file is passed over", async () => {
  const it = await machine();
  await it.run(["kb", "show", id]);
  await writeFile(join(it.failures, "9999-damaged.json"), '{"time":');
  await writeFile(join(it.failures, "9999-other.json"), "[]");
  expect((await last(it))["command"]).toBe(`kb show ${id}`);
});

test("a state directory that cannot be written changes nothing", async () => {
  const it = await machine();
  await mkdir(it.folder, { recursive: true });
  await writeFile(join(it.folder, "state"), "a file");
  const { exit, err } = await it.run(["kb", "show", id]);
  expect(exit).toBe(3);
  expect(err).toBe(
    `error: failed to get knowledge base ${id}: Dataset not found. (404 not_found)\n`,
  );
});

test("an internal error is logged with its stack, although nothing was sent", async () => {
  const it = await machine();
  const broken = new Error("the disk talks nonsense");
  await it.run(["kb", "profile", "list"], { files: { stat: () => Promise.reject(broken) } });
  const kept = await last(it);
  expect(kept).toMatchObject({ error: { code: "bug" }, sent: 0, curl: null });
  expect(String(kept["stack"])).toContain("the disk talks nonsense");
});
