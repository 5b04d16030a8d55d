/** Replies that end badly, or lack what most have: each test gets its verdict, and the run continues. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { readAnswerRules } from "../../../src/sandbox/apps/definitions/read-rules.ts";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { interruptedWhen } from "../../lib/after-append.ts";
import { write } from "../../lib/directory.ts";
import {
  eventsText,
  inTurn,
  json,
  pinging,
  runServer,
  sleptTime,
  streaming,
  type Route,
} from "../../lib/run-server.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";

const whole = "You have thirty days of leave a year, and more with children.";
const rules = [
  { question: "/leave/", answer: whole, cites: ["leave.md"] },
  { question: "/overload/", answer: "Let me look that up.", error: "mid-unavailable" },
];
const sandbox = await testSandbox({
  applications: [
    readAnswerRules({ rules }, "basic"),
    readAnswerRules({ mode: "advanced-chat", rules }, "flow"),
  ],
});
const folder = await temporaryDirectory();
const names = ["echo", "basic", "flow"];
const env = {
  KB_SANDBOX_APP_KEYS: JSON.stringify(
    Object.fromEntries(names.map((name) => [name, `app-${name}`])),
  ),
};
beforeEach(() => {
  sandbox.seen.length = 0;
  sandbox.sandbox.setFaults([]);
});

interface Row {
  readonly status: string;
  readonly answer: string | null;
  readonly cited: readonly string[];
  readonly tokens: number | null;
  readonly seconds: number | null;
  readonly error: string | null;
}
const rowsOf = (out: string) =>
  out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Row);

/** Asks about leave between two other questions, one after the other. */
async function run(app: string, faults: readonly string[], question = "How many days of leave?") {
  await write(folder, {
    "suite.yaml": `
app: ${app}
user: ann
defaults: { expect: [not cited parking.md] }
tests:
  - { name: before, query: "Where can I park?" }
  - { name: leave, query: "${question}", expect: [cited leave.md] }
  - { name: after, query: "Where can I park?" }
`,
  });
  sandbox.sandbox.setFaults(faults.map(parseFault));
  const line = ["wf", "test", "run", join(folder, "suite.yaml"), "--concurrency", "1"];
  const ran = await sandbox.cli([...line, "-o", "jsonl"], { env, folder });
  const rows = rowsOf(ran.out);
  expect(rows, ran.err).toHaveLength(3);
  return { ...ran, rows };
}
const messages = () => sandbox.seen.filter(({ path }) => path === "/v1/chat-messages").length;

test.each([
  ["that is over at once", 2],
  ["in the middle of the text", 14],
])(
  "a chatflow whose stream is cut %s is judged by what the server has stored",
  async (_, after) => {
    const ran = await run("flow", [`POST /chat-messages cut-after=${after} skip=1 times=1`]);
    expect(ran.exit, ran.out + ran.err).toBe(0);
    expect(ran.rows[1]).toMatchObject({ status: "passed", answer: whole, cited: ["leave.md"] });
    expect(messages()).toBe(3);
    const readers = sandbox.seen.filter(({ path }) => /^\/v1\/(messages|workflow\/)/.test(path));
    expect(readers.length).toBeGreaterThan(1);
    expect(readers.filter(({ path }) => !path.includes("user=ann"))).toEqual([]);
  },
);

test("if the sources of a reply cannot be read, the test is an error: 10", async () => {
  const faults = ["POST /chat-messages cut-after=14 skip=1 times=1", "GET /messages status=404"];
  const ran = await run("flow", faults);
  expect(ran.exit).toBe(10);
  expect(ran.rows.map(({ status }) => status)).toEqual(["passed", "error", "passed"]);
});

test("a reply without a run that is cut, and never stored, is an error: 10", async () => {
  const ran = await run("basic", ["POST /chat-messages cut-after=4 skip=1 times=1"]);
  expect(ran.exit).toBe(10);
  expect(ran.rows.map(({ status }) => status)).toEqual(["passed", "error", "passed"]);
  expect(ran.rows[1]?.error).toContain("lost the event stream before the end of the reply");
  expect(messages()).toBe(3);
});

test.each(["basic", "flow"])(
  "a model of %s that fails in the middle is a failed test",
  async (app) => {
    const ran = await run(app, [], "What about overload?");
    expect(ran.exit).toBe(14);
    expect(ran.rows.map(({ status }) => status)).toEqual(["passed", "failed", "passed"]);
    expect(messages()).toBe(3);
  },
);

