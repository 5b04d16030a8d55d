import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { operations } from "../../src/operations/index.ts";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { http, rawServer } from "../lib/raw-server.ts";
import { bodyText, exchanges, headersOf } from "../lib/recordings.ts";
import { testSandbox, type TestSandbox } from "../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";

let server: TestSandbox;
let folder = "";
let kb = "";
let doc = "";
const older = [parseFault("* * version=1.12.1")];
beforeAll(async () => {
  server = await testSandbox({ faults: older });
  folder = await temporaryDirectory();
  await writeFile(join(folder, "a.md"), "hello");
  kb = await created("kb create Kept --indexing-technique economy");
  doc = await created(`kb doc add ${kb} kept.md --text hello`);
});
beforeEach(() => {
  server.seen.length = 0;
});

const id = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
const run = (line: string, env: Readonly<Record<string, string>> = {}) =>
  server.cli(line.split(" "), { env });

const created = async (line: string) =>
  (await server.done(`${line} -o name`.split(" "))).out.trim();

const sent = () => server.seen.map(({ method, path }) => `${method} ${path}`);

/** A command for every operation added after 1.12.1; `updateDocument` has a fallback. */
const newer: Readonly<Record<string, string>> = {
  downloadDocument: `kb doc link ${id} ${id}`,
  downloadDocumentsZip: "kb doc download {kb} {doc} --dir out",
  listDatasourcePlugins: `kb pipeline plugins ${id}`,
  runDatasourceNode: `kb pipeline run-node ${id} node --datasource-type local_file --is-published`,
  runPipeline: `kb pipeline run ${id} --datasource-type local_file --datasource-info-list [] --start-node-id node --is-published`,
  uploadPipelineFile: "kb pipeline upload {file}",
  streamWorkflowEvents: `wf events ${id}`,
  getChatflowHumanInputForm: "wf form show token",
  submitChatflowHumanInputForm: "wf form submit token --action ok",
  getEndUserChat: `wf user show ${id}`,
};

test("the commands cover every operation that has a minimum version", () => {
  const since = operations.filter((row) => row.since !== undefined).map((row) => row.id);
  expect([...new Set(since)].filter((each) => each !== "updateDocument").sort()).toEqual(
    Object.keys(newer).sort(),
  );
});

test.each(Object.entries(newer))(
  "%s names the server's version and the required one",
  async (operation, line) => {
    const since = operations.find((row) => row.id === operation)?.since;
    const ran = await run(
      line.replace("{kb}", kb).replace("{doc}", doc).replace("{file}", join(folder, "a.md")),
    );
    expect(ran.err).toContain(
      `the server is version 1.12.1; this command needs ${since} or later (404)`,
    );
    expect(ran.exit).toBe(6);
    expect(ran.out).toBe("");
  },
);

test("the hint is to upgrade the server", async () => {
  expect((await run("wf form show token")).err).toBe(
    "error: failed to get form: the server is version 1.12.1; this command needs 1.14.0 or later (404)\nhint: upgrade the server\n",
  );
});

/** Creates a tag on a newer server: the older one can neither print it nor find it by name. */
async function createdTag(name: string): Promise<string> {
  server.sandbox.setFaults([]);
  const tag = await created(`kb tag create ${name}`);
  server.sandbox.setFaults(older);
  return tag;
}

describe("a delete that gets a 200 with the body 204 succeeds", () => {
  test("for a knowledge base, a document, a metadata field, a tag and its bindings", async () => {
    const old = await created("kb create Old --indexing-technique economy");
    await created(`kb doc add ${old} a.md --text hello`);
    await created(`kb metadata create ${old} team --type string`);
    const tag = await createdTag("draft");
    // The list of tags cannot be read (server §10), so the server checks the tag.
    for (const line of [`kb tag bind ${old} ${tag}`, `kb tag unbind ${old} ${tag}`]) {
      const err = expect.stringMatching(/^cannot check that the tag exists: [^\n]+\n$/) as string;
      expect(await run(line), line).toMatchObject({ exit: 0, out: "", err });
    }
    for (const line of [
      `kb tag delete ${tag} --yes`,
      `kb metadata delete ${old} team --yes`,
      `kb doc delete ${old} a.md --yes`,
      `kb delete ${old} --yes`,
    ]) {
      expect(await run(line), line).toMatchObject({ exit: 0, out: "", err: "" });
    }
    expect((await run(`kb show ${old}`)).exit).toBe(3);
  });

  const recorded = exchanges.filter(
    (exchange) => exchange.name.startsWith("older-1.12.1.json") && bodyText(exchange) === "204",
  );
  const lines: Readonly<Record<string, string>> = {
    bind: `kb tag bind ${id} ${id}`,
    "unbind, tag_id": `kb tag unbind ${id} ${id}`,
    "delete metadata field": `kb metadata delete ${id} ${id} --yes`,
    "delete document": `kb doc delete ${id} ${id} --yes`,
    "delete knowledge base": `kb delete ${id} --yes`,
  };

  test("for every operation with such a recording", () => {
    expect(recorded.map(({ title }) => title).sort()).toEqual(Object.keys(lines).sort());
  });

  test.each(recorded.map((exchange) => [exchange.title, exchange] as const))(
    "%s as recorded",
    async (title, exchange) => {
      const { status } = exchange.response;
      const version = { "x-version": "1.12.1" };
      // The targets exist.
      const { baseUrl } = await rawServer([
        (socket, request) =>
          socket.end(
            request.startsWith("GET")
              ? http(
                  200,
                  request.includes("/tags")
                    ? `[{"id":"${id}"}]`
                    : `{"doc_metadata":[{"id":"${id}"}]}`,
                  version,
                )
              : http(status, bodyText(exchange), version),
          ),
      ]);
      const env = { KB_BASE_URL: baseUrl };
      expect(await run(lines[title] ?? "", env)).toMatchObject({ exit: 0, out: "", err: "" });
    },
  );
});

