import { expect, test } from "vitest";
import { eachSpan, spansOf } from "../../src/runs/spans.ts";
import type { Span } from "../../src/runs/spans.ts";
import { RunTrace } from "../../src/runs/trace.ts";
import type { NodeRun } from "../../src/runs/trace.ts";

const node = (
  id: string,
  startedAt: number,
  finishedAt?: number,
  more: Partial<NodeRun> = {},
): NodeRun => ({
  id,
  nodeId: `n-${id}`,
  title: id,
  type: "llm",
  within: undefined,
  startedAt,
  createdAt: undefined,
  finishedAt,
  beganWith: 1,
  endedWith: finishedAt === undefined ? undefined : 2,
  status: finishedAt === undefined ? "running" : "succeeded",
  elapsed: undefined,
  error: undefined,
  tokens: undefined,
  retries: 0,
  rounds: undefined,
  roundsAhead: undefined,
  outputs: undefined,
  ...more,
});

const traceOf = (nodes: NodeRun[], more: Partial<RunTrace> = {}): RunTrace =>
  Object.assign(new RunTrace(), {
    nodes,
    status: "succeeded",
    startedAt: 100,
    lastAt: 200,
    ...more,
  });

/** `a 0–50` for a span, its inner spans in brackets. */
const drawn = ({ id, start, end, inner }: Span): string =>
  `${id} ${start}–${end}${inner.length > 0 ? ` [${inner.map(drawn).join(", ")}]` : ""}`;

const inLoop = { within: { nodeId: "n-l", round: 1 } };
const loop = { rounds: 2 };
const paused = { status: "paused" };

test.each<[string, RunTrace, string]>([
  ["no node", traceOf([]), ""],
  ["nodes in sequence", traceOf([node("a", 100, 120), node("b", 120, 200)]), "a 0–20, b 20–100"],
  ["a node without an end", traceOf([node("a", 110)]), "a 10–100"],
  ["a node before the run", traceOf([node("a", 90, 120)]), "a 0–30"],
  [
    "a loop",
    traceOf([node("l", 100, 200, loop), node("a", 110, 120, inLoop)]),
    "l 0–100 [a 10–20]",
  ],
  ["a loop that is unknown", traceOf([node("a", 110, 120, inLoop)]), "a 10–20"],
  [
    "a loop in a loop",
    traceOf([
      node("l", 100, 200, loop),
      node("m", 110, 190, { ...loop, ...inLoop }),
      node("a", 120, 130, { within: { nodeId: "n-m", round: 1 } }),
    ]),
    "l 0–100 [m 10–90 [a 20–30]]",
  ],
  ["a node that waited", traceOf([node("a", 110), node("a", 150, 160)], { pauses: 1 }), "a 10–60"],
  [
    "the same ID without a pause",
    traceOf([node("a", 110, 120), node("a", 150, 160)]),
    "a 10–20, a 50–60",
  ],
  [
    "a node that is waiting",
    traceOf([node("a", 110, 120, paused)], { status: "paused" }),
    "a 10–100",
  ],
])("spans of %s", (_, trace, expected) => {
  expect(spansOf(trace).top.map(drawn).join(", ")).toBe(expected);
});

test.each<[string, RunTrace, Partial<Span>]>([
  [
    "the server's duration",
    traceOf([node("a", 100, 150, { elapsed: 0.04 })]),
    { took: 40, waited: 0 },
  ],
  ["start to end without it", traceOf([node("a", 100, 150)]), { took: 50 }],
  [
    "start to end after waiting",
    traceOf([node("a", 110), node("a", 150, 160, { elapsed: 0.01 })], { pauses: 1 }),
    { took: 50, waited: 40 },
  ],
])("the duration is %s", (_, trace, expected) => {
  expect(spansOf(trace).top[0]).toMatchObject(expected);
});

test.each([
  ["running", "running"],
  ["paused", "paused"],
  ["succeeded", "unfinished"],
])("a node without an end in a %s run is %s", (status, expected) => {
  expect(spansOf(traceOf([node("a", 100)], { status })).top[0]?.status).toBe(expected);
});

test.each<[string, Partial<NodeRun>, Partial<RunTrace>, number]>([
  ["at its creation", { createdAt: 110_000 }, {}, 10_000],
  ["by the local clock", { createdAt: 110_000 }, { clockAhead: 500 }, 10_500],
  ["at its end minus its duration", { createdAt: 110_000, elapsed: 9.5 }, {}, 10_500],
  ["at its creation if these disagree", { createdAt: 110_000, elapsed: 3 }, {}, 10_000],
  ["at the latest with its event", { createdAt: 130_000 }, {}, 20_000],
])("a node of a snapshot began %s", (_, data, trace, start) => {
  const nodes = [node("a", 120_000, 120_000, data)];
  const spans = spansOf(traceOf(nodes, { startedAt: 100_000, lastAt: 200_000, ...trace }));
  expect(spans.top[0]?.start).toBe(start);
});

test("eachSpan yields each span before its inner ones, with those around it", () => {
  const { top } = spansOf(
    traceOf([node("l", 100, 200, loop), node("a", 110, 120, inLoop), node("b", 200, 200)]),
  );
  const order = [...eachSpan(top)].map(([span, around]) => [span.id, around.map(({ id }) => id)]);
  expect(order).toEqual([
    ["l", []],
    ["a", ["l"]],
    ["b", []],
  ]);
});
