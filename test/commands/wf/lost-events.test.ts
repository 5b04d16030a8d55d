import { describe, expect, test } from "vitest";
import { cli } from "../../lib/support.ts";
import {
  eventsText,
  json,
  recorded,
  runServer,
  sleptTime,
  streaming,
} from "../../lib/run-server.ts";

const env = { KB_APP_KEY: "app-x" };
const id = "5b1c1b8e-6d0f-4a52-9f1e-2f1f0a3f7c11";
const node = (kind: string, title: string, more: object = {}) => ({
  event: kind,
  workflow_run_id: id,
  data: {
    id: `e-${title}`,
    node_id: title,
    node_type: "code",
    title,
    inputs_truncated: false,
    ...more,
  },
});
const ended = (title: string, more: object = {}) =>
  node("node_finished", title, { status: "succeeded", elapsed_time: 1, ...more });
const started = {
  event: "workflow_started",
  workflow_run_id: id,
  data: { id, reason: "initial" },
};
const finished = (status: string, more: object = {}) => ({
  event: "workflow_finished",
  workflow_run_id: id,
  data: { id, status, outputs: {}, error: null, total_steps: 2, ...more },
});

/** Follows a run that sends these events on its only connection. */
async function followed(events: readonly object[], ...flags: readonly string[]) {
  const server = await runServer({
    "GET /v1/workflow/": streaming(eventsText(started, ...events)),
    "GET /v1/workflows/run/": json({ id, status: "succeeded", outputs: {}, error: null }),
  });
  return cli(["wf", "events", id, "--follow", ...flags], {
    env: { ...env, KB_BASE_URL: server.baseUrl },
    around: sleptTime().around,
  });
}

describe("an event lost before the subscription", () => {
  const noEnd = [node("node_started", "A"), node("node_started", "B"), ended("B")];
  const noStart = [node("node_started", "A"), ended("A"), ended("B")];

  test.each([
    ["an end", noEnd],
    ["a start", noStart],
  ])("is a gap, announced at the end of the run: %s", async (_, events) => {
    const ran = await followed([...events, finished("succeeded")], "-o", "jsonl");
    expect(ran.exit, ran.err).toBe(0);
    const kinds = ran.out.match(/(?<="event": ?")\w+/g);
    expect(kinds?.slice(-2)).toEqual(["_gap", "workflow_finished"]);
    expect(ran.err).toMatch(/^\d+ events, 1 gap in /m);
    expect(ran.err).toMatch(/^the server did not send some events, such as nodes$/m);
  });

  test.each([
    [noEnd, "node A succeeded"],
    [noEnd, "node A took at most 5s"],
    [noEnd, 'node A before "B"'],
    [noStart, 'node A before "B"'],
  ])("makes an expectation unknown, not false: %#", async (events, sentence) => {
    const ran = await followed([...events, finished("succeeded")], "--expect", sentence);
    expect(ran.exit, ran.err).toBe(14);
    expect(ran.err).toContain("unknown: an event was lost");
    expect(ran.err).not.toMatch(/had not ended|began first/);
  });

  test("is ignored with --no-snapshot", async () => {
    const events = [ended("A"), node("node_started", "B"), ended("B"), finished("succeeded")];
    const ran = await followed(events, "--no-snapshot", "-o", "jsonl");
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.out).not.toContain("_gap");
  });

  test("does not affect complete nodes, or running nodes of a failed run", async () => {
    const seen = await followed([...noEnd, finished("succeeded")], "--expect", "node B succeeded");
    expect(seen.exit, seen.err).toBe(0);
    const failed = await followed([...noEnd, finished("failed", { error: "x" })], "-o", "jsonl");
    expect(failed.exit).toBe(9);
    expect(failed.out).not.toContain("_gap");
  });
});

describe("a node that used its default value", () => {
  const fellBack = [
    node("node_started", "A"),
    ended("A", {
      status: "exception",
      error: "Unknown error",
      outputs: {
        text: "x",
        error_message: "Rate limit reached",
        error_type: "InvokeRateLimitError",
      },
    }),
    finished("partial-succeeded", { exceptions_count: 1, total_steps: 1 }),
  ];
  const why = "Rate limit reached (InvokeRateLimitError)";

  test("shows its error in output and expectations", async () => {
    const ran = await followed(fellBack);
    expect(ran.exit).toBe(0);
    expect(ran.out).toContain(`exception  1.0 s  ${why}`);
    expect(ran.out).not.toContain("Unknown error");
    const judged = await followed(fellBack, "--expect", "node A succeeded");
    expect(judged.err).toContain(`its status is "exception": "${why}"`);
  });

  test("counts as a failed attempt of a partial success", async () => {
    const ran = await followed(fellBack);
    expect(ran.err).toContain(
      `run ${id} partial-succeeded: 1 failed attempt was retried or handled by an error branch or a default value`,
    );
  });
});

test("the first connection to a paused run has no duplicates, and its form has the time of the pause", async () => {
  const name = "streams.json: paused run, snapshot";
  const server = await runServer({ "GET /v1/workflow/": streaming(recorded(name)) });
  const run = /"workflow_run_id": ?"([^"]+)"/.exec(recorded(name))?.[1] ?? "";
  const ran = await cli(["wf", "events", run], {
    env: { ...env, TZ: "UTC", KB_BASE_URL: server.baseUrl },
  });
  expect(ran.exit).toBe(8);
  expect(ran.err).not.toContain("dropped");
  const timeOf = (kind: string) => new RegExp(`^(\\S+) +${kind}`, "m").exec(ran.out)?.[1];
  expect(timeOf("human_input_required")).toBe(timeOf("workflow_paused"));
});

test("explains why an ended run has no node events", async () => {
  const server = await runServer({
    "GET /v1/workflow/": streaming(eventsText(finished("succeeded"))),
  });
  const ran = await cli(["wf", "events", id], { env: { ...env, KB_BASE_URL: server.baseUrl } });
  expect(ran.exit, ran.err).toBe(0);
  expect(ran.err).toContain(
    "the server sends no node events; record them with `wf run --record FILE`",
  );
});
