import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { http, rawServer } from "../../lib/raw-server.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import type { TestSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

let server: TestSandbox;
let folder = "";
beforeAll(async () => {
  server = await testSandbox();
  folder = await temporaryDirectory();
});
beforeEach(() => {
  server.seen.length = 0;
});

const kb = (argv: readonly string[], world?: World) => server.cli(["kb", "api", ...argv], world);
const wf = (argv: readonly string[], world?: World) => server.cli(["wf", "api", ...argv], world);
const nowhere = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";

/** The JSON body of the last request. */
const bodySent = (): unknown => JSON.parse(new TextDecoder().decode(server.seen.at(-1)?.body));

async function created(name: string): Promise<string> {
  const fields = ["-f", `name=${name}`, "--jq", ".id"];
  return (await server.done(["kb", "api", "POST", "/datasets", ...fields])).out.trim();
}

describe("fields", () => {
  test.each<[string, string[], unknown]>([
    ["-f is text", ["-f", "a=1", "-f", "b=true", "-f", "c="], { a: "1", b: "true", c: "" }],
    [
      "-F reads JSON literals and numbers",
      ["-F", "a=1", "-F", "b=-2.5", "-F", "c=true", "-F", "d=false", "-F", "e=null", "-F", "f=x"],
      { a: 1, b: -2.5, c: true, d: false, e: null, f: "x" },
    ],
    [
      "-F keeps text that a number would change",
      ["-F", "zip=00420", "-F", "v=1."],
      { zip: "00420", v: "1." },
    ],
    ["brackets nest", ["-f", "a[b][c]=d", "-F", "a[e]=2"], { a: { b: { c: "d" }, e: 2 } }],
    ["empty brackets add to a list", ["-f", "a[]=x", "-F", "a[]=3"], { a: ["x", 3] }],
    ["a list alone is empty", ["-F", "a[]"], { a: [] }],
    [
      "an existing field begins the next object of a list",
      ["-f", "a[][x]=1", "-f", "a[][y]=2", "-f", "a[][x]=3"],
      { a: [{ x: "1", y: "2" }, { x: "3" }] },
    ],
    ["a dot is part of a name", ["-f", "a.b=c"], { "a.b": "c" }],
    ["only the first = divides", ["-f", "a=b=c"], { a: "b=c" }],
    ["names are only names", ["-f", "__proto__[x]=1"], JSON.parse('{"__proto__":{"x":"1"}}')],
  ])("%s", async (_, fields, body) => {
    await kb(["POST", "/datasets", ...fields]);
    expect(bodySent()).toEqual(body);
    expect(server.seen[0]?.headers["content-type"]).toBe("application/json");
  });

  test("-F name=@file reads a file, @- stdin", async () => {
    const path = join(folder, "text.md");
    await writeFile(path, "grüße\n");
    await kb(["POST", "/datasets", "-F", `name=@${path}`]);
    expect(bodySent()).toEqual({ name: "grüße\n" });
    await kb(["POST", "/datasets", "-F", "name=@-"], { stdin: "from a pipe" });
    expect(bodySent()).toEqual({ name: "from a pipe" });
  });

  test("become the query of a GET, appended to that of the path, with one parameter per list item", async () => {
    await kb([
      "GET",
      "/datasets?keyword=a%20b",
      "-F",
      "limit=1",
      "-f",
      "tag_ids[]=x",
      "-f",
      "tag_ids[]=y",
    ]);
    expect(server.seen[0]?.path).toBe("/v1/datasets?keyword=a%20b&tag_ids=x&tag_ids=y&limit=1");
    expect(server.seen[0]?.body).toHaveLength(0);
  });

  test.each([
    [["POST", "/datasets", "-f", "name"], 'expected name=value, not "name"'],
    [["POST", "/datasets", "-f", "=x"], 'expected name=value, not "=x"'],
    [["POST", "/datasets", "-f", "a[b=c"], 'expected name=value, not "a[b=c"'],
    [
      ["POST", "/datasets", "-f", "a=1", "-f", "a[]=1", "-f", "a[b]=2"],
      "as a list and as an object",
    ],
    [["POST", "/datasets", "-F", "name=@/no/such/file"], 'failed to read "/no/such/file"'],
    [
      ["POST", "/datasets", "-f", "a=1", "--input", "-"],
      "fields and --input cannot be used together",
    ],
    [["GET", "/datasets", "--input", "-"], "GET has no body"],
    [["FETCH", "/datasets"], 'invalid method "FETCH"'],
    [["GET", "https://example.com/v1/datasets"], "pass a path, not a URL"],
    [["GET", "/datasets/../../console"], "leads upwards"],
    [["GET", "/datasets/%2E%2e/x"], "leads upwards"],
    [["GET", "/datasets\\..\\..\\console"], "a backslash or a control character"],
    [["GET", "/datasets/.\t./x"], "a backslash or a control character"],
    [["GET", "/datasets", "--header", "nothing"], 'invalid header "nothing"'],
    [["GET", "/datasets", "--header", "X: a\r\nY: b"], "invalid header"],
    [["GET", "/datasets", "--header", "Authorization: Bearer x"], "not from --header"],
    [["POST", "/datasets", "--all"], "use the method GET"],
    [["GET", "/datasets?page=2", "--all"], "--all cannot be used with page"],
  ])("%j ends with 2 and sends nothing", async (line, message) => {
    const ran = await kb(line, { stdin: "{}" });
    expect(ran.err).toContain(message);
    expect(ran.exit).toBe(2);
    expect(server.seen).toEqual([]);
  });
});