test.each([
  // A request that the server did not start is sent again.
  ["status=429 skip=1 times=1", 0, ["passed", "passed", "passed"], 4],
  ["status=429 skip=1 times=4", 10, ["passed", "error", "passed"], 6],
  ["status=500 skip=1 times=1", 10, ["passed", "error", "passed"], 3],
  ["reset skip=1 times=1", 10, ["passed", "error", "passed"], 3],
])("%s: exit %d", async (fault, exit, statuses, sent) => {
  const ran = await run("basic", [`POST /chat-messages ${fault}`]);
  expect(ran.exit, ran.out + ran.err).toBe(exit);
  expect(ran.rows.map(({ status }) => status)).toEqual(statuses);
  expect(messages()).toBe(sent);
});

describe("a run of a workflow that was under way when the command ended", () => {
  const event = (kind: string, run: string, data: object) => ({
    event: kind,
    workflow_run_id: run,
    task_id: `task-${run}`,
    data: { id: run, ...data },
  });
  const start = (run: string) => event("workflow_started", run, { reason: "initial" });
  const end = (run: string, more: object = {}) =>
    event("workflow_finished", run, {
      status: "succeeded",
      outputs: { text: "Yes.", ...more },
      error: null,
    });
  // Without the events before a snapshot, only some outputs have a text.
  const mixed = { other: "No.", flag: true };
  const seen = event("node_started", "r2", { id: "n", node_id: "n", title: "Fetch" });

  test.each([
    ["is followed: nothing is asked twice", { expect: ['text contains "Yes"'] }, {}, 2],
    ["is followed if nothing is expected of its text", {}, mixed, 2],
    ["is asked again if its text is not known", { answer: "Yes." }, mixed, 3],
    [
      "is asked again if the server no longer tells what is expected",
      { expect: ['node "Fetch" ran'] },
      {},
      3,
    ],
  ])("%s", async (_, expected, more, posts) => {
    const { baseUrl, requests } = await runServer({
      "POST /v1/workflows/run": inTurn(
        streaming(eventsText(start("r1"), end("r1"))),
        pinging(eventsText(start("r2"))),
        streaming(
          eventsText(
            start("r3"),
            event("node_started", "r3", {
              id: "n",
              node_id: "n",
              title: "Fetch",
              inputs_truncated: false,
            }),
            event("node_finished", "r3", {
              id: "n",
              node_id: "n",
              title: "Fetch",
              status: "succeeded",
            }),
            end("r3"),
          ),
        ),
      ),
      "GET /v1/workflow/r2/events": streaming(
        eventsText(...(more === mixed ? [seen] : []), end("r2", more)),
      ),
    });
    const tests = [
      { name: "a", inputs: { query: "x" } },
      { name: "b", inputs: { query: "y" }, ...expected },
    ];
    await write(folder, { "named.yaml": JSON.stringify({ tests }) });
    const line = ["wf", "test", "run", join(folder, "named.yaml"), "--concurrency", "1"];
    const world = { env: { KB_BASE_URL: baseUrl, KB_APP_KEY: "app-x" }, folder };
    const press = interruptedWhen((text) => text.includes('"run":"r2"'));
    expect((await cli(line, { ...world, ...press })).exit).toBe(130);
    const ran = await cli([...line, "-o", "jsonl"], world);
    expect(ran.exit, ran.out + ran.err).toBe(0);
    expect(rowsOf(ran.out).map(({ status }) => status)).toEqual(["passed", "passed"]);
    expect(requests.filter((each) => each.startsWith("POST"))).toHaveLength(posts);
    if (posts === 2) expect(rowsOf(ran.out)[1]).toMatchObject({ run: "r2", seconds: null });
  });
});

test("a new agent (since 1.16) is asked as a chat is, and its whole answer is judged", async () => {
  const ids = { conversation_id: "c1d5b6a2-0000-4000-8000-000000000001", message_id: "m" };
  const stream = eventsText(
    { event: "agent_message", answer: "Let me see. It is ", ...ids },
    { event: "agent_message", answer: "2026.", ...ids },
    { event: "message", answer: "It is 2026.", from_variable_selector: [], ...ids },
    { event: "message_end", metadata: { retriever_resources: [] }, ...ids },
  );
  const { baseUrl } = await runServer({
    "GET /v1/info": json({ name: "helper", mode: "agent" }),
    "POST /v1/chat-messages": streaming(stream),
  });
  await write(folder, { "agent.yaml": "tests: [{ name: a, query: b, answer: It is 2026. }]\n" });
  const ran = await cli(["wf", "test", "run", join(folder, "agent.yaml"), "-o", "jsonl"], {
    env: { KB_BASE_URL: baseUrl, KB_APP_KEY: "app-x" },
    folder,
  });
  expect(ran.exit, ran.out + ran.err).toBe(0);
  expect(rowsOf(ran.out)).toMatchObject([{ status: "passed", answer: "It is 2026." }]);
});

