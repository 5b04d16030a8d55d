/** Runs with models in the sandbox: what readers see piece by piece. */
import { describe, expect, onTestFinished, test } from "vitest";
import { holds } from "../../src/sandbox/apps/nodes/loops.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/http/server.ts";
import { manualClock, type ManualClock } from "../lib/manual-clock.ts";
import { eventsIn, recordedApplications } from "../lib/replay.ts";

interface RunEvent {
  readonly event: string;
  readonly task_id: string;
  readonly workflow_run_id: string;
  readonly data: {
    readonly text?: string;
    readonly node_id?: string;
    readonly status?: string;
    readonly total_steps?: number;
  };
}

let clock: ManualClock;
let sandbox: Sandbox;

async function open(server = "1.14.2"): Promise<void> {
  clock = manualClock();
  const applications = [...recordedApplications.values()];
  sandbox = await startSandbox({ clock, directory: null, server, models: true, applications });
  onTestFinished(() => sandbox.stop());
}

const send = (app: string, path: string, body?: object) =>
  fetch(`${sandbox.origin}/v1${path}`, {
    method: body ? "POST" : "GET",
    headers: { Authorization: `Bearer app-${app}`, "Content-Type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });

/** Reads a stream in the background. */
async function read(response: Promise<Response>) {
  const { body } = await response;
  const state = { text: "", ended: false };
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of body ?? []) state.text += decoder.decode(chunk, { stream: true });
    state.ended = true;
  })();
  return {
    events: () => eventsIn(state.text) as readonly RunEvent[],
    async finished() {
      while (!state.ended) await clock.advance(100);
      return eventsIn(state.text) as readonly RunEvent[];
    },
  };
}

const start = (app: string, query: string) =>
  read(send(app, "/workflows/run", { inputs: { query }, response_mode: "streaming", user: "u1" }));

const textsOf = (events: readonly RunEvent[]) =>
  events.flatMap(({ event, data }) => (event === "text_chunk" ? [data.text] : []));

test("a reader that comes later misses the pieces before, with a snapshot and without", async () => {
  await open();
  const run = await start("llm-retry", "[[words:5]] [[slow:100]]");
  while (textsOf(run.events()).length < 2) await clock.advance(50);
  const id = run.events()[0]?.workflow_run_id;
  const path = `/workflow/${id}/events?user=u1`;
  const plain = await read(send("llm-retry", path));
  const snapshot = await read(send("llm-retry", `${path}&include_state_snapshot=true`));
  const before = textsOf(run.events()).length;
  const all = textsOf(await run.finished());
  expect(all).toEqual(["word1 ", "word2 ", "word3 ", "word4 ", "word5", "", ""]);
  expect(textsOf(await plain.finished())).toEqual(all.slice(before));
  expect(textsOf(await snapshot.finished())).toEqual(all.slice(before));
});

test("branches side by side speak one after the other", async () => {
  await open();
  const events = await (await start("llm-parallel", "go")).finished();
  expect(textsOf(events).join("")).toBe("A1 A2 A3 A4 A5 A6\nB1 B2 B3 B4 B5 B6\nC1 C2 C3");
  const ended = events.findIndex(
    ({ event, data }) => event === "node_finished" && data.node_id === "b",
  );
  const first = events.findIndex(({ data }) => data.text === "B1 ");
  expect(first).toBeGreaterThan(ended);
});

describe.each([
  ["1.14.2", "running", ["stopped"]],
  ["1.15.0", "stopped", ["stopped", "failed"]],
])("a run of %s that is stopped while a model speaks", (server, recorded, live) => {
  test(`is ${recorded} in its record`, async () => {
    await open(server);
    const run = await start("llm-run", "[[words:80]] [[slow:100]]");
    while (textsOf(run.events()).length === 0) await clock.advance(50);
    const [{ task_id, workflow_run_id } = { task_id: "", workflow_run_id: "" }] = run.events();
    await send("llm-run", `/workflows/tasks/${task_id}/stop`, { user: "u1" });
    const last = (await run.finished()).at(-1);
    expect(last?.event).toBe("workflow_finished");
    expect(live).toContain(last?.data.status);
    const detail = await send("llm-run", `/workflows/run/${workflow_run_id}`);
    expect(await detail.json()).toMatchObject({ status: recorded, total_tokens: 0 });
  });
});

test("a branch that fails ends those beside it", async () => {
  await open();
  const run = await start("llm-parallel", "[[error:rate]] [[slow:1000]]");
  const events = await run.finished();
  expect(
    events.filter(({ event }) => event === "node_finished").map(({ data }) => data.status),
  ).toEqual(["succeeded", "failed"]);
  expect(events.at(-1)?.data).toMatchObject({ status: "failed", total_steps: 4 });
});

test("a chatflow keeps what its run wrote into a variable", async () => {
  await open();
  const app = "update-conversation-variable-in-iteration";
  const body = { inputs: {}, query: "first", response_mode: "blocking", user: "u1" };
  const reply = await send(app, "/chat-messages", body);
  const { conversation_id, answer } = (await reply.json()) as Record<string, string>;
  expect(answer).toBe("first");
  const variables = await send(app, `/conversations/${conversation_id}/variables?user=u1`);
  expect(await variables.json()).toMatchObject({ data: [{ name: "answer", value: "first" }] });
});

describe("a branch", () => {
  test.each([
    ["hello you", { true: "hello you" }],
    ["bye", { false: "bye" }],
  ])("by the query %j has the outputs %j", async (query, outputs) => {
    await open();
    const body = { inputs: { query }, response_mode: "blocking", user: "u1" };
    const reply = await send("conditional-hello-branching-workflow", "/workflows/run", body);
    expect(await reply.json()).toMatchObject({ data: { outputs, total_steps: 3 } });
  });
});

test.each([
  ["contains", "a text", "tex", true],
  ["contains", ["x"], "y", false],
  ["not contains", "a", "b", true],
  ["start with", "abc", "ab", true],
  ["end with", "abc", "ab", false],
  ["is", 5, "5", true],
  ["is not", "a", "a", false],
  ["empty", [], null, true],
  ["not empty", "a", null, true],
  ["=", "2", 2, true],
  ["≠", 2, 2, false],
  [">", 3, "2", true],
  ["<", 3, 2, false],
  ["≥", 2, 2, true],
  ["≤", 3, 2, false],
  ["unknown", 1, 1, false],
])("the condition %s of %j and %j", (comparison_operator, actual, value, expected) => {
  const condition = { variable_selector: ["n", "v"], comparison_operator, value } as const;
  expect(holds({ n: { v: actual } }, condition)).toBe(expected);
});
