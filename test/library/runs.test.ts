/** Runs that are started and followed through the library, over real connections. */
import { expect, test } from "vitest";
import { CliError, createClient } from "../../src/library/client.ts";
import { startSandbox } from "../../src/library/sandbox.ts";
import type { Run } from "../../types/index.d.ts";
import { afterFile } from "../lib/cleanup.ts";

const sandbox = await startSandbox({ seed: 1 });
afterFile(() => sandbox.close());
const appOf = (name: string) =>
  createClient({ baseUrl: sandbox.url, key: sandbox.keys.apps[name] ?? "" });
const starts = () =>
  sandbox.requests().filter(({ method, path }) => method === "POST" && path.endsWith("/run"));

async function kindsOf(run: Run): Promise<string[]> {
  const kinds: string[] = [];
  for await (const { event } of run) kinds.push(event);
  return kinds;
}

test("a run is started when it is read, and gives its events and its result", async () => {
  const before = starts().length;
  const run = appOf("echo").run({ query: "hello" });
  expect(starts()).toHaveLength(before);
  const kinds = await kindsOf(run);
  expect([kinds[0], kinds.at(-1)]).toEqual(["workflow_started", "workflow_finished"]);
  expect(await run.result).toMatchObject({ status: "succeeded", error: null, forms: [] });
  expect(starts()).toHaveLength(before + 1);
  await expect(kindsOf(run)).rejects.toThrow("can be read once");
});

test("a lost connection is followed without a second start, and the result has the outputs", async () => {
  sandbox.faults(["POST /workflows/run cut-after=2 times=1"]);
  const before = starts().length;
  const { status, outputs } = await appOf("echo").run({ query: "again" }).result;
  sandbox.faults([]);
  expect(status).toBe("succeeded");
  expect(JSON.stringify(outputs)).toContain("again");
  expect(starts()).toHaveLength(before + 1);
});

test("a run that was started elsewhere is followed to its end", async () => {
  const app = appOf("echo");
  const { runId } = await app.run({ query: "first" }).result;
  const run = app.follow(runId);
  expect((await kindsOf(run)).at(-1)).toBe("workflow_finished");
  const { outputs } = await run.result;
  expect(JSON.stringify(outputs)).toContain("first");
});

test("a pause is a result with its forms", async () => {
  const { status, forms, outputs } = await appOf("review").run({ query: "a text" }).result;
  expect(status).toBe("paused");
  expect(forms[0]?.token).toMatch(/^\w{22}$/);
  expect(outputs).toEqual({});
});

test("a start that is refused is an error; one that is left early has no result", async () => {
  const refused = appOf("echo").run({ query: "x" }, { workflowId: "none" });
  await expect(refused.result).rejects.toBeInstanceOf(CliError);
  const left = appOf("echo").run({ query: "x" });
  for await (const _ of left) break;
  await expect(left.result).rejects.toMatchObject({ kind: "interrupted" });
});

test("names are resolved as on the command line", async () => {
  const client = createClient({ baseUrl: sandbox.url, key: sandbox.keys.knowledge });
  const { id: dataset_id } = await client.createDataset({ name: "Handbook" });
  const text = { name: "leave.md", text: "30 days", indexing_technique: "economy" } as const;
  await client.createDocumentFromText({ dataset_id, ...text });
  const { resolve } = client;
  expect(await resolve.kb("Handbook")).toBe(dataset_id);
  expect(await resolve.kb(dataset_id.slice(0, 8))).toBe(dataset_id);
  expect(await resolve.document("leave.md", { dataset_id })).toMatch(/^[\da-f-]{36}$/);
  await expect(resolve.kb("Handbok")).rejects.toMatchObject({
    kind: "not-found",
    info: { hint: 'did you mean "Handbook"?' },
  });
});
