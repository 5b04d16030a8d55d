import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { recordedFile, timedEvents } from "../../lib/recorded-file.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const home = await temporaryDirectory();
const replay = (argv: readonly string[], world?: World) => cli(["wf", "replay", ...argv], world);

test.each([
  ["run, streaming", 0, ""],
  [
    "run that fails, streaming",
    9,
    "run f323e972-2a3a-4870-a46b-3a1ea5285b0d failed at node Fetch: [Errno 111]",
  ],
  ["slow run that is stopped after 2 s", 9, "was stopped: Aborted: User requested stop"],
  [
    "node that fails with a default value: partial-succeeded",
    0,
    "partial-succeeded: 1 failed attempt",
  ],
  ["run with human input, streaming: ends at the pause", 8, "wf form submit "],
  ["paused run, snapshot and continue_on_pause, form submitted after 3 s", 0, ""],
  ["slow run: attach in the middle", 0, ""],
])("replays %s and exits with %d", async (title, exit, message) => {
  const path = await recordedFile(join(home, "run.jsonl"), title);
  const ran = await replay([path, "-o", "jsonl"]);
  expect(ran.exit, ran.err).toBe(exit);
  expect(ran.err).toContain(message);
  expect(ran.out.trimEnd().split("\n")).toEqual(timedEvents(title).map(([, raw]) => raw));
});

test("a failed run has its node, and a hint that needs no server", async () => {
  const path = await recordedFile(join(home, "failed.jsonl"), "run that fails, streaming");
  const { err } = await replay([path, "-o", "tsv"]);
  expect(err).toContain(`hint: \`wf timeline ${path}\` shows its nodes\n`);
  const timeline = await cli(["wf", "timeline", path]);
  expect(timeline.exit, timeline.err).toBe(0);
});

test("prints the same lines as wf events, with the recorded times", async () => {
  const path = join(home, "lines.jsonl");
  const event = (kind: string, data: object) => ({
    event: kind,
    workflow_run_id: "r",
    data,
  });
  const lines = [
    { recording: 1, program: "wf", started_at: "2026-11-20T23:59:59Z" },
    { at: 0, event: event("node_started", { id: "1", title: "Start", created_at: 1_795_132_799 }) },
    { at: 2000, event: { event: "_gap", workflow_run_id: "r", missing: ["text"] } },
    { at: 2500, event: event("workflow_finished", { status: "succeeded", outputs: {} }) },
  ];
  await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  expect((await replay([path])).out).toBe(
    [
      "2026-11-19T23:59:59Z  node_started       Start",
      "2026-11-21T00:00:01Z  gap                missing: text",
      "2026-11-21T00:00:01Z  workflow_finished  succeeded",
      "",
    ].join("\n"),
  );
});

test.each([
  ["an error event", '{"at":9,"event":{"event":"error","message":"gone","status":500}}\n', 9],
  ["an end that run detail told", '{"end":{"exit":0,"why":"succeeded"}}\n', 0],
  ["an end that run detail told, a bad one", '{"end":{"exit":9,"why":"stopped"}}\n', 9],
  ["an interrupt", '{"end":{"exit":130,"why":"interrupted"}}\n', 13],
  ["nothing", "", 13],
])("a recording without a closing event but %s", async (_, end, exit) => {
  const path = join(home, "open.jsonl");
  const [first = ""] = timedEvents("run, streaming").map(([, raw]) => raw);
  await writeFile(path, `{"recording":1}\n{"at":0,"event":${first}}\n${end}`);
  const ran = await replay([path, "-o", "jsonl"]);
  expect(ran.exit, ran.err).toBe(exit);
  expect(ran.out.startsWith(`${first}\n`)).toBe(true);
});

/** A clock that only sleeping advances. */
function waiting() {
  const waits: number[] = [];
  const world: World = {
    waits,
    now: () => new Date(1e12 + waits.reduce((sum, ms) => sum + ms, 0)),
  };
  return { waits, world };
}

const paces: readonly (readonly [
  flags: readonly string[],
  tty: boolean,
  waits: readonly number[],
])[] = [
  [[], true, [40, 1000, 3000]],
  [[], false, []],
  [["--speed", "1x"], false, [40, 1000, 3000]],
  [["--speed", "0.5"], false, [80, 2000, 6000]],
  [["--speed", "100x"], false, [10, 30]],
  [["--speed", "max"], true, []],
  [["--speed", "2x", "--idle-limit", "400ms"], true, [20, 200, 200]],
];

test.each(paces)("%j on a terminal (%j) waits %j ms", async (flags, tty, expected) => {
  const path = join(home, "pace.jsonl");
  const at = [0, 0, 40, 40.4, 1040, 4040];
  const [raw = ""] = timedEvents("events of a finished run").map(([, text]) => text);
  await writeFile(path, at.map((ms) => `{"at":${ms},"event":${raw}}\n`).join(""));
  const { waits, world } = waiting();
  const ran = await replay([path, ...flags], { ...world, tty });
  expect(ran.exit, ran.err).toBe(0);
  expect(waits.map(Math.round)).toEqual(expected);
});

