/** The client of the API as a library would use it: without a command line and a host. */
import { Agent } from "undici";
import { expect, onTestFinished, test } from "vitest";
import { FirstRequests } from "../../src/api/calls.ts";
import type { ClientSetup } from "../../src/api/calls.ts";
import { apiClient } from "../../src/api/client.ts";
import type { ApiClient } from "../../src/api/client.ts";
import { readText } from "../../src/lib/collect.ts";
import { newCounter } from "../../src/api/pages.ts";
import { ApiError, DryRunShown } from "../../src/errors.ts";
import { collect } from "../../src/lib/collect.ts";
import {
  createKnowledgeBase,
  getKnowledgeBase,
  listKnowledgeBases,
} from "../../src/operations/knowledge.ts";
import { listWorkflowLogs } from "../../src/operations/workflows.ts";
import { canned, logServer, logsOf, uuid } from "../lib/log-server.ts";
import { testSandbox } from "../lib/sandbox.ts";

/** A client of a sandbox with three knowledge bases. */
async function clientWith(changes: Partial<ClientSetup> = {}): Promise<ApiClient> {
  const { sandbox, done } = await testSandbox();
  for (const name of ["Alpha", "Beta", "Gamma"]) await done(["kb", "create", name]);
  const agent = new Agent();
  onTestFinished(() => agent.close());
  const baseUrl = `${sandbox.origin}/v1`;
  return apiClient({
    kind: "dataset",
    target: () => Promise.resolve({ baseUrl, key: "dataset-sandbox" }),
    baseUrl: () => Promise.resolve(baseUrl),
    user: () => Promise.resolve("tester"),
    retries: 0,
    signal: new AbortController().signal,
    dispatcher: () => Promise.resolve(agent),
    sleep: () => Promise.resolve(),
    random: () => 0,
    elapsed: () => performance.now(),
    blob: () => Promise.reject(new Error("no file is sent")),
    redact: (text) => text,
    trace: () => Promise.resolve(),
    notice: () => Promise.resolve(),
    ...changes,
  });
}

test("a call returns the response, typed by the table", async () => {
  const api = await clientWith();
  const [first] = await api.call(listKnowledgeBases, {});
  const base = await api.call(getKnowledgeBase, { dataset_id: first?.id ?? "" });
  expect(base.name).toBe(first?.name);
  expect(api.writes()).toBe(0);
});

test("rows of a list come up to a limit, and a counter has their total", async () => {
  const api = await clientWith();
  expect((await collect(api.rows(listKnowledgeBases, {}))).map(({ name }) => name)).toHaveLength(3);
  const counter = newCounter();
  expect(await collect(api.rows(listKnowledgeBases, {}, { limit: 2, counter }))).toHaveLength(2);
  expect(counter).toMatchObject({ shown: 2, total: 3 });
});

test("a whole list that lacks rows is rejected, unless a counter tells it", async () => {
  const { env } = await canned((_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ data: [{ id: uuid(1) }], total: 4, has_more: false }));
  });
  const target = { baseUrl: env.KB_BASE_URL, key: env.KB_KEY };
  const api = await clientWith({ target: () => Promise.resolve(target) });
  const whole = collect(api.rows(listKnowledgeBases, {}));
  await expect(whole).rejects.toThrow("failed to read the whole list: received 1 of 4 rows");
  const counter = newCounter();
  expect(await collect(api.rows(listKnowledgeBases, {}, { counter }))).toHaveLength(1);
  expect(counter).toMatchObject({ shown: 1, total: 4 });
});

test("a list whose pages lose rows is read by time windows, and a single page as it is", async () => {
  const logs = logsOf(60, 60, 60);
  const { seen, env } = await logServer(() => logs, 7);
  const target = { baseUrl: env.KB_BASE_URL, key: env.KB_APP_KEY };
  const api = await clientWith({ kind: "app", target: () => Promise.resolve(target) });
  expect(await collect(api.rows(listWorkflowLogs, {}))).toHaveLength(180);
  expect(seen.some(({ search }) => search.includes("created_at__before"))).toBe(true);
  const before = seen.length;
  expect(await collect(api.rows(listWorkflowLogs, {}, { page: 2, limit: 100 }))).toHaveLength(80);
  expect(await collect(api.rows(listWorkflowLogs, {}, { limit: 20 }))).toHaveLength(20);
  const searches = seen.slice(before).map(({ search }) => search);
  expect(searches).toEqual(["?page=2&limit=100", "?page=1&limit=20"]);
});

test("a server that becomes slow gets fewer requests at once", async () => {
  let [now, took] = [1_000_000, 100];
  const agent = new Agent();
  onTestFinished(() => agent.close());
  const slow = agent.compose((dispatch) => (options, handler) => {
    now += took;
    return dispatch(options, handler);
  });
  const api = await clientWith({ elapsed: () => now, dispatcher: () => Promise.resolve(slow) });
  const limit = api.limitConcurrency({ start: 4, max: 8 });
  for (let sent = 0; sent < 4; sent++) await api.call(listKnowledgeBases, {});
  expect(limit.value).toBe(4);
  took = 1000;
  for (let sent = 0; sent < 4; sent++) await api.call(listKnowledgeBases, {});
  expect(limit.value).toBe(2);
});

test("an error response is an ApiError with its kind", async () => {
  const api = await clientWith();
  const dataset_id = "00000000-0000-4000-8000-000000000000";
  const error: unknown = await api.call(getKnowledgeBase, { dataset_id }).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ kind: "not-found", response: { status: 404 } });
});

test("a write that is held back is not sent", async () => {
  const held: string[] = [];
  const api = await clientWith({
    holdsBack: ({ method, url }) => Promise.resolve(held.push(`${method} ${url}`) > 0),
  });
  await expect(api.call(createKnowledgeBase, { name: "Delta" })).rejects.toThrow(DryRunShown);
  expect(held).toEqual([`POST ${await api.baseUrl()}/datasets`]);
  expect(await collect(api.rows(listKnowledgeBases, {}))).toHaveLength(3);
});

test("a request that no row describes has a path below the base URL", async () => {
  const api = await clientWith();
  const url = "/datasets?page=1&limit=1";
  const { status, body } = await api.raw({ method: "GET", url, headers: {} }, "dataset");
  expect(status).toBe(200);
  expect(JSON.parse(await readText(body))).toMatchObject({ total: 3 });
});

test("the first request of an end user goes alone, the others beside each other", async () => {
  const requests = new FirstRequests();
  const { signal } = new AbortController();
  const entered: string[] = [];
  const enter = async (name: string, endUser: string) => {
    const end = await requests.enter(endUser, signal);
    entered.push(name);
    return end;
  };
  const turn = () => new Promise((resolve) => void setImmediate(resolve));
  const refused = await enter("refused", "ann");
  const [second, third] = [enter("second", "ann"), enter("third", "ann")];
  await enter("other", "ben");
  await turn();
  expect(entered).toEqual(["refused", "other"]);
  refused(false); // the server does not know the user yet
  await second;
  await turn();
  expect(entered).toEqual(["refused", "other", "second"]);
  (await second)(true);
  await Promise.all([third, enter("fourth", "ann")]);
});