describe("a model whose rate is limited (an error in the stream, since 1.16)", () => {
  const ids = { conversation_id: "c1d5b6a2-0000-4000-8000-000000000001", message_id: "m" };
  const metadata = { retriever_resources: [] };
  const answer = streaming(
    eventsText(
      { event: "message", answer: "Yes.", ...ids },
      { event: "message_end", ...ids, metadata },
    ),
  );
  const message = "Rate limit reached for stub-chat: 3 requests per minute";
  const limit = { event: "error", ...ids, code: "rate_limit_error", status: 429, message };
  const limited = streaming(eventsText({ event: "message", answer: "Y", ...ids }, limit));

  /** Runs tests of one turn each, or of several, whose questions get these replies in turn. */
  async function replied(turns: readonly number[], ...replies: readonly Route[]) {
    const { baseUrl, requests } = await runServer({
      "GET /v1/info": json({ name: "chat", mode: "chat" }),
      "POST /v1/chat-messages": inTurn(...replies),
    });
    const tests = turns.map((count, index) => ({
      name: `t${index}`,
      turns: Array.from({ length: count }, () => ({ query: "Is it?", answer: "Yes." })),
    }));
    await write(folder, { "limited.yaml": JSON.stringify({ tests }) });
    const { around, passed } = sleptTime();
    const line = ["wf", "test", "run", join(folder, "limited.yaml"), "--concurrency", "1"];
    const world = { env: { KB_BASE_URL: baseUrl, KB_APP_KEY: "app-x" }, folder, around };
    const kept = ["--keep", "all", "--keep-to", join(folder, "kept")];
    const ran = await cli([...line, ...kept, "-o", "jsonl"], world);
    const posts = requests.filter((each) => each.startsWith("POST")).length;
    const rows = rowsOf(ran.out);
    return { ...ran, rows, statuses: rows.map(({ status }) => status), posts, waited: passed() };
  }

  test("is waited for: the question is asked again in a new conversation", async () => {
    const ran = await replied([1, 1, 1], answer, limited, limited, answer);
    expect([ran.exit, ran.statuses, ran.posts]).toEqual([0, ["passed", "passed", "passed"], 5]);
    expect([ran.waited, ran.rows[1]?.seconds]).toEqual([15_000, 0]);
    const kept = await readFile(join(folder, "kept/limited-t1-1.jsonl"), "utf8");
    expect(kept).not.toContain("rate_limit_error");
    expect(kept).toContain('"Yes."');
  });

  test("fails its test after three repeats, and the others are asked", async () => {
    const ran = await replied([1, 1, 1], answer, limited, limited, limited, limited, answer);
    expect([ran.exit, ran.statuses, ran.posts]).toEqual([14, ["passed", "failed", "passed"], 6]);
  });

  test("is no longer waited for after three such tests in a row", async () => {
    const ran = await replied([1, 1, 1, 1, 1], limited);
    expect([ran.exit, ran.posts]).toEqual([14, 14]);
    expect(new Set(ran.statuses)).toEqual(new Set(["failed"]));
  });

  test("fails a later turn at once: its conversation holds the question already", async () => {
    const ran = await replied([2, 1], answer, limited, answer);
    expect([ran.exit, ran.statuses, ran.posts]).toEqual([14, ["failed", "passed"], 3]);
  });
});

test.each([
  ["no metadata", {}],
  ["null metadata", { metadata: null }],
  ["null sources and usage", { metadata: { retriever_resources: null, usage: null } }],
  ["sources of other types", { metadata: { retriever_resources: [null, 1], usage: "x" } }],
])("a message that ends with %s cites nothing", async (_, end) => {
  const ids = { conversation_id: "c1d5b6a2-0000-4000-8000-000000000001", message_id: "m" };
  const stream = eventsText(
    { event: "message", answer: "Thirty days.", ...ids },
    { event: "message_end", ...ids, ...end },
  );
  const { baseUrl, requests } = await runServer({
    "GET /v1/info": json({ name: "chat", mode: "chat" }),
    "POST /v1/chat-messages": streaming(stream),
  });
  await write(folder, {
    "plain.yaml":
      "tests:\n  - { name: a, query: b, expect: [not cited x.md] }\n  - { name: c, query: d, expect: [cited x.md] }\n",
  });
  const ran = await cli(["wf", "test", "run", join(folder, "plain.yaml"), "-o", "jsonl"], {
    env: { KB_BASE_URL: baseUrl, KB_APP_KEY: "app-x" },
    folder,
  });
  expect(ran.exit, ran.out + ran.err).toBe(14);
  const expected = { answer: "Thirty days.", cited: [], tokens: null, error: null };
  expect(rowsOf(ran.out)).toMatchObject([
    { status: "passed", ...expected },
    { status: "failed", ...expected },
  ]);
  expect(requests.filter((line) => line.startsWith("POST"))).toHaveLength(2);
  expect(requests.filter((line) => line.includes("/messages?"))).toEqual([]);
});
