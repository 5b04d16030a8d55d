import { expect, test } from "vitest";
import { pairNodes } from "../../../src/commands/wf/recording/executions.ts";
import type { Span } from "../../../src/runs/spans.ts";

/** A node `id:Title` with the numbers of its first and last event; inner nodes follow. */
function span(name: string, beganWith: number, endedWith: number, inner: Span[] = []): Span {
  const [nodeId = "", title = nodeId] = name.split(":");
  return {
    id: `${nodeId}-${beganWith}`,
    nodeId,
    title,
    type: "code",
    status: "succeeded",
    error: undefined,
    inputs: undefined,
    outputs: undefined,
    start: beganWith * 10,
    end: endedWith * 10,
    took: (endedWith - beganWith) * 10,
    waited: 0,
    retries: 0,
    tokens: undefined,
    round: undefined,
    rounds: undefined,
    inner,
  };
}

/** Nodes that ran one after the other. */
const chain = (...names: readonly string[]): Span[] =>
  names.map((name, index) => span(name, 2 * index, 2 * index + 1));

/** `Fetch ab` for a node of both runs. */
const paired = (a: readonly Span[], b: readonly Span[]) =>
  pairNodes(a, b).map(
    ({ node, a: left, b: right }) => `${node} ${left ? "a" : ""}${right ? "b" : ""}`,
  );

test.each([
  ["equal runs", ["s", "e"], ["s", "e"], ["s ab", "e ab"]],
  ["a node only in b", ["s", "f", "e"], ["s", "c", "f"], ["s ab", "c b", "f ab", "e a"]],
  ["a node of b before all others", ["s"], ["c", "s"], ["c b", "s ab"]],
  ["no shared ID: by title", ["1:S", "2:E"], ["3:S", "4:X"], ["S ab", "X b", "E a"]],
  ["a shared ID: not by title", ["1:S", "2:E"], ["1:T", "3:E"], ["S ab", "E b", "E a"]],
  ["an empty run", [], ["s"], ["s b"]],
])("pairs nodes: %s", (_, a, b, expected) => {
  expect(paired(chain(...a), chain(...b))).toEqual(expected);
});

test("adds up the executions of a node in a loop", () => {
  const loop = span("l", 1, 6, [
    span("f", 2, 3),
    { ...span("f", 4, 6), status: "failed", tokens: 7 },
  ]);
  expect(pairNodes([loop], [loop])[1]?.a).toMatchObject({
    node: "f",
    nodeId: "f",
    runs: 2,
    state: "1 succeeded, 1 failed",
    took: 30,
    tokens: 7,
    retries: 0,
    depth: 1,
  });
});
