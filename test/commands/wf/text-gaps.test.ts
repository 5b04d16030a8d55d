import { expect, test } from "vitest";
import { serverEvent } from "../../../src/lib/server-event.ts";
import { TextGaps } from "../../../src/follow/text-gaps.ts";
import type { MissingText } from "../../../src/follow/text-gaps.ts";

const gap = Symbol("gap");
type Step = readonly [kind: string, data?: object | undefined, envelope?: object] | typeof gap;

/** What is missing after these events, given the outputs of the run. */
function missingAfter(steps: readonly Step[], outputs: unknown, late = false) {
  const gaps = new TextGaps(late);
  for (const step of steps) {
    if (step === gap) gaps.markGap();
    else gaps.add(serverEvent({ event: step[0], ...step[2], data: step[1] ?? {} }));
  }
  return gaps.missingIn(outputs);
}

const chunk = (text: string, source = "llm.text"): Step => [
  "text_chunk",
  { text, from_variable_selector: source.split(".") },
];
const message = (answer: string): Step => [
  "message",
  undefined,
  { answer, from_variable_selector: ["llm", "text"] },
];
const node = (kind: string, more: object = {}): Step => [kind, { node_id: "llm", ...more }];
const missing = (output: string, from: number, text: string): MissingText => ({
  output,
  from,
  text,
});

const hello = { answer: "Hello world" };
test.each<[string, readonly Step[], unknown, readonly MissingText[] | undefined]>([
  ["complete text", [chunk("Hello "), chunk("world")], hello, []],
  ["no text and no outputs", [], {}, []],
  ["a gap at the end", [chunk("Hello "), gap], hello, [missing("answer", 6, "world")]],
  [
    "a gap in the middle",
    [chunk("Hel"), gap, chunk("world")],
    hello,
    [missing("answer", 3, "lo world")],
  ],
  ["a gap at the beginning", [gap, chunk("world")], hello, [missing("answer", 0, "Hello world")]],
  ["a gap in which nothing was sent", [chunk("Hello "), gap, chunk("world")], hello, []],
  [
    "two gaps: from the first one",
    [chunk("H"), gap, chunk("l"), gap, chunk("d")],
    hello,
    [missing("answer", 1, "ello world")],
  ],
  [
    "two outputs, one complete",
    [chunk("Hello world"), chunk("B", "b.x"), gap],
    { ...hello, b: "Bye" },
    [missing("b", 1, "ye")],
  ],
  [
    "an output sent during the gap",
    [chunk("Hello world"), gap],
    { ...hello, b: "Bye" },
    [missing("b", 0, "Bye")],
  ],
  ["the separator of two outputs", [chunk("Hello world"), chunk("\n", "end.x"), gap], hello, []],
  [
    "a list, which is text as lines",
    [chunk("- a\n"), gap],
    { list: ["a", "b"] },
    [missing("list", 4, "- b")],
  ],
  ["text that no output starts with", [chunk("other"), gap], { a: "x", b: "y" }, undefined],
  [
    "text that the only output does not start with",
    [chunk("other"), gap],
    hello,
    [missing("answer", 0, "Hello world")],
  ],
  ["text that no output starts with, without a gap", [chunk("other")], { a: "x", b: "y" }, []],
  [
    "text of a retried node",
    [node("node_started"), chunk("Hel"), node("node_retry"), chunk("Hello world")],
    hello,
    [],
  ],
  [
    "text before a failure, then a default",
    [
      node("node_started"),
      chunk("Hel"),
      node("node_finished", { status: "exception" }),
      chunk("Hello world"),
    ],
    hello,
    [],
  ],
  [
    "a chatflow: messages are one text",
    [message("Hello "), gap],
    hello,
    [missing("answer", 6, "world")],
  ],
  [
    "a chatflow: text of a retried node",
    [node("node_started"), message("Hel"), node("node_retry"), message("Hello world")],
    hello,
    [],
  ],
  [
    "a chatflow: saved text covers the gap",
    [message("Hel"), gap, ["message_replace", undefined, { answer: "Hello world" }]],
    hello,
    [],
  ],
  [
    "a resumed chatflow: the rest is never sent",
    [
      message("Hello "),
      ["workflow_started", { reason: "resumption" }, { conversation_id: "c" }],
      message("Hello "),
    ],
    hello,
    [missing("answer", 6, "world")],
  ],
])("%s", (_, steps, outputs, expected) => {
  expect(missingAfter(steps, outputs)).toEqual(expected);
});

test.each<[string, readonly Step[], unknown, readonly MissingText[] | undefined]>([
  ["shows all", [chunk("Hello world")], hello, []],
  [
    "shows the end of the only output",
    [chunk("world")],
    hello,
    [missing("answer", 0, "Hello world")],
  ],
  [
    "shows all of one of two outputs",
    [chunk("Bye", "b.text")],
    { ...hello, b: "Bye" },
    [missing("answer", 0, "Hello world")],
  ],
  [
    "shows a node, and no text",
    [node("node_started"), ["workflow_finished"]],
    hello,
    [missing("answer", 0, "Hello world")],
  ],
  ["shows only the end of the run", [["workflow_finished"]], hello, []],
  ["shows the end of one of two outputs", [chunk("world")], { ...hello, b: "Bye" }, undefined],
])("a stream joined late that %s", (_, steps, outputs, expected) => {
  expect(missingAfter(steps, outputs, true)).toEqual(expected);
});