describe("requests", () => {
  test.each(["/datasets", "datasets", "/v1/datasets", "v1/datasets"])(
    "%s is the same path",
    async (path) => {
      expect((await kb(["get", path])).exit).toBe(0);
      expect(server.seen[0]).toMatchObject({ method: "GET", path: "/v1/datasets" });
    },
  );

  test("a # is part of the path", async () => {
    await kb(["GET", "/datasets#x"]);
    expect(server.seen[0]?.path).toBe("/v1/datasets%23x");
  });

  test("--input sends a file or stdin unchanged", async () => {
    const path = join(folder, "body.json");
    await writeFile(path, '{ "name" : "From a file" }\n');
    await kb(["POST", "/datasets", "--input", path]);
    expect(new TextDecoder().decode(server.seen[0]?.body)).toBe('{ "name" : "From a file" }\n');
    await kb(["POST", "/datasets", "--input", "-"], { stdin: '{"name":"From a pipe"}' });
    expect(bodySent()).toEqual({ name: "From a pipe" });
  });

  test("--header adds or replaces headers, also in a dry run", async () => {
    const headers = ["--header", "X-Trace: 7", "--header", "content-type: application/json; v=2"];
    const line = ["api", "POST", "/datasets", "-f", "name=Headers", ...headers];
    const dry = await server.cli(["kb", "--dry-run", ...line]);
    expect(dry.out).toContain("\nx-trace: 7\n");
    expect(dry.out).toContain("\ncontent-type: application/json; v=2\n");
    expect(server.seen).toEqual([]);
    await server.cli(["kb", ...line]);
    expect(server.seen[0]?.headers).toMatchObject({
      "x-trace": "7",
      "content-type": "application/json; v=2",
    });
  });

  test("kb sends the knowledge key, wf the application key", async () => {
    await kb(["GET", "/datasets"]);
    expect(server.seen[0]?.headers["authorization"]).toBe("Bearer dataset-sandbox");
    const ran = await wf(["GET", "/info", "--jq", ".name"]);
    expect(ran).toMatchObject({ exit: 0, out: "echo\n" });
  });

  test("a redirect is not followed", async () => {
    const other = await rawServer([(socket) => socket.end(http(200, "{}"))]);
    const { baseUrl, requests } = await rawServer([
      (socket) => socket.end(http(302, "", { location: `${other.baseUrl}/datasets` })),
    ]);
    const ran = await kb(["GET", "/datasets"], { env: { KB_BASE_URL: baseUrl } });
    expect(ran.exit).toBe(6);
    expect(ran.err).toContain("redirects are never followed");
    expect(requests).toHaveLength(1);
    expect(other.requests).toEqual([]);
  });
});

describe("writes", () => {
  test("--dry-run and --curl send nothing", async () => {
    const line = ["api", "POST", "/datasets", "-f", "name=Never"];
    const dry = await server.cli(["kb", "--dry-run", ...line]);
    expect(dry.exit, dry.err).toBe(0);
    expect(dry.out.split("\n")[0]).toBe(`POST ${server.env["KB_BASE_URL"]}/datasets`);
    expect(dry.out).toContain('\n\n{"name":"Never"}\n');
    const curl = await server.cli(["kb", "--curl", ...line]);
    expect(curl.out).toMatch(/^curl --fail-with-body -X POST /);
    const removal = await server.cli(["kb", "-n", "api", "DELETE", `/datasets/${nowhere}`]);
    expect(removal.out).toContain(`DELETE ${server.env["KB_BASE_URL"]}/datasets/${nowhere}`);
    expect(server.seen).toEqual([]);
  });

  test("--read-only blocks writes, not reads", async () => {
    const ran = await server.cli([
      "kb",
      "--read-only",
      "api",
      "POST",
      "/datasets",
      "-f",
      "name=No",
    ]);
    expect(ran.exit).toBe(2);
    expect(server.seen).toEqual([]);
    expect((await server.cli(["kb", "--read-only", "api", "GET", "/datasets"])).exit).toBe(0);
  });

  test("a DELETE prompts on a terminal, and needs --yes without one", async () => {
    const id = await created("Doomed");
    server.seen.length = 0;
    const line = ["DELETE", `/datasets/${id}`];
    const alone = await kb(line);
    expect(alone.exit).toBe(2);
    expect(alone.err).toContain("pass --yes");
    const no = await kb(line, { tty: true, answers: ["n"] });
    expect(no.exit).toBe(2);
    expect(server.seen).toEqual([]);
    const yes = await kb(line, { tty: true, answers: ["y"] });
    expect(yes).toMatchObject({ exit: 0, out: "" });
    const other = await created("Doomed, too");
    const flag = await server.cli(["kb", "--yes", "api", "DELETE", `/datasets/${other}`]);
    expect(flag).toMatchObject({ exit: 0, out: "", err: "" });
  });
});

