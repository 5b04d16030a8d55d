import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { serverEvent } from "../../src/lib/server-event.ts";
import type { ServerEvent } from "../../src/lib/server-event.ts";
import { readEvents } from "../../src/api/sse.ts";
import type { EventBatches } from "../../src/api/sse.ts";
import { events } from "../../src/operations/operation.ts";
import { render } from "../../src/output/print/print.ts";
import type { Style } from "../../src/output/print/print.ts";
import { widthOf } from "../../src/output/display-width.ts";
import { arriving, collecting, plain, printed } from "../lib/printed.ts";
import type { Reader } from "../lib/printed.ts";
import { bodyText, exchanges } from "../lib/recordings.ts";

/** The events of a recorded stream. */
function recorded(name: string): EventBatches {
  const exchange = exchanges.find((each) => each.name === name);
  if (!exchange) throw new Error(`no recording ${name}`);
  return readEvents(bytesOf(bodyText(exchange)));
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

const event = (data: Readonly<Record<string, unknown>>): ServerEvent => serverEvent(data);

const following = (
  list: Iterable<ServerEvent> | EventBatches,
  style: Partial<Style> = {},
  reader: Reader = { terminal: 100 },
) => printed(events, batches(list), style, reader);

/** Events one at a time as they arrive, or the batches of a stream. */
async function* batches(list: Iterable<ServerEvent> | EventBatches): EventBatches {
  for await (const each of list) yield "event" in each ? [each] : each;
}

test("a run is printed line by line, with its text below", async () => {
  expect(
    await following(recorded("streams.json: run, streaming"), { timeZone: "Europe/Berlin" }),
  ).toBe(
    `01:06:57  workflow_started   run f0814fd6-733e-4d64-8910-99311df67d60
héllo 世界
01:06:56  node_started       Start
01:06:56  node_finished      Start  succeeded  0 ms
01:06:57  node_started       End
01:06:57  node_finished      End  succeeded  0 ms
01:06:57  workflow_finished  succeeded  46 ms  2 steps
`,
  );
});

test("in a pipe times are complete and in UTC", async () => {
  expect(await following(recorded("streams.json: events of a finished run"), {}, {})).toBe(
    `2026-11-21T00:06:57Z  workflow_finished  succeeded  616 ms  2 steps
  query: héllo 世界
`,
  );
});

test("a loop is indented and its rounds are counted", async () => {
  const text = await following(
    recorded("streams.json: run of increment_loop_with_break_condition_workflow"),
  );
  expect(text.split("\n").slice(3, 10)).toEqual([
    "00:08:17  loop_started       Loop  at most 10 rounds",
    "00:08:17      node_started       Variable Assigner",
    "00:08:17      node_finished      Variable Assigner  succeeded  0 ms",
    "00:08:17    loop_next          Loop  round 2",
    "00:08:17      node_started       Variable Assigner",
    "00:08:17      node_finished      Variable Assigner  succeeded  1 ms",
    "00:08:17    loop_next          Loop  round 3",
  ]);
});

test("an iteration has its rounds, and its text keeps its lines", async () => {
  const text = await following(
    recorded("streams-more.json: iteration: iteration_flatten_output_enabled_workflow"),
  );
  expect(text).toContain(
    "00:46:05  iteration_started  Iteration with Flatten Enabled  3 rounds\n00:46:05    iteration_next     Iteration with Flatten Enabled  round 1\n",
  );
  expect(text).toContain(
    "iteration_completed  Iteration with Flatten Enabled  succeeded  529 ms\n- 1\n- 2\n- 2\n- 4\n- 3\n- 6\n00:46:06  node_started       End\n",
  );
});

test("a failed node has its error", async () => {
  const text = await following(
    recorded("streams-more.json: node that is retried twice, then fails"),
  );
  expect(text)
    .toContain(`node_retry         Unsteady  retry 2  304 ms  [Errno 111] Connection refused
00:46:11  node_finished      Unsteady  failed  656 ms  [Errno 111] Connection refused
00:46:11  workflow_finished  failed  681 ms  4 steps  [Errno 111] Connection refused
`);
});

test("a pause prints the open form", async () => {
  const text = await following(
    recorded("streams.json: run with human input, streaming: ends at the pause"),
  );
  expect(text).toContain(`12:00:00  human_input_required  Review
  Please review: invoice 42
  input    comment (paragraph, default "looks fine")
  action   approve: Approve
  action   reject: Reject
  expired (01:07 UTC)
  form     pbd0XGPuYgrshMbvy8wxrM
00:07:16  workflow_paused    paused  62 ms  2 steps
`);
});

test("after a pause the full outputs are printed: the server repeats the first text and never sends the rest", async () => {
  const text = await following(
    recorded(
      "streams-more.json: paused chatflow, snapshot and continue_on_pause, form submitted after 2 s",
    ),
  );
  expect(text).toContain(`workflow_started   run 751302bd-8763-41be-9a2b-c4ec63e4e332  resumed
Before the review.${" "}
00:46:18  node_started       Review
12:00:00  human_input_form_filled  Review  Approve
`);
  expect(text).toMatch(
    /5 steps\n {2}answer: Before the review\. After the review: yes\n {2}files: \[\]\n$/,
  );
});

const recordings = exchanges.filter((each) => bodyText(each).includes('data: {"event'));

test.each(recordings)(
  "$name is safe on a terminal and loses no event as jsonl",
  async (exchange) => {
    const body = bodyText(exchange);
    const text = await printed(events, readEvents(bytesOf(body)), {}, { terminal: 80 });
    expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
    expect(text.endsWith("\n")).toBe(true);
    const lines = await printed(events, readEvents(bytesOf(body)), { format: "jsonl" });
    expect(lines).toBe(
      [...body.matchAll(/^data: (.*)\n/gm)].map(([, json]) => `${json}\n`).join(""),
    );
  },
);

const node = { id: "n", title: "Fetch", created_at: 1795219617 };

test.each<[string, readonly Readonly<Record<string, unknown>>[], string]>([
  [
    "text grows on its line",
    [
      { event: "text_chunk", data: { text: "Hel" } },
      { event: "text_chunk", data: { text: "lo" } },
    ],
    "Hello\n",
  ],
  [
    "text that ends its line gets no further line end",
    [
      { event: "message", answer: "Hello\n" },
      { event: "node_started", data: node },
    ],
    "Hello\n00:06:57  node_started       Fetch\n",
  ],
  [
    "reasoning has a label",
    [
      { event: "reasoning_chunk", data: { reasoning: "let me " } },
      { event: "reasoning_chunk", data: { reasoning: "see" } },
      { event: "text_chunk", data: { text: "42" } },
    ],
    "reasoning: let me see\n42\n",
  ],
  ["an empty piece shows nothing", [{ event: "text_chunk", data: { text: "" } }], ""],
  [
    "a replaced answer is printed below its event",
    [
      { event: "message", answer: "bad" },
      { event: "message_replace", answer: "good", reason: "output_moderation" },
    ],
    "bad\n12:00:00  message_replace    output_moderation\ngood\n",
  ],
  [
    "the whole answer of an agent is printed below its event",
    [
      { event: "agent_message", answer: "Let me see. It is 2026." },
      { event: "message", answer: "It is 2026." },
    ],
    "Let me see. It is 2026.\n12:00:00  message\nIt is 2026.\n",
  ],
  [
    "an empty replacement removes nothing",
    [
      { event: "message", answer: "text" },
      { event: "message_replace", answer: "", reason: "" },
      { event: "message", answer: " goes on" },
    ],
    "text goes on\n",
  ],
  [
    "control characters in text are visible",
    [{ event: "message", answer: "\u001b[2Jx\u202e" }],
    "␛[2Jx<U+202E>\n",
  ],
  [
    "control characters in titles and errors are visible",
    [
      {
        event: "node_finished",
        data: { ...node, title: "a\nb", status: "failed", error: "\u0007" },
      },
    ],
    "00:06:57  node_finished      a⏎b  failed  ␇\n",
  ],
  [
    "an unknown kind is printed with its data",
    [{ event: "brand_new", task_id: "t", data: { a: [1] } }],
    '12:00:00  brand_new          {"a":[1]}\n',
  ],
  [
    "an unknown kind without data",
    [{ event: "toString", task_id: "t", extra: true }],
    '12:00:00  toString           {"extra":true}\n',
  ],
  [
    "data that is too long is shortened",
    [{ event: "brand_new", data: "x".repeat(200) }],
    `12:00:00  brand_new          "${"x".repeat(69)}…\n`,
  ],
  [
    "an error in the stream",
    [{ event: "error", code: "invalid_param", message: "no such model", status: 400 }],
    "12:00:00  error              invalid_param  no such model\n",
  ],
  [
    "a gap is printed",
    [{ event: "_gap", workflow_run_id: "r", missing: ["text", "loops"] }],
    "12:00:00  gap                missing: text, loops\n",
  ],
  [
    "after a gap the full outputs are printed",
    [
      { event: "text_chunk", data: { text: "a" } },
      { event: "_gap", missing: [] },
      { event: "text_chunk", data: { text: "c" } },
      { event: "workflow_finished", data: { status: "succeeded", outputs: { out: "a\nbc" } } },
    ],
    "a\n12:00:00  gap                missing:\nc\n12:00:00  workflow_finished  succeeded\n  out: a\n  bc\n",
  ],
  [
    "a scheduled pause has its reason",
    [
      {
        event: "workflow_paused",
        data: {
          status: "paused",
          elapsed_time: 75.2,
          total_tokens: 1,
          reasons: [{ TYPE: "scheduled_pause", message: "until noon" }],
        },
      },
    ],
    "12:00:00  workflow_paused    paused  1m 15s  1 token  until noon\n",
  ],
  ["audio is not printed", [{ event: "tts_message", audio: "AAAA" }], "12:00:00  tts_message\n"],
  [
    "invalid data is tolerated",
    [
      { event: "node_finished", data: null },
      { event: "human_input_required", data: { inputs: 5, actions: [null] } },
    ],
    "12:00:00  node_finished\n12:00:00  human_input_required\n",
  ],
])("%s", async (_, list, expected) => {
  expect(await following(list.map(event))).toBe(expected);
});

test("color adds only color", async () => {
  const name = "streams-more.json: node that is retried twice, then fails";
  const colored = await following(recorded(name), { color: true });
  expect(colored).toContain("\u001b[31mfailed\u001b[39m");
  expect(stripVTControlCharacters(colored)).toBe(await following(recorded(name)));
});

test("an incomplete text gets a line end", async () => {
  const { out, writes } = collecting({ terminal: 80 });
  const cut = arriving([[event({ event: "message", answer: "Hel" })]], new Error("cut"));
  await expect(render(events, cut, plain, out)).rejects.toThrow("cut");
  expect(writes.join("")).toBe("Hel\n");
});

test("each event is one write, awaited before the next event is read", async () => {
  const list = [1, 2, 3].map((index) =>
    event({ event: "text_chunk", data: { text: String(index) } }),
  );
  const log: string[] = [];
  async function* source(): EventBatches {
    for (const each of list) {
      log.push("read");
      yield [each];
    }
  }
  const { out } = collecting();
  const slow = {
    ...out,
    write: async () => {
      await Promise.resolve();
      log.push("written");
    },
  };
  expect(await render(events, source(), { ...plain, format: "jsonl" }, slow)).toBe(3);
  expect(log).toEqual(["read", "written", "read", "written", "read", "written"]);
});

const two = [
  event({ event: "workflow_started", workflow_run_id: "run-1", data: { id: "run-1" } }),
  event({ event: "node_started", workflow_run_id: "run-1", data: { title: "Start" } }),
];

test.each<[string, Partial<Style>, Reader, string]>([
  [
    "jsonl is the server's own text",
    { format: "jsonl" },
    {},
    `${two.map(({ raw }) => raw).join("\n")}\n`,
  ],
  [
    "json is an array",
    { format: "json", columns: ["event"] },
    {},
    '[\n{"event":"workflow_started"},\n{"event":"node_started"}\n]\n',
  ],
  ["name is the run's id, once", { format: "name" }, {}, "run-1\n"],
  ["a filter reads event after event", { jq: ".data.title // empty" }, {}, "Start\n"],
  [
    "csv has its own columns",
    { format: "csv" },
    {},
    "event,data.title,data.status,data.elapsed_time,data.error\r\nworkflow_started,,,,\r\nnode_started,Start,,,\r\n",
  ],
  [
    "columns make a table",
    { columns: ["event", "data.title"] },
    {},
    "workflow_started\t\nnode_started\tStart\n",
  ],
  [
    "columns on a terminal",
    { columns: ["event"], headers: false },
    { terminal: 80 },
    "workflow_started\nnode_started\n",
  ],
])("events: %s", async (_, style, reader, expected) => {
  expect(await printed(events, batches(two), style, reader)).toBe(expected);
});

test("unknown data never makes a line wider than the terminal", async () => {
  for (let terminal = 50; terminal <= 200; terminal++) {
    const text = await following(
      [event({ event: "brand_new", data: "日本語".repeat(100) })],
      {},
      { terminal },
    );
    expect(widthOf(text.trimEnd())).toBeLessThanOrEqual(terminal);
  }
});
