import { describe, expect, test } from "vitest";
import {
  eventsText,
  inTurn,
  json,
  lost,
  recorded,
  runServer,
  streaming,
} from "../../lib/run-server.ts";
import type { Route } from "../../lib/run-server.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const send = ["wf", "chat", "send", "Hello"];
const conversation = "c58891f0-f7a6-4e26-a2bd-d7aeb28c9d83";

/** Runs a command against a server with these routes, and returns the requests it received. */
async function against(
  routes: Readonly<Record<string, Route>>,
  line: readonly string[],
  world: World = {},
) {
  const server = await runServer(routes);
  const env = { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-x", ...world.env };
  return { ...(await cli(line, { ...world, env })), requests: server.requests };
}

/** The events of a recorded stream. */
const eventsOf = (name: string): Record<string, unknown>[] =>
  recorded(name)
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice(6)) as Record<string, unknown>); // as the server sent it

/** The first events of a stream, then the end of the response or of the connection. */
const partOf = (events: readonly object[], how: "close" | "break"): Route =>
  how === "close"
    ? streaming(eventsText(...events))
    : (socket) => {
        const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
        socket.write(`${head}content-length: 100000\r\n\r\n${eventsText(...events)}`, () =>
          socket.destroy(),
        );
      };

const agent = "agent.json: agent, function calling, one tool";

describe("an agent app, which only streams", () => {
  const routes = { "POST /v1/chat-messages": streaming(recorded(agent)) };
  const answer = "I will look that up. The tool said: 2026";

  test("prints one reply as JSON", async () => {
    const ran = await against(routes, [...send, "-o", "json"]);
    expect([ran.exit, ran.err]).toEqual([0, ""]);
    expect(JSON.parse(ran.out)).toMatchObject({
      event: "message",
      id: "4fbc5c9b-01a8-4480-aabb-2faba9c46355",
      message_id: "4fbc5c9b-01a8-4480-aabb-2faba9c46355",
      conversation_id: "246c6f4e-8146-4ae2-8d22-4077fa905b17",
      task_id: "831ff986-64e9-46b9-88ad-30652dad22c4",
      answer,
      metadata: { retriever_resources: [], usage: { total_tokens: 70 } },
    });
    expect((await against(routes, [...send, "--jq", ".answer"])).out).toBe(`${answer}\n`);
  });

  test("prints its text, with -v its tools, and no thoughts that are already text", async () => {
    const ran = await against(routes, [...send, "-v"]);
    expect([ran.exit, ran.out]).toEqual([0, `${answer}\n`]);
    expect(ran.err.split("\n").filter((line) => line.startsWith("tool "))).toEqual([
      'tool current_time {"current_time": {}}',
      'tool current_time gave {"current_time": "2026"}',
    ]);
    expect((await against(routes, send)).err).toMatch(/^continue with `wf chat send .*`\n$/);
  });

  test("rejects --blocking with a hint", async () => {
    const refused = json(JSON.parse(recorded("agent.json: agent, blocking")), 400);
    const ran = await against({ "POST /v1/chat-messages": refused }, [...send, "--blocking"]);
    expect(ran.exit).toBe(5);
    expect(ran.err).toContain("remove --blocking");
  });
});

describe("a new agent (since 1.16), which repeats its whole answer at the end", () => {
  const ids = { conversation_id: conversation, message_id: "m1", task_id: "t1" };
  const said = (event: string, answer: string) => ({ event, ...ids, id: "m1", answer });
  const thought = { event: "agent_thought", ...ids, id: "th1", position: 1, thought: "", tool: "" };
  const end = { event: "message_end", ...ids, metadata: { usage: { total_tokens: 20 } } };
  const remark = said("agent_message", "Let me see. ");
  const pieces = [said("agent_message", "It is 2026 "), thought, said("agent_message", "– naïve.")];
  const whole = { ...said("message", "It is 2026 – naïve."), from_variable_selector: [] };
  const streamed = (...events: readonly object[]) => ({
    "POST /v1/chat-messages": streaming(eventsText(thought, ...events)),
  });
  const terminal = { tty: true, env: { TERM: "dumb" } };

  test.each([
    ["the answer", [...pieces, whole, end], "It is 2026 – naïve.\n"],
    ["the answer without a remark before a tool", [remark, ...pieces, whole, end], whole.answer],
    ["an answer that comes in no pieces", [whole, end], whole.answer],
    [
      "what was said before a stop, which leaves no answer",
      [...pieces, end],
      "It is 2026 – naïve.",
    ],
  ])("prints once %s", async (_, events, expected) => {
    const ran = await against(streamed(...events), send);
    expect([ran.exit, ran.out]).toEqual([0, `${expected.trimEnd()}\n`]);
    const { out } = await against(streamed(...events), [...send, "--jq", ".answer"]);
    expect(out).toBe(`${expected.trimEnd()}\n`);
  });

  test("a terminal shows the pieces as they come, and the answer not again", async () => {
    const ran = await against(streamed(remark, ...pieces, whole, end), send, terminal);
    expect(ran.out).toBe("Let me see. It is 2026 – naïve.\n");
  });

  test("refuses --blocking in words of its own", async () => {
    const message = "Agent App only supports streaming response mode.";
    const refused = json({ code: "bad_request", message, status: 400 }, 400);
    const ran = await against({ "POST /v1/chat-messages": refused }, [...send, "--blocking"]);
    expect([ran.exit, ran.err]).toEqual([5, expect.stringContaining("remove --blocking")]);
  });
});

