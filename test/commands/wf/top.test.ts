import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { pressKey } from "../../../src/commands/wf/top/state.ts";
import type { TopView, RunEvents, TopRun, TopState } from "../../../src/commands/wf/top/state.ts";
import { topScreen, topText } from "../../../src/commands/wf/top/screen.ts";
import { serverEvent } from "../../../src/lib/server-event.ts";
import type { Cell, Report } from "../../../src/output/report-model.ts";
import { RunTrace } from "../../../src/runs/trace.ts";
import { logServer } from "../../lib/log-server.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";

const now = new Date("2026-11-21T12:00:00Z");
const second = now.getTime() / 1000;

const run = (id: string, status: string, more: Partial<TopRun> = {}): TopRun => ({
  id: `${id}-long-id`,
  status,
  startedAt: second - 42,
  endedAt: undefined,
  seconds: undefined,
  error: undefined,
  user: "ann",
  endUser: "ann",
  ...more,
});
const ended = (id: string, status: string, ago: number, seconds: number, error?: string) =>
  run(id, status, { startedAt: second - ago - seconds, endedAt: second - ago, seconds, error });

/** What events told: nodes that started, and those that ended with a status. */
function events(
  nodes: Readonly<Record<string, string | undefined>>,
  more: Partial<RunEvents> = {},
) {
  const trace = new RunTrace();
  const add = (event: string, data: object) =>
    trace.add(serverEvent({ event, data }), now.getTime() - 3000);
  for (const [title, status] of Object.entries(nodes)) {
    const node = { id: title, node_id: title, title, inputs_truncated: false };
    add("node_started", node);
    const error = status === "failed" ? "no route" : null;
    if (status !== undefined) add("node_finished", { ...node, status, error, elapsed_time: 1.5 });
  }
  return { trace, forms: [], ...more };
}

const form = { token: "t", node: "Review", actions: ["approve", "reject"], inputs: [], values: [] };

const stateOf = (
  runs: readonly TopRun[],
  known: Readonly<Record<string, RunEvents>> = {},
  more: Partial<TopState> = {},
): TopState => ({
  runs,
  events: new Map(Object.entries(known).map(([id, each]) => [`${id}-long-id`, each])),
  isWholeHour: true,
  problem: undefined,
  ...more,
});

const textOf = (cell: Cell): string => {
  if (cell === null) return "";
  return typeof cell === "object" && "text" in cell ? cell.text : String(cell);
};

/** The lines of a report, cells separated by a bar. */
const linesOf = ({ sections }: Report): string[] =>
  sections.flatMap(({ title, lines = [], columns, rows, notes = [] }) => [
    ...(title === undefined ? [] : [title]),
    ...lines.map(({ parts }) => parts.map(({ text }) => text).join("  ")),
    ...(columns.length === 0 ? [] : [columns.map(({ label }) => label).join("|")]),
    ...rows.map((row) => row.map(textOf).join("|")),
    ...notes,
  ]);

const view: TopView = { selected: undefined, follows: false };
const keys = "up/down select  f follow  a answer  o open  ? keys  q quit";
const head = "|status|time|node|detail|by|run";
const screen = (state: TopState, more: Partial<TopView> = {}, rows = 10) =>
  linesOf(topScreen(state, { ...view, ...more }, { now, rows }));

