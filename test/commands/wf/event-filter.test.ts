import { expect, test } from "vitest";
import { serverEvent } from "../../../src/lib/server-event.ts";
import { EventFilter, newFollowCounts } from "../../../src/follow/event-filter.ts";

const id = "r";
const event = (kind: string, data: object = {}) =>
  serverEvent({ event: kind, workflow_run_id: id, data });
const started = event("workflow_started", { id });
const begin = (node: string) => event("node_started", { id: node, node_id: node });
const end = (node: string) =>
  event("node_finished", { id: node, node_id: node, status: "succeeded" });
const text = (piece: string) =>
  event("text_chunk", { text: piece, from_variable_selector: ["llm", "text"] });
const pause = event("workflow_paused", { paused_nodes: ["a"], reasons: [] });
const form = event("human_input_required", { form_id: "f", form_token: "tok" });
const finish = (answer: string) =>
  event("workflow_finished", { id, status: "succeeded", outputs: { answer } });

/** Kinds of the new events over several connections, each of them one batch. */
function filtered(connections: readonly (readonly ReturnType<typeof event>[])[]) {
  const counts = newFollowCounts();
  const options = { late: false, throughPauses: true, snapshot: true };
  const filter = new EventFilter(undefined, options, counts);
  const kinds = connections.map((batch, index) => {
    filter.startConnection(index > 0);
    return filter
      .filterBatch(batch)
      .newEvents.map(({ event: kind }) => kind.replace(/^(workflow|node)_/, ""));
  });
  return { kinds: kinds.map((each) => each.join(" ")), counts };
}

const whole = [started, begin("a"), text("Hello "), text("world"), end("a"), finish("Hello world")];
test.each<[string, Parameters<typeof filtered>[0], readonly string[]]>([
  ["one connection", [whole], ["started started text_chunk text_chunk finished finished"]],
  [
    "nothing after the end",
    [[...whole, text("x")]],
    ["started started text_chunk text_chunk finished finished"],
  ],
  [
    "a lost end",
    [whole.slice(0, 4), [finish("Hello world")]],
    ["started started text_chunk text_chunk", "_gap finished"],
  ],
  [
    "lost text",
    [whole.slice(0, 3), [started, begin("a"), end("a"), finish("Hello world")]],
    ["started started text_chunk", "_gap finished _gap_filled finished"],
  ],
  [
    "nothing lost while paused",
    [
      [started, begin("a"), pause],
      [started, begin("a"), pause, end("a"), finish("")],
    ],
    ["started started paused", "finished finished"],
  ],
  ["an end without a start", [[started, end("a"), finish("")]], ["started finished _gap finished"]],
  [
    "a start without an end",
    [[started, begin("a"), finish("")]],
    ["started started _gap finished"],
  ],
])("%s", (_, connections, expected) => {
  expect(filtered(connections).kinds).toEqual(expected);
});

test("counts new events, duplicates after a reconnect and gaps", () => {
  const { counts } = filtered([whole.slice(0, 3), [started, begin("a"), ...whole.slice(3)]]);
  expect(counts).toEqual({ events: 6, reconnects: 0, repeats: 2, gaps: 1 });
});

test("a pause without reasons has the forms announced before", () => {
  const options = { late: false, throughPauses: false, snapshot: true };
  const filter = new EventFilter(undefined, options, newFollowCounts());
  filter.startConnection(false);
  const { outcome } = filter.filterBatch([started, form, pause]);
  expect(outcome?.forms?.map(({ token }) => token)).toEqual(["tok"]);
  expect(filter.runId).toBe(id);
});

test("an error event ends the batch", () => {
  const options = { late: false, throughPauses: false, snapshot: true };
  const filter = new EventFilter(undefined, options, newFollowCounts());
  const { newEvents, failed } = filter.filterBatch([event("error"), text("x")]);
  expect([newEvents.length, failed, filter.streamError]).toEqual([1, true, "error"]);
});