const formats = [[], ["-o", "jsonl"], ["-o", "json"], ["--jq", ".answer"], ["-o", "name"]];
const failures: readonly [string, string, Route, readonly string[], readonly string[][]][] = [
  [
    "a chat app",
    "POST /v1/chat-messages",
    streaming(recorded("chat-model.json: model error, streaming: rate")),
    send,
    formats,
  ],
  [
    "an agent, mid-stream",
    "POST /v1/chat-messages",
    streaming(recorded("chat-model.json: model error, streaming: mid-rate")),
    send,
    formats,
  ],
  [
    "a completion",
    "POST /v1/completion-messages",
    streaming(recorded("completion.json: model error, streaming: rate")),
    ["wf", "text", "create"],
    formats,
  ],
  [
    "a chatflow",
    "POST /v1/chat-messages",
    streaming(recorded("chatflow-model.json: chatflow, model error, streaming: rate")),
    send,
    formats,
  ],
  [
    "a chat app, blocking",
    "POST /v1/chat-messages",
    json(JSON.parse(recorded("chat-model.json: model error, blocking: rate")), 400),
    send,
    [["--blocking"], ["--blocking", "-o", "json"]],
  ],
  [
    "a chatflow, blocking",
    "POST /v1/chat-messages",
    json(JSON.parse(recorded("chatflow-model.json: chatflow, model error, blocking: rate")), 400),
    send,
    [["--blocking"], ["--blocking", "-o", "json"]],
  ],
  [
    "a completion, blocking",
    "POST /v1/completion-messages",
    json(JSON.parse(recorded("completion.json: model error, blocking: rate")), 400),
    ["wf", "text", "create"],
    [["--blocking"], ["--blocking", "-o", "json"]],
  ],
];

test.each(failures)(
  "a failed model exits with 9 in every format: %s",
  async (_, route, answer, line, flags) => {
    for (const each of flags) {
      const ran = await against({ [route]: answer }, [...line, ...each]);
      expect(ran.exit, `${each.join(" ")}: ${ran.err}`).toBe(9);
      expect(ran.err).toContain("Rate limit reached for stub-chat: 3 requests per minute");
      expect(ran.err).not.toContain('"changed":"nothing"');
      expect(ran.requests.filter((request) => request.startsWith("POST"))).toHaveLength(1);
    }
  },
);

test("a model whose rate is limited (since 1.16) exits with 7, says what is stored and what to do", async () => {
  const message = "Rate limit reached for stub-chat: 3 requests per minute";
  const ids = { conversation_id: conversation, message_id: "m1" };
  const limit = { event: "error", ...ids, code: "rate_limit_error", status: 429, message };
  const routes = { "POST /v1/chat-messages": streaming(eventsText(limit)) };
  const ran = await against(routes, send);
  expect([ran.exit, ran.err]).toEqual([
    7,
    `error: the reply failed: ${message}\nthe message was stored without an answer\nhint: wait until the model takes requests again, then send it once more\n`,
  ]);
  const { err } = await against(routes, [...send, "-o", "json"]);
  expect(JSON.parse(err)).toMatchObject({ error: { exit: 7, retryable: true, changed: "yes" } });
});

