import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { endsOf, playedRun, recordedRun } from "./played-run.ts";
import type { Played } from "./played-run.ts";
import { cli, temporaryFolder } from "./support.ts";
import type { World } from "./support.ts";

const home = await temporaryFolder();
let number = 0;

const wf = (argv: readonly string[], world: World = {}) =>
  cli(["wf", ...argv], {
    env: { KB_BASE_URL: "http://127.0.0.1:1/v1", KB_APP_KEY: "app-x" },
    ...world,
  });

/** Follows a recorded run and records it; each look at the clock is 10 ms later. */
async function recorded(run: readonly Played[], ...flags: readonly string[]): Promise<string> {
  const server = await playedRun(run, []);
  const path = join(home, `${++number}.jsonl`);
  let now = Date.parse("2026-11-21T12:00:00Z");
  const id = String(run[0]?.data["workflow_run_id"]);
  const ran = await cli(["wf", "events", id, "--record", path, ...flags], {
    env: { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-x" },
    now: () => new Date((now += 10)),
  });
  expect([0, 8, 9], ran.err).toContain(ran.exit);
  return path;
}

/** A run of two nodes, one of them inside a loop of two rounds; times in ms. */
const lines = [
  [0, "workflow_started", { id: "r", workflow_id: "w" }],
  [0, "node_started", { id: "1", node_id: "s", node_type: "start", title: "Start" }],
  [5, "node_finished", { id: "1", node_id: "s", status: "succeeded", elapsed_time: 0.005 }],
  [10, "loop_started", { id: "l", node_id: "l", node_type: "loop", title: "Repeat" }],
  [10, "node_started", { id: "2", node_id: "c", node_type: "code", title: "Sort", loop_id: "l" }],
  [50, "node_finished", { id: "2", node_id: "c", status: "succeeded", elapsed_time: 0.04 }],
  [50, "loop_next", { id: "l", node_id: "l", index: 1 }],
  [50, "node_started", { id: "3", node_id: "c", node_type: "code", title: "Sort", loop_id: "l" }],
  [60, "node_retry", { id: "3", node_id: "c", retry_index: 1 }],
  [
    90,
    "node_finished",
    { id: "3", node_id: "c", status: "failed", elapsed_time: 0.04, error: "no" },
  ],
  [90, "loop_completed", { id: "l", node_id: "l", status: "failed", elapsed_time: 0.08 }],
  [
    100,
    "workflow_finished",
    { id: "r", status: "failed", error: "no", outputs: {}, total_tokens: 7 },
  ],
] as const;
const text = lines
  .map(([at, event, data]) => JSON.stringify({ at, event: { event, workflow_run_id: "r", data } }))
  .join("\n");
const small = join(home, "small.jsonl");
await writeFile(small, `{"recording":1}\n${text}\n`);

describe("a recording", () => {
  const title = "slow run, streaming, a node takes 6 s";

  test("holds a line for each event, in the server's own text, with its time", async () => {
    const path = await recorded(recordedRun(title));
    const [head = "", ...events] = (await readFile(path, "utf8")).trimEnd().split("\n");
    expect(JSON.parse(head)).toMatchObject({ recording: 1, program: "wf" });
    expect(events.map((line) => line.replace(/^\{"at":\d+,"event":/, "").slice(0, -1))).toEqual(
      recordedRun(title).map(({ raw }) => raw),
    );
    expect(events[0]).toMatch(/^\{"at":0,/);
  });

  test("is never written over", async () => {
    const ran = await wf(["run", "--record", small]);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("is there already");
  });

  test("holds no key and no header of an http node, and with --redact no text", async () => {
    const secret = "Authorization: Bearer tok-1234567890\\r\\nAccept: */*";
    const run = recordedRun(title).map(({ event, raw }) => {
      const changed = raw.replace(
        '"process_data":{}',
        `"process_data":{"request":"GET / HTTP/1.1\\r\\n${secret}","key":"app-ABCDEFGHIJKL"}`,
      );
      return { event, raw: changed, data: JSON.parse(changed) as Record<string, unknown> };
    });
    expect(run.some(({ raw }) => raw.includes("tok-1234567890"))).toBe(true);
    const plain = await readFile(await recorded(run), "utf8");
    expect(plain).not.toMatch(/tok-1234567890|ABCDEFGHIJKL/);
    expect(plain).toContain("Authorization: ***\\r\\nAccept");
    const redacted = await readFile(await recorded(run, "--redact"), "utf8");
    expect(plain).toContain("slow body");
    expect(redacted).not.toContain("slow body");
    expect(redacted).toContain('"title":"Fetch"');
  });
});

describe("replay", () => {
  test.each([
    ["run, streaming", 0],
    ["run that fails, streaming", 9],
    ["run with human input, streaming: ends at the pause", 8],
    ["paused run, snapshot and continue_on_pause, form submitted after 3 s", 0],
  ])("%s is shown as it was, and ends with %d", async (title, exit) => {
    const run = recordedRun(title);
    const flags = exit === 0 ? ["--through-pauses"] : [];
    const path = await recorded(run, ...flags);
    const ran = await wf(["replay", path, "-o", "jsonl"]);
    expect(ran.exit, ran.err).toBe(exit);
    const raws = ran.out.trimEnd().split("\n");
    const last = run.findLastIndex(({ event }) => /^workflow_(finished|paused)$/.test(event));
    expect(raws.at(-1)).toBe(run[last]?.raw);
  });

  test("takes the time of the run, divided by the speed", async () => {
    const waits: number[] = [];
    await wf(["replay", small, "--speed", "0.5x"], { waits });
    expect(waits).toEqual([10, 10, 80, 20, 60, 20]);
    const none: number[] = [];
    await wf(["replay", small], { waits: none });
    expect(none).toEqual([]);
  });

  test("a recording that was cut ends with 13", async () => {
    const path = join(home, "cut.jsonl");
    await writeFile(path, text.split("\n").slice(0, 5).join("\n"));
    const ran = await wf(["replay", path, "-o", "jsonl"]);
    expect(ran.exit).toBe(13);
    expect(ran.out.trimEnd().split("\n")).toHaveLength(5);
  });

  test("a damaged line is named and the rest is used", async () => {
    const path = join(home, "damaged.jsonl");
    await writeFile(path, text.replace('{"at":50,"event"', '{"at":50,"ev').replace("\n", "\n\n"));
    const ran = await wf(["replay", path, "-o", "jsonl"]);
    expect(ran.exit).toBe(9);
    expect(ran.err).toContain("damaged.jsonl line 7 is damaged and left out");
    expect(ran.out.trimEnd().split("\n")).toHaveLength(lines.length - 1);
  });

  test.each([
    ["no.jsonl", undefined, "there is no such file"],
    ["empty.jsonl", "", "it holds no event"],
    ["other.jsonl", '{"a":1}\n', "this is no recording"],
    ["text.jsonl", "hello\n", "this is no recording"],
  ])("%s is refused", async (name, content, message) => {
    const path = join(home, name);
    if (content !== undefined) await writeFile(path, content);
    const ran = await wf(["replay", path]);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(message);
  });

  test.each(["0x", "fast", "-1"])("the speed %s is refused", async (speed) => {
    const ran = await wf(["replay", small, `--speed=${speed}`]);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("is no speed");
  });
});

describe("timeline", () => {
  test("has every node with its time, its round and its retries", async () => {
    const ran = await wf(["timeline", small, "-o", "json"]);
    expect(ran.exit, ran.err).toBe(0);
    const bar = (node: string, start: number, end: number, more: object) => ({
      node,
      start,
      end,
      depth: 0,
      round: null,
      retries: 0,
      status: "succeeded",
      ...more,
    });
    expect(JSON.parse(ran.out)).toMatchObject({
      run: "r",
      status: "failed",
      milliseconds: 90,
      tokens: 7,
      nodes: [
        bar("Start", 0, 5, {}),
        bar("Repeat", 10, 90, { status: "failed" }),
        bar("Sort", 10, 50, { depth: 1, round: 1 }),
        bar("Sort", 50, 90, { depth: 1, round: 2, retries: 1, status: "failed", error: "no" }),
      ],
    });
  });

  test("is a waterfall that fits a terminal", async () => {
    const ran = await wf(["timeline", small, "--color", "never"], {
      tty: true,
      columns: 100,
      env: { LANG: "C", TERM: "xterm" },
    });
    const rows = ran.out.split("\n");
    expect(Math.max(...rows.map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(ran.out).toContain("Sort took 44 % of the time.");
  });

  test("is a picture whose texts cannot break out of it", async () => {
    const path = join(home, "evil.jsonl");
    await writeFile(path, text.replace('"Start"', JSON.stringify('</text><script>"&')));
    const ran = await wf(["timeline", path, "-o", "svg"]);
    expect(ran.out).toContain("&lt;/text&gt;&lt;script&gt;&quot;&amp;");
    expect(ran.out).not.toContain("<script");
    expect(ran.out.match(/<(\w+)[^>]*[^/]>/g)?.length).toBe(ran.out.match(/<\/\w+>/g)?.length);
  });

  test("a run that is over has no nodes to show, and the hint says what does", async () => {
    const run = recordedRun("run, streaming");
    const size = endsOf(run).at(-1) ?? 0;
    const server = await playedRun(run, [{ at: size, how: "end", lost: 0, refusals: [] }]);
    const argv = ["wf", "timeline", String(run[0]?.data["workflow_run_id"])];
    const env = { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-x" };
    await cli(["wf", "events", argv[2] ?? ""], { env });
    const ran = await cli(argv, { env });
    expect(ran.exit).toBe(6);
    expect(ran.err).toContain("wf run --record FILE");
  });
});

describe("diff", () => {
  test("of a recording and itself is empty", async () => {
    const ran = await wf(["diff", small, small, "--exit-code", "-o", "json"]);
    expect(ran.exit, ran.err).toBe(0);
    expect(JSON.parse(ran.out)).toMatchObject({ same: true, same_order: true, outputs: [] });
  });

  test.each<[string, (text: string) => string, object]>([
    [
      "another end",
      (all) =>
        all.replace('"status":"failed","error":"no","outputs"', '"status":"stopped","outputs"'),
      { same: false, b: { status: "stopped" } },
    ],
    [
      "a node that did not run",
      (all) =>
        all
          .split("\n")
          .filter((line) => !line.includes('"id":"3"'))
          .join("\n"),
      { same: false, nodes: [{}, {}, {}, { node: "Sort", time: 2, b: null }] },
    ],
    [
      "other outputs",
      (all) => all.replace('"outputs":{}', '"outputs":{"list":[1,{"a":2}]}'),
      { same: false, outputs: [{ path: "list", a: null, b: [1, { a: 2 }] }] },
    ],
    [
      "another order",
      (all) =>
        all
          .replaceAll('"node_id":"s"', '"node_id":"X"')
          .replaceAll('"node_id":"c"', '"node_id":"s"')
          .replaceAll('"node_id":"X"', '"node_id":"c"'),
      { same_order: false },
    ],
  ])("%s", async (name, change, expected) => {
    const path = join(home, `${name}.jsonl`);
    await writeFile(path, change(text));
    const ran = await wf(["diff", small, path, "--exit-code", "-o", "json"]);
    expect(ran.exit, ran.err).toBe(14);
    expect(JSON.parse(ran.out)).toMatchObject(expected);
  });
});