describe("the screen", () => {
  test.each<[string, TopState, readonly string[]]>([
    [
      "no runs",
      stateOf([]),
      [
        "0 runs ended in the last hour",
        "no run is running, paused, or failed in the last hour",
        keys,
      ],
    ],
    [
      "a running run with its node",
      stateOf([run("a", "running")], { a: events({ Start: "succeeded", Fetch: undefined }) }),
      ["0 runs ended in the last hour", head, ">|running|0:42|Fetch||ann|a-long-i", keys],
    ],
    [
      "a paused run with its form",
      stateOf([run("a", "paused", { startedAt: second - 4000 })], {
        a: events({}, { forms: [form] }),
      }),
      [
        "0 runs ended in the last hour  1 form waiting",
        head,
        ">|paused|1:06:40|Review|form: approve, reject|ann|a-long-i",
        keys,
      ],
    ],
    [
      "that there may be more forms than those read so far",
      stateOf([run("a", "paused"), run("b", "paused")], { a: events({}, { forms: [form, form] }) }),
      [
        "0 runs ended in the last hour  at least 2 forms waiting",
        head,
        ">|paused|0:42|Review|form: approve, reject|ann|a-long-i",
        " |paused|0:42|||ann|b-long-i",
        keys,
      ],
    ],
    [
      "a failed run with the node and the error",
      stateOf([ended("a", "failed", 65, 3, "no route")], { a: events({ Fetch: "failed" }) }),
      [
        "1 run ended in the last hour  1 failed  p50 3.0 s  p95 3.0 s",
        head,
        ">|failed|1:05 ago|Fetch|no route|ann|a-long-i",
        keys,
      ],
    ],
    [
      "the node of a failure that an earlier command has seen",
      stateOf([ended("a", "failed", 65, 3, "no")], { a: events({}, { failedNode: "Fetch" }) }),
      [
        "1 run ended in the last hour  1 failed  p50 3.0 s  p95 3.0 s",
        head,
        ">|failed|1:05 ago|Fetch|no|ann|a-long-i",
        keys,
      ],
    ],
    [
      "why events cannot be read",
      stateOf([run("a", "running")], { a: events({}, { problem: "not found" }) }),
      ["0 runs ended in the last hour", head, ">|running|0:42||not found|ann|a-long-i", keys],
    ],
    [
      "nothing of runs that succeeded, or failed more than an hour ago, but the figures of the hour",
      stateOf([ended("a", "succeeded", 10, 2), ended("b", "failed", 3601, 9)]),
      [
        "1 run ended in the last hour  p50 2.0 s  p95 2.0 s",
        "no run is running, paused, or failed in the last hour",
        keys,
      ],
    ],
    [
      "paused runs before running ones before failures, each newest first",
      stateOf([
        ended("a", "failed", 9, 1),
        ended("b", "failed", 5, 1),
        run("c", "running"),
        run("d", "paused"),
      ]),
      [
        "2 runs ended in the last hour  2 failed  p50 1.0 s  p95 1.0 s  forms not read yet",
        head,
        ">|paused|0:42|||ann|d-long-i",
        " |running|0:42|||ann|c-long-i",
        " |failed|0:05 ago|||ann|b-long-i",
        " |failed|0:09 ago|||ann|a-long-i",
        keys,
      ],
    ],
    [
      "that older runs of the hour are unknown, and that the last request failed",
      stateOf([], {}, { isWholeHour: false, problem: "connection reset; retrying" }),
      [
        "0 runs ended in the last hour (newest only)  connection reset; retrying",
        "no run is running, paused, or failed in the last hour",
        keys,
      ],
    ],
  ])("shows %s", (_, state, expected) => {
    expect(screen(state)).toEqual(expected);
  });

  const five = stateOf(["a", "b", "c", "d", "e"].map((id) => run(id, "running")));
  test.each<[selected: string, rows: number, shown: string]>([
    ["a", 2, ">a b 3 more"],
    ["c", 2, "b >c 3 more"],
    ["e", 2, "d >e 3 more"],
    ["e", 4, "b c d >e 1 more"],
    ["gone", 5, ">a b c d e"],
  ])("keeps the selected run %s on a screen of %d rows", (selected, rows, shown) => {
    const lines = screen(five, { selected: `${selected}-long-id` }, rows).slice(2, -1);
    const short = (line: string) => line.replace(/^(.)\|.*\|(.)-long-i$/, "$1$2").trim();
    expect(lines.map(short).join(" ")).toBe(shown);
  });

  test.each<[string, TopState, readonly string[]]>([
    [
      "its nodes",
      stateOf([run("a", "running")], { a: events({ Fetch: "failed", Sum: undefined }) }),
      ["status|took|node|error", "failed|1.50 s|Fetch|no route", "running|0:03|Sum|"],
    ],
    ["that events are to come", stateOf([run("a", "running")]), ["waiting for its events"]],
    ["the error of a run without events", stateOf([ended("a", "failed", 9, 1, "no")]), ["no"]],
    [
      "its nodes when it has succeeded, which the list does not show",
      stateOf([run("b", "running"), ended("a", "succeeded", 9, 1)], {
        a: events({ Sum: "succeeded" }),
      }),
      ["status|took|node|error", "succeeded|1.50 s|Sum|"],
    ],
  ])("of a followed run shows %s", (_, state, expected) => {
    const lines = screen(state, { follows: true, selected: "a-long-id" });
    expect(lines[1]).toMatch(/^Run a-long-id (running|failed|succeeded)$/);
    expect(lines.slice(2)).toEqual([...expected, "q back  a answer  o open  ? keys"]);
  });

  test("of several applications names them, and that of each run", () => {
    const runs = [run("a", "running", { app: "slow" }), run("b", "running", { app: "echo" })];
    const more = { apps: ["echo", "slow"], unlogged: ["chat"] };
    expect(screen(stateOf(runs, {}, more)).slice(0, 4)).toEqual([
      "echo, slow  0 runs ended in the last hour  not shown, because only workflows have logs: chat",
      "|status|app|time|node|detail|by|run",
      ">|running|slow|0:42|||ann|a-long-i",
      " |running|echo|0:42|||ann|b-long-i",
    ]);
  });

  test("shows the result of the last key instead of the keys", () => {
    expect(screen(stateOf([]), { message: "no browser found" }).at(-1)).toBe("no browser found");
  });
});