describe("a reply whose stream was lost is read from the server; the message is never sent twice", () => {
  const events = eventsOf("chat-model.json: message, streaming, with citations");
  const whole = events.map(({ answer }) => String(answer ?? "")).join("");
  const message = (answer: string, more: object = {}) => ({
    id: events[0]?.["message_id"],
    answer,
    status: "normal",
    error: null,
    retriever_resources: [
      { position: 1, document_name: "leave.md", dataset_name: "HQ", score: 0.5 },
    ],
    ...more,
  });
  const stored = (...data: readonly object[]): Route => json({ data, has_more: false, limit: 20 });
  const routesOf = (how: "close" | "break", ...looks: readonly Route[]) => ({
    "POST /v1/chat-messages": partOf(events.slice(0, 5), how),
    "GET /v1/messages": inTurn(...looks),
  });
  const posts = (requests: readonly string[]) => requests.filter((each) => each.startsWith("POST"));

  test.each(["close", "break"] as const)("of a chat app: %s", async (how) => {
    // The message exists from the start, its text once it is complete; reading it may fail.
    const looks = [stored(message("")), lost, stored(message(whole))];
    const shown = await against(routesOf(how, ...looks), send);
    expect(shown.exit, shown.err).toBe(0);
    expect(shown.out).toContain(whole.split("\n").at(-1));
    expect(posts(shown.requests)).toHaveLength(1);
    const asJson = await against(routesOf(how, ...looks), [...send, "-o", "json"]);
    expect([asJson.exit, (JSON.parse(asJson.out) as { answer: string }).answer]).toEqual([
      0,
      whole,
    ]);
    const lines = await against(routesOf(how, ...looks), [...send, "-o", "jsonl"]);
    expect(JSON.parse(lines.out.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
      event: "_answer",
      conversation_id: conversation,
      answer: whole,
    });
  });

  test("exits with 13 within seconds if the server has no answer, with 9 if it failed", async () => {
    const waits: number[] = [];
    const never = await against(routesOf("break", stored(message(""))), send, { waits });
    expect(never.exit).toBe(13);
    expect(waits.reduce((sum, each) => sum + each, 0)).toBeLessThan(5000);
    expect(never.out).toBe("You asked: How many days \n");
    expect(never.err).toContain("\nthe message was stored\n");
    expect(never.err).toContain(
      `hint: the server stores an answer only if its stream is read to the end; \`wf conversation messages ${conversation}\` shows whether it was\n`,
    );
    expect(posts(never.requests)).toHaveLength(1);
    const failed = stored(message("", { status: "error", error: "Rate limit reached" }));
    const ran = await against(routesOf("break", failed), send);
    expect([ran.exit, ran.err]).toEqual([
      9,
      expect.stringContaining("error: the reply failed: Rate limit reached"),
    ]);
  });

  test("a completion cannot be read again: 13", async () => {
    const completion = eventsOf("completion.json: completion, streaming");
    for (const how of ["close", "break"] as const) {
      const route = partOf(completion.slice(0, 3), how);
      const ran = await against({ "POST /v1/completion-messages": route }, [
        "wf",
        "text",
        "create",
      ]);
      expect(ran.exit, ran.err).toBe(13);
      expect(ran.err).toContain("its stream is read to the end, and cannot send it again\n");
    }
  });

  test.each(["close", "break"] as const)("of a chatflow, by its run: %s", async (how) => {
    const flow = eventsOf("chatflow-model.json: chatflow, knowledge and model");
    const end = flow.find(({ event }) => event === "workflow_finished") ?? {};
    const { answer } = (end["data"] as { outputs: { answer: string } }).outputs;
    const run = String(end["workflow_run_id"]);
    const routes = {
      "POST /v1/chat-messages": partOf(flow.slice(0, 9), how),
      [`GET /v1/workflow/${run}/events`]: streaming(eventsText(end)),
      [`GET /v1/workflows/run/${run}`]: json({
        id: run,
        status: "succeeded",
        outputs: {},
        error: null,
      }),
    };
    const shown = await against(routes, send);
    expect(shown.exit, shown.err).toBe(0);
    expect(shown.out).toContain(answer.split("\n").at(-1));
    const asJson = await against(routes, [...send, "--jq", ".answer"]);
    expect([asJson.exit, asJson.out]).toEqual([0, `${answer}\n`]);
    expect(posts(asJson.requests)).toHaveLength(1);
  });
});

test("prints the sources of a reply on stderr, except with JSON", async () => {
  const route = streaming(recorded("chat-model.json: message, streaming, with citations"));
  const ran = await against({ "POST /v1/chat-messages": route }, send);
  expect(ran.err).toBe(
    [
      "source 1  leave.md  (HQ handbook)  0.62",
      "source 2  leave.md  (HQ handbook)  0.48",
      "source 3  leave.md  (HQ handbook)  0.22",
      `continue with \`wf chat send '…' --conversation-id ${conversation}\``,
      "",
    ].join("\n"),
  );
  expect((await against({ "POST /v1/chat-messages": route }, [...send, "-q"])).err).toBe("");
  expect((await against({ "POST /v1/chat-messages": route }, [...send, "-o", "json"])).err).toBe(
    "",
  );
});

