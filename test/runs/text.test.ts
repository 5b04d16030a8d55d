import { expect, test } from "vitest";
import { serverEvent } from "../../src/lib/server-event.ts";
import { printedValue, RunTexts, textOfOutputs, TextSoFar } from "../../src/runs/text.ts";

type Event = readonly [event: string, data?: object, envelope?: object];

const received = ([event, data = {}, envelope = {}]: Event) =>
  serverEvent({ event, ...envelope, data });
const start = (id: string): Event => ["node_started", { node_id: id }];
const piece = (text: string, from = ["a", "text"]): Event => [
  "text_chunk",
  { text, from_variable_selector: from },
];
const finish = (id: string, data: object = {}): Event => [
  "node_finished",
  { node_id: id, ...data },
];
const failed = { status: "failed" };

test.each<[string, readonly Event[], string]>([
  ["nothing", [], ""],
  ["pieces", [start("a"), piece("x"), piece("y")], "xy"],
  [
    "pieces of a chat",
    [
      ["message", {}, { answer: "x" }],
      ["agent_message", {}, { answer: "y" }],
    ],
    "xy",
  ],
  [
    "the pieces of an agent, a remark before its tool, and the whole answer",
    [
      ["agent_message", {}, { answer: "Let me see. " }],
      ["agent_message", {}, { answer: "It is " }],
      ["agent_message", {}, { answer: "2026." }],
      ["message", {}, { answer: "It is 2026." }],
    ],
    "It is 2026.",
  ],
  ["two sources", [piece("x"), piece("y", ["b", "text"]), piece("z")], "xyz"],
  ["an empty piece", [piece("")], ""],
  ["a replaced text", [piece("x"), ["text_replace", { text: "y" }]], "y"],
  ["a replaced answer", [piece("x"), ["message_replace", {}, { answer: "y" }], piece("z")], "yz"],
  ["a retried node", [start("a"), piece("x"), ["node_retry", { node_id: "a" }], piece("y")], "y"],
  [
    "a retry of another node",
    [start("a"), start("b"), piece("x"), ["node_retry", { node_id: "b" }]],
    "x",
  ],
  ["a failed node", [start("a"), piece("x"), finish("a", failed)], ""],
  [
    "a failed node with the text in its outputs",
    [start("a"), piece("x"), finish("a", { ...failed, outputs: { text: "x" } })],
    "x",
  ],
  ["a node that succeeded", [start("a"), piece("x"), finish("a", { status: "succeeded" })], "x"],
  [
    "text before the start of its node",
    [piece("x"), start("a"), ["node_retry", { node_id: "a" }]],
    "x",
  ],
])("the text after %s", (_, events, expected) => {
  const text = new TextSoFar();
  for (const event of events) text.add(received(event));
  expect(text.text()).toBe(expected);
});

test("the text of a failed node is revoked by source", () => {
  const texts = new RunTexts();
  const events = [start("a"), piece("x", ["a", "one"]), piece("y", ["a", "two"])];
  for (const event of events) texts.add(received(event));
  const change = texts.add(received(finish("a", { ...failed, outputs: { one: "x" } })));
  expect(change).toEqual({ kind: "void", node: "a", sources: new Set(["a.two"]) });
});

test.each<[string, readonly Event[], boolean]>([
  ["before its start", [], false],
  ["after its start", [start("a")], true],
  ["while it is paused", [start("a"), finish("a", { status: "paused" })], true],
  ["after its end", [start("a"), finish("a")], false],
])("a node runs %s: %s", (_, events, expected) => {
  const texts = new RunTexts();
  for (const event of events) texts.add(received(event));
  expect(texts.isRunning("a")).toBe(expected);
});

test.each<[unknown, string | undefined]>([
  ["x", "x"],
  [1.5, "1.5"],
  [null, ""],
  [["a", 1], "- a\n- 1"],
  [[{}], undefined],
  [{ a: 1 }, '{\n  "a": 1\n}'],
  [true, undefined],
  [undefined, undefined],
])("%j is printed as %j", (value, expected) => {
  expect(printedValue(value)).toBe(expected);
});

test.each<[string, object, object, string | undefined]>([
  ["a workflow", { outputs: { a: "x", b: 2 } }, {}, "x\n2"],
  ["a chatflow", { outputs: { answer: "x", files: [] } }, { conversation_id: "c" }, "x"],
  ["outputs that cannot be predicted", { outputs: { a: true } }, {}, undefined],
  ["no outputs", {}, {}, undefined],
])("the whole text of %s", (_, data, envelope, expected) => {
  expect(textOfOutputs(received(["workflow_finished", data, envelope]))).toBe(expected);
});
