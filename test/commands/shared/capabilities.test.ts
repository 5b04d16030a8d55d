import { afterEach, describe, expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { http, rawServer } from "../../lib/raw-server.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { cli } from "../../lib/support.ts";

const server = await testSandbox();
afterEach(() => {
  server.sandbox.setFaults([]);
  server.seen.length = 0;
});

type Known = Readonly<Record<string, readonly [supported: string, how: string]>>;

/** The output of `doctor --capabilities`, by capability. */
async function known(program: "kb" | "wf", env: Readonly<Record<string, string>> = {}) {
  const ran = await server.done([program, "doctor", "--capabilities", "-o", "json"], { env });
  const rows = JSON.parse(ran.out) as { capability: string; supported: string; how: string }[];
  return Object.fromEntries(
    rows.map(({ capability, supported, how }) => [capability, [supported, how]]),
  ) as Known;
}

const supported = (found: Known) =>
  Object.fromEntries(Object.entries(found).map(([name, [yes]]) => [name, yes]));

/** A server that responds with the same error to everything. */
const refusing = async (status: number, body: string, headers: Record<string, string> = {}) =>
  rawServer([(socket) => socket.end(http(status, body, headers))]);

const knowledgeGroups = {
  "knowledge bases": "yes",
  documents: "yes",
  chunks: "yes",
  metadata: "yes",
  tags: "yes",
  models: "yes",
};
const newerKnowledge = [
  "kb doc link",
  "kb doc download",
  "kb doc replace",
  "kb pipeline plugins",
  "kb pipeline run",
  "kb pipeline run-node",
  "kb pipeline upload",
];
const newerApp = ["wf events", "wf form show", "wf form submit", "wf user show"];
const all = (names: readonly string[], is: string) =>
  Object.fromEntries(names.map((name) => [name, is]));

test("a current server supports all knowledge capabilities", async () => {
  const found = await known("kb");
  expect(supported(found)).toEqual({
    ...knowledgeGroups,
    ...all(newerKnowledge, "yes"),
  });
  expect(found["tags"]?.[1]).toBe("GET /datasets/tags: 200");
  expect(found["documents"]?.[1]).toBe(
    "GET /datasets/{dataset_id}/documents: exists (404 to a test request)",
  );
  expect(found["kb doc replace"]?.[1]).toBe("the server has version 1.14.2 (since 1.14.0)");
});

test("an older server lacks later features", async () => {
  server.sandbox.setFaults([parseFault("* * version=1.12.1")]);
  const found = await known("kb");
  expect(supported(found)).toEqual({
    ...knowledgeGroups,
    ...all(newerKnowledge, "no"),
  });
  expect(found["kb pipeline plugins"]?.[1]).toBe(
    "GET /datasets/{dataset_id}/pipeline/datasource-plugins: 404: no such route (since 1.13.0)",
  );
  expect(found["kb doc replace"]?.[1]).toBe("the server has version 1.12.1 (since 1.14.0)");
});

test("a server in between has the features of its version", async () => {
  server.sandbox.setFaults([parseFault("* * version=1.13.1")]);
  expect(supported(await known("kb"))).toMatchObject({
    "kb doc download": "yes",
    "kb doc link": "yes",
    "kb doc replace": "no",
  });
  expect(supported(await known("wf"))).toMatchObject({ "wf events": "no", "wf user show": "yes" });
});

describe("an application", () => {
  const groups = { application: "yes", logs: "yes", feedback: "yes", annotations: "yes" };
  test("a workflow has runs", async () => {
    const found = await known("wf", { KB_APP_KEY: "app-echo" });
    expect(supported(found)).toEqual({
      ...groups,
      "workflow runs": "yes",
      ...all(newerApp, "yes"),
    });
  });

  test("an error for the kind of application means no", async () => {
    const { baseUrl } = await refusing(400, '{"code":"not_workflow_app","message":"No."}', {
      "x-version": "1.14.2",
    });
    const found = await known("wf", { KB_BASE_URL: baseUrl, KB_APP_KEY: "app-echo" });
    expect(found["workflow runs"]).toEqual([
      "no",
      "GET /workflows/run/{workflow_run_id}: 400 not_workflow_app: wrong kind of application",
    ]);
  });
});

test.each(["kb", "wf"] as const)("%s sends reads only, not more than ten", async (program) => {
  await known(program);
  expect(server.seen.length).toBeGreaterThan(5);
  expect(server.seen.length).toBeLessThanOrEqual(10);
  expect(new Set(server.seen.map(({ method }) => method))).toEqual(new Set(["GET"]));
  // A read with an end user would create that user.
  expect(server.seen.filter(({ path }) => path.includes("user="))).toEqual([]);
});

test("an invalid key leaves everything unknown after one request", async () => {
  const found = await known("kb", { KB_KEY: "dataset-wrong" });
  expect(found["knowledge bases"]).toEqual([
    "unknown",
    "Access token is invalid (401 unauthorized)",
  ]);
  expect(found["kb doc link"]?.[0]).toBe("unknown");
  // The error response has the version.
  expect(found["kb doc replace"]).toEqual(["yes", "the server has version 1.14.2 (since 1.14.0)"]);
  expect(server.seen).toHaveLength(1);
});

test("without a key of that kind nothing is sent", async () => {
  const ran = await cli(["wf", "doctor", "--capabilities", "-o", "tsv", "--no-headers"], {
    env: { KB_BASE_URL: server.env["KB_BASE_URL"], KB_KEY: "dataset-sandbox" },
  });
  expect(ran.exit, ran.err).toBe(0);
  expect(ran.out).toContain(
    "application\tunknown\tthis command needs an application key (app-…), but none is set\n",
  );
  expect(ran.out).toContain("wf form submit\tunknown\tcannot be tested without a write\n");
  expect(server.seen).toEqual([]);
});

test("an unreachable server gets one request", async () => {
  const found = await known("kb", { KB_BASE_URL: "http://127.0.0.1:1/v1", KB_RETRIES: "0" });
  expect(new Set(Object.values(supported(found)))).toEqual(new Set(["unknown"]));
  expect(found["tags"]?.[1]).toContain("connection refused: 127.0.0.1:1");
});

test("responses that are not JSON show no version", async () => {
  const page = await refusing(404, "<!doctype html><title>404</title>");
  const found = await known("kb", { KB_BASE_URL: page.baseUrl });
  expect(new Set(Object.values(supported(found)))).toEqual(new Set(["unknown"]));
  expect(found["tags"]?.[1]).toContain("not an API endpoint");
});

test("404 for tags means no: servers before 1.11.3 respond so", async () => {
  const { baseUrl } = await refusing(404, '{"code":"not_found","message":"Dataset not found."}', {
    "x-version": "1.9.2",
  });
  expect(supported(await known("kb", { KB_BASE_URL: baseUrl }))).toMatchObject({
    tags: "no",
    documents: "yes",
  });
});

test("a failing server leaves everything unknown", async () => {
  server.sandbox.setFaults([parseFault("GET /datasets/tags status=500")]);
  const found = await known("kb", { KB_RETRIES: "0" });
  expect(found["tags"]?.[0]).toBe("unknown");
  expect(found["models"]?.[0]).toBe("yes");
});

test("--last-error and --capabilities cannot be used together", async () => {
  const ran = await server.cli(["kb", "doctor", "--capabilities", "--last-error"]);
  expect(ran).toMatchObject({ exit: 2, out: "" });
  expect(ran.err).toContain("--last-error and --capabilities cannot be used together");
});