describe("responses", () => {
  test("an API error is printed as for other commands, or as one line of JSON", async () => {
    const ran = await kb(["GET", `/datasets/${nowhere}`]);
    expect(ran).toMatchObject({ exit: 3, out: "" });
    expect(ran.err).toBe("error: Dataset not found. (404 not_found)\n");
    const json = await kb(["GET", `/datasets/${nowhere}`, "-o", "json"]);
    expect(JSON.parse(json.err)).toMatchObject({
      error: { exit: 3, http_status: 404, server_code: "not_found", method: "GET" },
    });
  });

  test("--include prints status and headers, an empty line and the body", async () => {
    const ran = await kb(["GET", "/datasets?keyword=no-such-thing", "--include"]);
    const [head = "", body = ""] = ran.out.split("\n\n");
    expect(head.split("\n")[0]).toBe("HTTP 200");
    expect(head).toContain("\nx-version: 1.14.2");
    expect(JSON.parse(body)).toMatchObject({ data: [], total: 0 });
  });

  test("an event stream is printed as it arrives, one JSON text per line", async () => {
    const fields = ["-F", "inputs[query]=hi", "-f", "response_mode=streaming", "-f", "user=u"];
    const ran = await wf(["POST", "/workflows/run", ...fields]);
    expect(ran.exit, ran.err).toBe(0);
    const events = ran.out
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { event: string }).event);
    expect(events[0]).toBe("workflow_started");
    expect(events.at(-1)).toBe("workflow_finished");
    const filtered = await wf(["POST", "/workflows/run", ...fields, "--jq", ".event"]);
    expect(filtered.out.trimEnd().split("\n").sort()).toEqual(events.sort());
  });

  test("binary content is written unchanged, but not to a terminal", async () => {
    const bytes = "PK\u0003\u0004\0 grüße \r\n";
    const { baseUrl } = await rawServer([
      (socket) => socket.end(http(200, bytes).replace("application/json", "application/zip")),
    ]);
    const world = { env: { KB_BASE_URL: baseUrl } };
    expect(await kb(["GET", "/x"], world)).toMatchObject({ exit: 0, out: bytes });
    const terminal = await kb(["GET", "/x"], { ...world, tty: true });
    expect(terminal).toMatchObject({ exit: 2, out: "" });
    expect(terminal.err).toContain("the response is binary (application/zip)");
    const filtered = await kb(["GET", "/x", "--jq", "."], world);
    expect(filtered).toMatchObject({ exit: 2, out: "" });
  });

  test("text is written byte for byte to a pipe, sanitized to a terminal", async () => {
    const { baseUrl } = await rawServer([
      (socket) => socket.end(http(200, "a\u001b[2Jb").replace("application/json", "text/plain")),
    ]);
    const world = { env: { KB_BASE_URL: baseUrl } };
    expect((await kb(["GET", "/x"], world)).out).toBe("a\u001b[2Jb");
    expect((await kb(["GET", "/x"], { ...world, tty: true })).out).not.toContain("\u001b[2J");
  });
});

