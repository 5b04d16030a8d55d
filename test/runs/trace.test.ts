import { expect, test } from "vitest";
import { serverEvent } from "../../src/lib/server-event.ts";
import { RunTrace } from "../../src/runs/trace.ts";
import type { NodeRun } from "../../src/runs/trace.ts";

type Event = readonly [event: string, data?: object, envelope?: object];

/** A trace of events that arrive 1 s apart. Live events have `inputs_truncated`. */
function traceOf(...events: readonly Event[]): RunTrace {
  const trace = new RunTrace();
  for (const [index, [event, data = {}, envelope = {}]] of events.entries())
    trace.add(
      serverEvent({ event, ...envelope, data: { inputs_truncated: false, ...data } }),
      index * 1000,
    );
  return trace;
}

const started: Event = ["workflow_started", { workflow_id: "w" }, { workflow_run_id: "r" }];
const start = (id: string, data: object = {}): Event => [
  "node_started",
  { id, node_id: `n-${id}`, title: id, node_type: "llm", ...data },
];
const finish = (id: string, data: object = {}): Event => [
  "node_finished",
  { id, status: "succeeded", elapsed_time: 0.5, ...data },
];
const end = (data: object = {}): Event => [
  "workflow_finished",
  { status: "succeeded", total_steps: 1, total_tokens: 7, elapsed_time: 2, ...data },
];

test.each<[string, readonly Event[], Partial<RunTrace>]>([
  ["no event", [], { status: "running", events: 0, nodesMissing: true }],
  ["a start", [started], { runId: "r", workflowId: "w", nodesMissing: false, startedAt: 0 }],
  ["a resumption", [["workflow_started", { reason: "resumption" }]], { nodesMissing: true }],
  [
    "an end",
    [started, end()],
    { status: "succeeded", steps: 1, tokens: 7, elapsed: 2, lastAt: 1000 },
  ],
  ["a failure", [started, end({ status: "failed", error: "x" })], { status: "failed", error: "x" }],
  ["a pause", [started, ["workflow_paused", {}]], { status: "paused", pauses: 1 }],
  ["an error", [["error", {}, { message: "no" }]], { status: "failed", error: "no" }],
  ["a gap", [started, ["_gap"]], { gaps: 1, unwatched: true }],
  ["lost nodes", [started, ["_gap"], end()], { nodesMissing: true }],
  [
    "a gap and all nodes",
    [started, ["_gap"], start("a"), finish("a"), end()],
    { nodesMissing: false },
  ],
  ["outputs", [end({ outputs: { a: 1 } })], { outputs: { a: 1 } }],
  [
    "text",
    [start("a"), ["text_chunk", { text: "hi", from_variable_selector: ["n-a", "t"] }]],
    { text: "hi" },
  ],
  ["a kind named like a method", [["constructor"], ["toString"]], { events: 2, status: "running" }],
])("a trace of %s", (_, events, expected) => {
  expect(traceOf(...events)).toMatchObject(expected);
});

test.each<[string, readonly Event[], Partial<NodeRun>]>([
  [
    "a running node",
    [start("a")],
    { id: "a", nodeId: "n-a", title: "a", type: "llm", status: "running" },
  ],
  ["a node without a title", [start("a", { title: "" })], { title: "n-a" }],
  [
    "a finished node",
    [start("a"), finish("a")],
    { status: "succeeded", elapsed: 0.5, startedAt: 0, finishedAt: 1000 },
  ],
  ["the numbers of its events", [start("a"), finish("a")], { beganWith: 1, endedWith: 2 }],
  ["an end without a start", [finish("a")], { id: "a", beganWith: 1, endedWith: 1 }],
  [
    "a failed node",
    [start("a"), finish("a", { status: "failed", error: "x" })],
    { status: "failed", error: "x" },
  ],
  [
    "a node that fell back",
    [
      finish("a", {
        status: "exception",
        error: "x",
        outputs: { error_message: "m", error_type: "T" },
      }),
    ],
    { error: "m (T)" },
  ],
  [
    "retries",
    [start("a"), ["node_retry", { id: "a" }], ["node_retry", { id: "a" }]],
    { retries: 2 },
  ],
  ["tokens", [finish("a", { execution_metadata: { total_tokens: 3 } })], { tokens: 3 }],
  ["tokens that are too large", [finish("a", { total_tokens: 1e300 })], { tokens: undefined }],
  ["a live node", [start("a", { created_at: 5 })], { createdAt: undefined }],
  [
    "a node of a snapshot",
    [start("a", { created_at: 5, inputs_truncated: undefined })],
    { createdAt: 5000 },
  ],
  [
    "a loop",
    [["loop_started", { id: "l", metadata: { loop_length: 3 } }]],
    { type: "loop", rounds: 1, roundsAhead: 3 },
  ],
  [
    "an empty iteration",
    [["iteration_started", { id: "i", metadata: { iteration_length: 0 } }]],
    { rounds: 0 },
  ],
  [
    "a round",
    [
      ["loop_started", { id: "l" }],
      ["loop_next", { id: "l", index: 1 }],
    ],
    { rounds: 2 },
  ],
])("%s", (_, events, expected) => {
  expect(traceOf(...events).nodes[0]).toMatchObject(expected);
});

test.each<[string, object, NodeRun["within"]]>([
  ["at its start the round that began last", {}, { nodeId: "l", round: 2 }],
  [
    "at its end the round that it names",
    { execution_metadata: { loop_index: 0 } },
    { nodeId: "l", round: 1 },
  ],
])("a node in a loop has %s", (_, data, within) => {
  const loop: readonly Event[] = [
    ["loop_started", { id: "l" }],
    ["loop_next", { id: "l", index: 1 }],
  ];
  const trace = traceOf(...loop, start("a", { loop_id: "l" }), finish("a", data));
  expect(trace.nodes[1]?.within).toEqual(within);
});

test("the clock difference is the smallest of live nodes", () => {
  expect(traceOf(start("a", { created_at: -0 }), start("b", { created_at: 1 })).clockAhead).toBe(0);
});