test("Ctrl-C ends it with 130", async () => {
  const path = await recordedFile(
    join(home, "long.jsonl"),
    "slow run, streaming, a node takes 6 s",
  );
  const interrupt = new AbortController();
  const { world } = waiting();
  const ran = await replay([path, "--speed", "0.01x", "-o", "jsonl"], {
    ...world,
    signal: interrupt.signal,
    onOutput: () => interrupt.abort("SIGINT"),
  });
  expect(ran.exit).toBe(130);
});

test.each(["0x", "fast", "-1", "1e3", ""])("rejects the speed %j", async (speed) => {
  const path = await recordedFile(join(home, "any.jsonl"), "run, streaming");
  const ran = await replay([path, `--speed=${speed}`]);
  expect(ran.exit).toBe(2);
  expect(ran.err).toMatch(/expected a speed|at least 1/);
});

test("expectations use the recorded times at any speed", async () => {
  const path = await recordedFile(
    join(home, "slow.jsonl"),
    "slow run, streaming, a node takes 6 s",
  );
  const all = await readFile(path, "utf8");
  await writeFile(path, all.replace(/"elapsed_time":6\.\d+/g, '"elapsed_time":null'));
  const took = await replay([path, "--expect", "run took more than 4s", "-q"]);
  expect(took.exit, took.err).toBe(0);
});

/** Replays the recording with each expectation; the message about each. */
async function judged(path: string, expected: readonly string[]) {
  const ran = await replay([path, ...expected.flatMap((each) => ["--expect", each])]);
  const said = ran.err.split("\n").filter((line) => /^[✓✗] /.test(line));
  return { exit: ran.exit, said };
}

describe("a redacted recording", () => {
  /** A run with these outputs as written by `--redact`. */
  const redacted = async (outputs: object, head = '{"recording":1,"redacted":true}') => {
    const path = join(home, "redacted.jsonl");
    const event = (kind: string, data: object) =>
      JSON.stringify({ at: 0, event: { event: kind, workflow_run_id: "r", data } });
    const lines = [
      head,
      event("workflow_started", { id: "r", reason: "initial" }),
      event("text_chunk", { text: "<9 characters>" }),
      event("workflow_finished", { status: "failed", error: "<14 characters>", outputs }),
    ];
    await writeFile(path, `${lines.join("\n")}\n`);
    return path;
  };
  const unmet = [
    'output query does not contain "secret"',
    'output query is not "topsecret"',
    "output items is not [1]",
    "output score < 5",
    'text does not contain "secret"',
    "error does not match /refused/",
  ];

  test("meets no expectation about a text or a number", async () => {
    const outputs = { query: "<9 characters>", items: ["<number>"], score: "<number>" };
    const { exit, said } = await judged(await redacted(outputs), unmet);
    expect(exit).toBe(14);
    expect(said).toEqual(unmet.map((each) => `✗ failed  ${each}: it was redacted`));
  });

  test("meets none if its head is damaged, either", async () => {
    const path = await redacted({ query: "<9 characters>" }, '{"recording":1,"redac');
    const { said } = await judged(path, unmet.slice(0, 1));
    expect(said).toEqual([`✗ failed  ${unmet[0]}: it was redacted`]);
  });

  test("meets expectations about values that redaction keeps", async () => {
    const path = await redacted({ query: "<9 characters>", fine: true, none: "", gone: null });
    const { exit, said } = await judged(path, [
      "run failed",
      "output query exists",
      "output answer does not exist",
      "output fine is true",
      "output fine is not false",
      'output none is ""',
      "error exists",
    ]);
    expect(exit, said.join("\n")).toBe(0);
  });
});

describe("a damaged recording", () => {
  test("meets no expectation that a damaged line could refute", async () => {
    const path = await recordedFile(join(home, "damaged.jsonl"), "run, streaming", {
      change: (raw) => (/"title": ?"End"/.test(raw) ? raw.slice(0, -20) : raw),
    });
    const expected = [
      'node "End" did not run',
      "node Start ran at most 1 time",
      "node Start succeeded",
      "no errors",
      "no retries",
      "no pauses",
      "no gaps",
    ];
    const { exit, said } = await judged(path, [...expected, "node Start ran", "run succeeded"]);
    expect(exit).toBe(14);
    expect(said.map((line) => line.split(":")[0])).toEqual([
      ...expected.map((each) => `✗ failed  ${each}`),
      "✓ ok      node Start ran",
      "✓ ok      run succeeded",
    ]);
  });

  test("does not meet that a failed run has no error", async () => {
    const path = await recordedFile(join(home, "lost.jsonl"), "run that fails, streaming", {
      change: (raw) => (raw.includes('"workflow_finished"') ? raw.slice(0, -20) : raw),
      end: '{"end":{"exit":9,"why":"failed"}}\n',
    });
    const { said } = await judged(path, ["error does not exist", "run failed"]);
    expect(said).toEqual([
      "✗ failed  error does not exist: the error is unknown",
      "✓ ok      run failed: it ended as failed",
    ]);
  });
});