describe("--all", () => {
  test("reads numbered pages to the end, each row once", async () => {
    for (let index = 0; index < 7; index++) await created(`Numbered ${index}`);
    server.seen.length = 0;
    const ran = await kb([
      "GET",
      "/datasets?keyword=Numbered&limit=3",
      "--all",
      "--jq",
      "map(.name) | length",
    ]);
    expect(ran, ran.err).toMatchObject({ exit: 0, out: "7\n" });
    expect(server.seen.map(({ path }) => path)).toEqual(
      [1, 2, 3].map((page) => `/v1/datasets?keyword=Numbered&limit=3&page=${page}`),
    );
    const lines = await kb(["GET", "/datasets?keyword=Numbered", "--all", "-o", "jsonl"]);
    expect(lines.out.trimEnd().split("\n")).toHaveLength(7);
  });

  // lists.test.ts tests cursors; here more than two rows share a second, so pages of two fail.
  test("reads conversations and messages, and reports where pages of two miss rows", async () => {
    const say = (fields: readonly string[]) =>
      wf(
        [
          "POST",
          "/chat-messages",
          "-f",
          "query=hi",
          "-F",
          "inputs[x]=1",
          "-f",
          "user=u",
          "-f",
          "response_mode=blocking",
          ...fields,
          "--jq",
          ".conversation_id",
        ],
        chat,
      );
    const chat = { env: { KB_APP: "chat" } };
    const conversations: string[] = [];
    for (let index = 0; index < 3; index++) conversations.push((await say([])).out.trim());
    const [first = ""] = conversations;
    for (let index = 0; index < 2; index++) await say(["-f", `conversation_id=${first}`]);
    server.seen.length = 0;
    const all = ["--all", "--jq", "map(.id) | .[]"];
    const ran = await wf(["GET", "/conversations?user=u", ...all], chat);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.out.trimEnd().split("\n").sort()).toEqual(conversations.sort());
    const path = `/messages?user=u&conversation_id=${first}`;
    const messages = await wf(["GET", path, ...all], chat);
    expect(new Set(messages.out.trimEnd().split("\n")).size).toBe(3);
    const small = await wf(["GET", `${path}&limit=2`, ...all], chat);
    expect([0, 10]).toContain(small.exit);
    expect(server.seen.at(-1)?.path).toContain("first_id=");
  });

  test("reads a list that has no pages", async () => {
    await server.cli(["kb", "tag", "create", "draft"]);
    const ran = await kb(["GET", "/datasets/tags", "--all", "--jq", "map(.name)"]);
    expect(ran.out).toBe('["draft"]\n');
    const models = await kb(["GET", "/workspaces/current/models/model-types/llm", "--all"]);
    expect(models).toMatchObject({ exit: 0, out: "[]\n" });
  });

  test("detects the paging of unknown lists from the response", async () => {
    const row = (id: number) => ({ id: `row-${id}` });
    const answers = [
      { data: [row(1), row(2)], has_more: true, limit: 2 },
      { data: [row(3)], has_more: false, limit: 2 },
    ];
    const { baseUrl, requests } = await rawServer(
      answers.map((answer) => (socket) => void socket.end(http(200, JSON.stringify(answer)))),
    );
    const ran = await kb(["GET", "/things", "--all", "--jq", "map(.id)"], {
      env: { KB_BASE_URL: baseUrl },
    });
    expect(ran, ran.err).toMatchObject({ exit: 0, out: '["row-1","row-2","row-3"]\n' });
    expect(requests).toEqual([
      "GET /v1/things?limit=100 HTTP/1.1",
      "GET /v1/things?last_id=row-2&limit=100 HTTP/1.1",
    ]);
  });

  test("continues where the server shortens a page that is too large", async () => {
    const row = (id: number) => ({ id: `row-${id}` });
    const pages = [Array.from({ length: 100 }, (_, index) => row(index)), [row(100), row(101)]].map(
      (data, index) => JSON.stringify({ data, page: index + 1, has_more: true, total: 102 }),
    );
    const { baseUrl, requests } = await rawServer(
      pages.map((page) => (socket) => void socket.end(http(200, page))),
    );
    const ran = await kb(["GET", "/things?limit=500", "--all", "--jq", "length"], {
      env: { KB_BASE_URL: baseUrl },
    });
    expect(ran, ran.err).toMatchObject({ exit: 0, out: "102\n" });
    expect(requests).toHaveLength(2);
  });

  test("rejects responses that are not a list", async () => {
    const id = await created("Single");
    const ran = await kb(["GET", `/datasets/${id}`, "--all"]);
    expect(ran.exit).toBe(6);
    expect(ran.err).toContain("--all needs a list");
  });

  test("reports if pages had fewer rows than the total, and prints these rows", async () => {
    const answer = JSON.stringify({ data: [{ id: "a" }], page: 1, has_more: false, total: 2 });
    const { baseUrl } = await rawServer([(socket) => socket.end(http(200, answer))]);
    const ran = await cli(["kb", "api", "GET", "/things", "--all"], {
      env: { KB_BASE_URL: baseUrl, KB_KEY: "dataset-sandbox" },
    });
    expect(ran).toMatchObject({ exit: 10, out: '[{"id":"a"}]\n' });
    expect(ran.err).toContain("the server reports 2 rows, but its pages contain 1 distinct ones");
  });
});