test("plain text has the time and no marks", () => {
  const state = stateOf([run("a", "running")], { a: events({ Fetch: undefined }) });
  expect(linesOf(topText(state, "12:00:00 (UTC)", { now, rows: 10 }))).toEqual([
    "12:00:00 (UTC), 0 runs ended in the last hour",
    "status|time|node|detail|by|run",
    "running|0:42|Fetch||ann|a-long-i",
  ]);
});

test("the data has whole values", () => {
  const state = stateOf([run("a", "paused")], { a: events({}, { forms: [form] }) });
  expect(topText(state, "", { now, rows: 10 }).data).toEqual({
    at: second,
    apps: [],
    last_hour: { runs: 0, failed: 0, p50: null, p95: null },
    runs: [
      {
        run: "a-long-id",
        app: null,
        status: "paused",
        started_at: second - 42,
        finished_at: null,
        node: "Review",
        error: null,
        user: "ann",
        forms: [{ token: "t", node: "Review" }],
      },
    ],
  });
});

describe("keys", () => {
  const runs = ["a", "b", "c"].map((id) => run(id, "running"));
  const at = (id: string | undefined, follows = false): TopView => ({
    selected: id === undefined ? undefined : `${id}-long-id`,
    follows,
  });
  test.each<[key: string, from: TopView, to: TopView, action?: string]>([
    ["down", at(undefined), at("b")],
    ["j", at("b"), at("c")],
    ["down", at("c"), at("c")],
    ["up", at("b"), at("a")],
    ["k", at("a"), at("a")],
    ["down", at("b", true), at("b", true)],
    ["f", at("b"), at("b", true)],
    ["return", at("b"), at("b", true)],
    ["q", at("b", true), at("b")],
    ["escape", at("b", true), at("b")],
    ["q", at("b"), at("b"), "quit"],
    ["escape", at("b"), at("b")],
    ["o", at("b"), at("b"), "open"],
    ["a", at("b"), at("b"), "answer"],
    ["x", at("b"), at("b")],
  ])("%s", (key, from, to, action) => {
    const pressed = pressKey(key, from, runs);
    expect([pressed.view, pressed.action]).toEqual([to, action]);
  });

  test("? explains the keys, and any key closes that", () => {
    const open = pressKey("?", at("b"), runs).view;
    const lines = screen(stateOf([]), open);
    expect(lines).toContain("f, Enter|follow the events of the run");
    expect(lines.at(-1)).toBe("any key closes this");
    expect(pressKey("resize", open, runs).view).toEqual(open);
    for (const key of ["x", "q", "down"])
      expect(pressKey(key, open, runs)).toEqual({ view: at("b") });
  });

  test("any key removes a message, a resize does not", () => {
    const shown = { ...at("b"), message: "done" };
    expect(pressKey("x", shown, runs).view).toEqual(at("b"));
    expect(pressKey("resize", shown, runs).view).toEqual(shown);
  });

  test.each(["down", "f", "o", "a"])("%s does nothing without runs", (key) => {
    expect(pressKey(key, at(undefined), [])).toEqual({ view: at(undefined) });
  });
});

