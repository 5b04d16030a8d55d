import { describe, expect, test } from "vitest";
import { serverEvent } from "../../../src/lib/server-event.ts";
import { Deduplicator, ReplayDetector } from "../../../src/follow/event-filter.ts";

type Event = readonly [kind: string, data?: object | undefined, envelope?: object];

const event = ([kind, data, envelope]: Event) =>
  serverEvent({ event: kind, ...envelope, ...(data && { data }) });

/** Which of the events are new, as a string of `+` and `-`. */
function newOf(events: readonly Event[]): string {
  const deduplicator = new Deduplicator();
  return events.map((each) => (deduplicator.isNew(event(each)) ? "+" : "-")).join("");
}

const started = (id: string, more: object = {}): Event => [
  "node_started",
  { id, node_id: `n-${id}`, node_type: "llm", ...more },
];
const finished = (id: string, more: object = {}): Event => [
  "node_finished",
  { id, node_id: `n-${id}`, node_type: "llm", status: "succeeded", ...more },
];
const resumed = (at: number): Event => [
  "workflow_started",
  { id: "r", reason: "resumption", created_at: at },
];
const paused = (nodes: readonly string[], forms: readonly string[]): Event => [
  "workflow_paused",
  { paused_nodes: nodes, reasons: forms.map((form_id) => ({ form_id })) },
];

const twice = (...each: Event): readonly Event[] => [each, each];
const retry = (retry_index: number): Event => ["node_retry", { id: "a", retry_index }];

// `+` is a new event, `-` a duplicate.
test.each<[string, readonly Event[], string]>([
  ["the start of a run", twice("workflow_started", { id: "r" }), "+-"],
  ["the end of a run", twice("workflow_finished", { id: "r" }), "+-"],
  ["a node", [started("a"), finished("a"), started("a"), finished("a")], "++--"],
  ["two nodes", [started("a"), started("b"), started("a")], "++-"],
  ["a node with another status", [finished("a"), finished("a", { status: "failed" })], "++"],
  ["a retry by its index", [retry(1), retry(2), retry(1)], "++-"],
  ["a form by its ID", twice("human_input_required", { form_id: "f" }), "+-"],
  [
    "a pause with nodes and forms in another order",
    [paused(["a", "b"], ["f", "g"]), paused(["b", "a"], ["g", "f"])],
    "+-",
  ],
  ["a pause with another form", [paused(["a"], ["f"]), paused(["a"], ["g"])], "++"],
  ["a resumption by its time", [resumed(1), resumed(2), resumed(1)], "++-"],
  [
    "a node that starts again after its pause",
    [started("a"), paused(["n-a"], []), resumed(1), started("a"), started("a")],
    "++++-",
  ],
  ["text", twice("text_chunk", { text: "a" }), "++"],
  ["an event without an ID", [started(""), started("")], "++"],
  ["an unknown event", twice("ping", {}), "++"],
  [
    "a container, which only snapshots have",
    [started("a", { node_type: "loop" }), finished("a", { node_type: "iteration" })],
    "--",
  ],
  [
    "the end of a waiting node, which only snapshots have",
    [finished("a", { status: "paused" })],
    "-",
  ],
])("%s", (_, events, expected) => {
  expect(newOf(events)).toBe(expected);
});

// The saved text of a chatflow in a snapshot.
const message = (answer: string): Event => ["message", undefined, { answer }];
const replace = (answer: string): Event => ["message_replace", undefined, { answer }];
test.each<[string, readonly Event[], string]>([
  ["is a duplicate if it was shown", [message("a"), message("b"), replace("ab")], "++-"],
  ["is new if it differs", [message("a"), replace("ab"), replace("ab")], "++-"],
  ["keeps the text shown if it is empty", [message("a"), replace(""), replace("a")], "+--"],
])("saved text %s", (_, events, expected) => {
  expect(newOf(events)).toBe(expected);
});

test.each<[string, readonly Event[], string | undefined]>([
  ["no error", [started("a")], undefined],
  [
    "the last message",
    [
      ["error", undefined, { message: "x" }],
      ["error", undefined, { message: "y" }],
    ],
    "y",
  ],
  ["a default for an error without a message", [["error"]], "error"],
])("lastError is %s", (_, events, expected) => {
  const deduplicator = new Deduplicator();
  for (const each of events) deduplicator.isNew(event(each));
  expect(deduplicator.lastError).toBe(expected);
});

describe("the replay detector", () => {
  const replayed = (connections: readonly string[]) => {
    const detector = new ReplayDetector();
    return connections.map((raws) => {
      detector.startConnection();
      return [...raws].map((raw) => (detector.hasNew([serverEvent({}, raw)]) ? "+" : "-")).join("");
    });
  };

  test.each<[string, readonly string[], readonly string[]]>([
    ["compares with the previous connection", ["ab", "abc"], ["++", "--+"]],
    ["not with the same connection", ["aa"], ["++"]],
    ["not with earlier ones", ["a", "b", "a"], ["+", "+", "+"]],
    ["skips empty connections", ["a", "", "a"], ["+", "", "-"]],
  ])("%s", (_, connections, expected) => {
    expect(replayed(connections)).toEqual(expected);
  });
});