test("--query of a completion is an input if the form has a field of that name", async () => {
  const bodies: unknown[] = [];
  const answer: Route = (socket, before, request) => {
    bodies.push(JSON.parse(request.slice(request.indexOf("\r\n\r\n"))));
    streaming(recorded("completion.json: completion, streaming"))(socket, before, request);
  };
  const form = [{ paragraph: { label: "Query", variable: "query", required: true, default: "" } }];
  const routes = {
    "POST /v1/completion-messages": answer,
    "GET /v1/parameters?": json({ user_input_form: form }),
    "GET /v1/parameters ": json({ user_input_form: form }),
  };
  const create = ["wf", "text", "create", "--query", "Hi", "-q"];
  await against(routes, create);
  await against(routes, [...create, "--inputs", '{"query":"own"}']);
  await against({ "POST /v1/completion-messages": answer }, create);
  const sent = { response_mode: "streaming", query: "Hi", user: "kb-wf" };
  expect(bodies).toEqual([
    { ...sent, inputs: { query: "Hi" } },
    { ...sent, inputs: { query: "own" } },
    { ...sent, inputs: {} },
  ]);
});

test.each([
  [
    ["wf", "text", "create"],
    "POST /v1/completion-messages",
    "completion.json: completion, streaming",
  ],
  [["wf", "chat", "send", "Hi"], "POST /v1/chat-messages", agent],
])("%j takes --input as wf run does", async (line, route, recording) => {
  const bodies: unknown[] = [];
  const answer: Route = (socket, before, request) => {
    bodies.push(JSON.parse(request.slice(request.indexOf("\r\n\r\n"))));
    streaming(recorded(recording))(socket, before, request);
  };
  const form = [
    { "text-input": { label: "Topic", variable: "topic", required: true } },
    { number: { label: "Words", variable: "words", required: false } },
  ];
  const routes = { [route]: answer, "GET /v1/parameters ": json({ user_input_form: form }) };
  await against(routes, [...line, "-q", "--inputs", '{"topic":"x"}', "-i", "words=5"]);
  expect(bodies).toMatchObject([{ inputs: { topic: "x", words: 5 } }]);
  const ran = await against(routes, [...line, "--input", "tpoic=x"]);
  expect(ran).toMatchObject({ exit: 2, out: "" });
  expect(ran.err).toContain('input "tpoic" not found\nhint: inputs: topic, words\n');
  expect(bodies).toHaveLength(1);
});

test("warns if the app accepts no files", async () => {
  const file =
    '[{"type":"image","transfer_method":"remote_url","url":"https://example.com/a.png"}]';
  const none = { file_upload: { enabled: false, image: { enabled: false } } };
  const taken = { file_upload: { enabled: true, image: { enabled: false } } };
  for (const [body, info] of [
    [none, true],
    [{ file_upload: {} }, true], // 1.16
    [taken, false],
    [{}, false],
  ] as const) {
    const routes = {
      "GET /v1/parameters ": json(body),
      "POST /v1/chat-messages": streaming(recorded(agent)),
    };
    const ran = await against(routes, [...send, "--files", file]);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err.includes("the application does not accept files with a message")).toBe(info);
  }
});

test("a run behind a chat is stopped by its own ID", async () => {
  const folder = await temporaryDirectory();
  const flow = eventsOf("chatflow-model.json: chatflow, knowledge and model");
  const [{ workflow_run_id: run, task_id: task } = {}] = flow;
  const stops: string[] = [];
  const stop: Route = (socket, before, request) => {
    stops.push(request.split(" ")[1] ?? "");
    json({ result: "success" })(socket, before, request);
  };
  const notWorkflow = json({ code: "not_workflow_app", message: "No.", status: 400 }, 400);
  const running = json({ id: run, status: "running", outputs: {}, error: null });
  const stopped = json({ id: run, status: "stopped", outputs: {}, error: "Stopped by user." });
  const server = await runServer({
    "POST /v1/chat-messages/": stop,
    "POST /v1/chat-messages": streaming(
      recorded("chatflow-model.json: chatflow, knowledge and model"),
    ),
    "POST /v1/workflows/tasks/": notWorkflow,
    [`GET /v1/workflows/run/${String(run)}`]: inTurn(running, stopped),
  });
  const world = {
    folder,
    env: { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-x", KB_KEEP_ERRORS: "0" },
  };
  expect((await cli(send, world)).exit).toBe(0);
  const byChat = await cli(["wf", "chat", "stop", String(run)], world);
  const byRun = await cli(["wf", "stop", String(run)], world);
  expect([byChat.exit, byRun.exit], byRun.err).toEqual([0, 0]);
  const path = `/v1/chat-messages/${String(task)}/stop`;
  expect(stops).toEqual([path, path]);
});
