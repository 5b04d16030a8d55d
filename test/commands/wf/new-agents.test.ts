/** New agents (mode `agent`, since 1.16), which send their answer twice: recorded, and in the sandbox. */
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { write } from "../../lib/directory.ts";
import { connect } from "../../lib/mcp.ts";
import { eventsIn } from "../../lib/replay.ts";
import { eventsText, json, recorded, runServer, streaming } from "../../lib/run-server.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import type { TestSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

type Fields = Readonly<Record<string, unknown>>;

const exchange = (title: string) => recorded(`1.16/agent-new.json: ${title}`);
const eventsOf = (title: string) => eventsIn(exchange(title)) as readonly Fields[];
const rowsOf = (out: string) => JSON.parse(`[${out.trim().replaceAll("\n", ",")}]`) as Fields[];
const send = ["wf", "chat", "send", "Hello"];
const words = "Hello from the agent, with some words.";
const toWord12 = Array.from({ length: 12 }, (_, index) => `word${index + 1} `).join("");

/** A world whose server has a recorded agent that answers with these events. */
async function recordedWorld(events: readonly object[]): Promise<World> {
  const { baseUrl } = await runServer({
    "GET /v1/messages": json(JSON.parse(exchange("history with thoughts"))),
    "POST /v1/chat-messages": streaming(eventsText(...events)),
  });
  return { env: { KB_BASE_URL: baseUrl, KB_APP_KEY: "app-x" } };
}

test.each([
  ["message, streaming", Infinity, 0, words],
  ["message with thinking and a tool", Infinity, 0, "It is 2026 – naïve 日本."],
  ["message with thinking and a tool", -2, 0, "It is 2026 – naïve 日本."], // lost, then read
  ["message, the backend sends only the end", Infinity, 0, words],
  ["message, stopped", Infinity, 0, toWord12],
  ["agent asks a human", Infinity, 0, "Which colour?"],
  ["backend fails: InvokeRateLimitError", Infinity, 7, ""],
  ["backend fails: other", Infinity, 9, ""],
])("of the recorded %s, cut at %d: exit code %d, one answer", async (title, end, exit, answer) => {
  const world = await recordedWorld(eventsOf(title).slice(0, end));
  const out = answer && `${answer}\n`;
  expect(await cli(send, world)).toMatchObject({ exit, out });
  expect((await cli([...send, "--jq", ".answer"], world)).out).toBe(out);
});

let server: TestSandbox;
let world: World & { readonly folder: string };
const asked = ["wf", "chat", "send", "What year? [[think]][[tool]][[pieces:40]]"];
const answer = "The tool said: 2026";

beforeAll(async () => {
  server = await testSandbox({ models: true, server: "1.16.1" });
  const KB_SANDBOX_APP_KEYS = JSON.stringify({ "new-agent": "app-new-agent" });
  const env = { ...server.env, KB_SANDBOX_APP_KEYS, KB_APP: "new-agent" };
  world = { env, folder: await temporaryDirectory() };
});

test("the sandbox sends the events in the recorded order", async () => {
  const events = rowsOf((await server.done([...asked, "-o", "jsonl"], world)).out);
  const empty = { event: "agent_thought", thought: "", tool: "", observation: "" };
  const thought = (position: number, more = {}) => ({ ...empty, position, ...more });
  const called = { tool: "current_time", tool_input: "{}" };
  expect(events).toMatchObject([
    thought(1, { thought: expect.stringMatching(/^First .*\nTh$/) }),
    thought(1, { thought: "First I look at the question.\nThen I decide." }),
    thought(2),
    { event: "agent_message", answer: "I will look that " },
    thought(2),
    { event: "agent_message", answer: "up. " },
    thought(3, called),
    thought(3, called),
    thought(3, { ...called, observation: "2026" }),
    thought(4),
    { event: "agent_message", answer },
    { event: "message", answer, from_variable_selector: [] },
    { event: "message_end", metadata: { usage: { currency: "USD" } }, files: [] },
  ]);
  expect(new Set(events.map((each) => `${each["message_id"]} ${each["task_id"]}`)).size).toBe(1);
});

test("chat, test run and MCP give its answer, and call /chat-messages alone", async () => {
  const before = server.seen.length;
  const ran = await server.done([...asked, "-v"], world);
  expect(ran.out).toBe(`${answer}\n`);
  expect(ran.err.match(/^tool .*/gm)).toEqual([
    "tool current_time {}",
    "tool current_time gave 2026",
  ]);
  const { out } = await server.done([...asked, "-o", "json"], world);
  expect(JSON.parse(out)).toMatchObject({ answer });
  const suite = `tests: [{ name: a, query: "[[tool]]", answer: "${answer}" }]`;
  await write(world.folder, { "a.yaml": suite });
  const run = ["wf", "test", "run", join(world.folder, "a.yaml"), "-o", "jsonl"];
  const tested = await server.done(run, world);
  expect(rowsOf(tested.out)).toMatchObject([{ status: "passed", answer }]);
  const { use } = await connect(["wf", "mcp"], world);
  expect((await use("run_new_agent", { query: "[[tool]]" })).value).toMatchObject({ answer });
  const posts = server.seen.slice(before).filter(({ method }) => method === "POST");
  expect(posts.map(({ path }) => path)).toEqual(Array(4).fill("/v1/chat-messages"));
});

test("one that is stopped has no answer: its text is in its thoughts alone", async () => {
  let stopped: Promise<unknown> | undefined;
  const onOutput = (text: string) => {
    const [, task] = /"agent_message".*"task_id":"(.*?)"/.exec(text) ?? [];
    if (task) stopped ??= server.done(["wf", "chat", "stop", task], world);
  };
  const line = ["wf", "chat", "send", "[[words:99]][[slow:900]]", "-o", "jsonl"];
  const events = rowsOf((await server.done(line, { ...world, onOutput })).out);
  await stopped;
  expect(events.at(-1)).toMatchObject({ metadata: { usage: { total_tokens: 0 } } });
  expect(events.some(({ event }) => event === "message")).toBe(false);
  const said = events.map((each) => each["answer"] ?? "").join("");
  const list = ["wf", "conversation", "messages", String(events[0]?.["conversation_id"])];
  const { out } = await server.done([...list, "-o", "jsonl"], world);
  expect(rowsOf(out)).toMatchObject([{ answer: "", agent_thoughts: [{ answer: said }] }]);
});

test("a file of a message is not attached, so it has no preview", async () => {
  await write(world.folder, { "a.txt": "one" });
  const upload = ["wf", "file", "upload", join(world.folder, "a.txt"), "-o", "json"];
  const { id } = JSON.parse((await server.done(upload, world)).out) as Fields;
  const file = { type: "document", transfer_method: "local_file", upload_file_id: id };
  await server.done([...send, "--files", JSON.stringify([file])], world);
  const preview = ["wf", "file", "preview", String(id), "--output-file", "-"];
  const { exit, err } = await server.cli(preview, world);
  expect(`${exit} ${err}`).toMatch(/^3 error: .*File not found in message context/);
});

test("its model fails as on the server, and servers before 1.16 have no such agent", async () => {
  const { exit, err } = await server.cli(["wf", "chat", "send", "[[error:unknown]]"], world);
  expect(`${exit} ${err}`).toMatch(/^9 error: .* \(agent_run_id=[\da-f-]{36}\)\n/);
  const { sandbox } = await testSandbox({ server: "1.15.0" });
  expect(sandbox.appKeys).not.toHaveProperty("new-agent");
});