describe("without a terminal", () => {
  test("a report is printed every ten seconds, and a request is sent every two seconds at most", async () => {
    const trace: string[] = [];
    const server = await testSandbox({ onRequest: () => void trace.push("request") });
    const stop = new AbortController();
    let reports = 0;
    const ran = await server.cli(["wf", "--app", "slow", "top"], {
      signal: stop.signal,
      onOutput: () => ++reports === 20 && stop.abort("SIGINT"),
      around: (host) => ({
        ...host,
        sleep(ms, signal) {
          trace.push(`sleep ${ms}`);
          return host.sleep(ms, signal);
        },
      }),
    });
    expect(ran.exit).toBe(130);
    expect(ran.out).toMatch(/^# \d\d:\d\d:\d\d \(.*\), slow, 0 runs ended in the last hour/);
    const waits = trace.filter((each) => each !== "sleep 10000").join(", ");
    expect(waits).toMatch(/^request(, sleep 2000, request)+(, sleep 2000)?$/);
    expect(trace.filter((each) => each === "sleep 10000").length).toBeGreaterThanOrEqual(19);
  });

  test("-o jsonl prints an object each time", async () => {
    const server = await testSandbox();
    const stop = new AbortController();
    const ran = await server.cli(["wf", "--app", "slow", "top", "-o", "jsonl"], {
      signal: stop.signal,
      onOutput: () => stop.abort("SIGINT"),
    });
    expect(JSON.parse(ran.out)).toMatchObject({ last_hour: { runs: 0, failed: 0 }, runs: [] });
  });

  describe("of several applications", async () => {
    const server = await testSandbox();
    for (const app of ["broken", "flaky", "review"])
      await server.cli(["wf", "--app", app, "run", "query=x", "-q"]);
    await server.cli(["wf", "--app", "broken", "run", "query=x", "-q"]);

    /** What `wf top` prints until it matches. */
    async function shown(flags: readonly string[], isComplete: (data: Shown) => boolean) {
      const stop = new AbortController();
      let last: Shown | undefined;
      const ran = await server.cli(["wf", "top", "-o", "jsonl", ...flags], {
        signal: stop.signal,
        onOutput(text) {
          last = JSON.parse(text) as Shown;
          if (isComplete(last)) stop.abort("SIGINT");
        },
      });
      return { exit: ran.exit, data: last };
    }
    interface Shown {
      readonly apps: readonly string[];
      readonly runs: readonly { readonly app: string; readonly status: string }[];
    }

    test.each([
      ["--app several times", ["--app", "broken", "--app", "review"]],
      ["--all-apps", ["--all-apps"]],
    ])("%s", async (_, flags) => {
      const { exit, data } = await shown(flags, ({ runs }) => runs.length === 3);
      expect(exit).toBe(130);
      expect(data?.runs.map(({ app, status }) => `${app} ${status}`)).toEqual([
        "review paused",
        "broken failed",
        "broken failed",
      ]);
      expect(data?.apps).toEqual(expect.arrayContaining(["broken", "review"]));
    });

    test("one whose key opens nothing is named, the others are shown", async () => {
      const folder = await temporaryDirectory();
      await mkdir(join(folder, "config"));
      const apps = { none: { key: "app-none" }, broken: { key: "app-broken" } };
      const profiles = { work: { base_url: server.env["KB_BASE_URL"], apps } };
      await writeFile(join(folder, "config", "profiles.json"), JSON.stringify({ profiles }));
      const stop = new AbortController();
      const ran = await cli(["wf", "top", "-p", "work", "--all-apps"], {
        folder,
        signal: stop.signal,
        onOutput: (text) => /none: .*[^]*failed\tbroken/.test(text) && stop.abort("SIGINT"),
      });
      expect(ran.exit, ran.err).toBe(130);
    });

    test.each([
      [["--all-apps", "--app", "echo"], 2, "--all-apps and --app cannot be used together"],
      [["--app", "chat", "--app", "convo"], 6, "only workflows have logs"],
      [["--app", "echo", "--app", "none"], 2, 'application "none" not found'],
    ])("%j", async (flags, exit, message) => {
      const ran = await server.cli(["wf", "top", ...flags]);
      expect([ran.exit, ran.err]).toEqual([exit, expect.stringContaining(message)]);
    });
  });

  test("a failed request is shown until one succeeds", async () => {
    let isDown = false;
    const { env } = await logServer(() => [], 1, {
      instead(_url, response) {
        response.statusCode = isDown ? 503 : 200;
        if (isDown) response.end("down");
        return isDown;
      },
    });
    const stop = new AbortController();
    const problems: boolean[] = [];
    await cli(["wf", "top"], {
      env,
      signal: stop.signal,
      onOutput(text) {
        const hasFailed = text.includes("; retrying");
        if (problems.at(-1) !== hasFailed) problems.push(hasFailed);
        isDown = !hasFailed;
        if (problems.length === 3) stop.abort("SIGINT");
      },
    });
    expect(problems).toEqual([false, true, false]);
  });
});