describe("on an older server", () => {
  test("a tag is unbound with the field that both versions accept", async () => {
    const tag = await createdTag("old");
    await run(`kb tag bind ${kb} ${tag}`);
    server.seen.length = 0;
    const ran = await run(`kb tag unbind ${kb} ${tag}`);
    expect(ran.exit, ran.err).toBe(0);
    expect(sent().filter((line) => line.startsWith("POST"))).toEqual([
      "POST /v1/datasets/tags/unbinding",
    ]);
    expect((await run(`kb tag bound ${kb} -o name`)).out).toBe("");
  });

  test("a file is replaced through the older route after the newer one gets a 404", async () => {
    await run(`kb doc wait ${kb}`);
    const path = join(folder, "b.md");
    await writeFile(path, "# new");
    server.seen.length = 0;
    const ran = await run(`kb doc replace ${kb} ${doc} ${path} -o name -v`);
    expect(ran, ran.err).toMatchObject({ exit: 0, out: `${doc}\n` });
    expect(ran.err).toContain("the server does not have this route; using the older one");
    expect(sent().filter((line) => !line.startsWith("GET"))).toEqual([
      `PATCH /v1/datasets/${kb}/documents/${doc}`,
      `POST /v1/datasets/${kb}/documents/${doc}/update-by-file`,
    ]);
  });
});

/** A server that sends one recorded response of 1.12.1 to every request. */
async function recordedServer(title: string) {
  const exchange = exchanges.find(({ name }) => name === `older-1.12.1.json: ${title}`);
  if (!exchange) throw new Error(`no recording named ${title}`);
  const version = headersOf(exchange)["x-version"] ?? "";
  const response = http(exchange.response.status, bodyText(exchange), { "x-version": version });
  return rawServer([(socket) => socket.end(response)]);
}

describe("a tag that was created although the response is an error", () => {
  test("is reported as possibly applied and is not retried", async () => {
    const { baseUrl, requests } = await recordedServer("create tag");
    const options = { env: { KB_BASE_URL: baseUrl, KB_KEY: "dataset-sandbox" } };
    const ran = await cli(["kb", "tag", "create", "draft"], options);
    expect(ran.exit).toBe(1);
    expect(ran.err).toContain(
      "the server failed to build its response: binding_count: must be text",
    );
    expect(ran.err).toContain("hint: the change may have been applied; check before retrying");
    expect(requests).toHaveLength(1);
    const json = await cli(["kb", "tag", "create", "draft", "-o", "json"], options);
    expect(JSON.parse(json.err)).toMatchObject({
      error: { changed: "unknown", retryable: false, exit: 1 },
    });
  });

  test("makes the list of tags fail with a server error", async () => {
    const { baseUrl } = await recordedServer("list tags: the refused one is there");
    const options = { env: { KB_BASE_URL: baseUrl, KB_KEY: "dataset-sandbox" } };
    const ran = await cli(["kb", "tag", "list"], options);
    expect(ran.exit).toBe(1);
    expect(ran.err).toContain("contact its operator");
    expect(ran.err).not.toContain("unknown whether");
  });
});

describe("a 404 that is not a JSON error of the API", () => {
  const page = "<!doctype html>\n<title>404 Not Found</title>";

  test("is reported as a wrong base URL without X-Version", async () => {
    const { baseUrl } = await rawServer([(socket) => socket.end(http(404, page))]);
    const ran = await run("wf form show token", { KB_BASE_URL: baseUrl });
    expect(ran.exit).toBe(6);
    expect(ran.err).toContain("not an API endpoint: the server returned HTML");
    expect(ran.err).toContain("hint: check that the base URL ends in");
  });

  test("is reported as an unsupported route if the server is new enough", async () => {
    const { baseUrl } = await rawServer([
      (socket) => socket.end(http(404, page, { "x-version": "1.14.2" })),
    ]);
    const ran = await run(`kb doc link ${id} ${id}`, { KB_BASE_URL: baseUrl });
    expect(ran.exit).toBe(6);
    expect(ran.err).toContain("the server (version 1.14.2) does not support GET");
  });

  test("does not mention versions if the object does not exist", async () => {
    const missing = '{"code":"not_found","message":"Document not found.","status":404}';
    const { baseUrl } = await rawServer([
      (socket) => socket.end(http(404, missing, { "x-version": "1.12.1" })),
    ]);
    const ran = await run(`kb doc link ${id} ${id}`, { KB_BASE_URL: baseUrl });
    expect(ran.exit).toBe(3);
    expect(ran.err).not.toContain("1.13.1");
  });
});
