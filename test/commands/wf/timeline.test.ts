import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { endsOf, playedRun, recordedRun } from "../../lib/played-run.ts";
import { recordedFile } from "../../lib/recorded-file.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const home = await temporaryDirectory();
const timeline = (argv: readonly string[], world?: World) =>
  cli(["wf", "timeline", ...argv], world);
const fileOf = (title: string, startedAt?: number) =>
  recordedFile(join(home, "run.jsonl"), title, { ...(startedAt !== undefined && { startedAt }) });

/** Rows and notes as printed to a pipe, cells separated by a bar. */
const rowsOf = (out: string) => out.trimEnd().replaceAll("\t", " | ").split("\n");

/** A run by hand: `many` rounds of an iteration with two nodes, the last of which fails. */
function iterated(rounds: number): string {
  let at = 0;
  const event = (kind: string, data: object) =>
    JSON.stringify({ at, event: { event: kind, workflow_run_id: "r", data } });
  const lines = [
    JSON.stringify({ recording: 1, program: "wf", started_at: "2026-11-21T12:00:00Z" }),
    event("workflow_started", { id: "r", workflow_id: "w" }),
    event("iteration_started", { id: "i", node_id: "i", title: "Each", inputs_truncated: false }),
  ];
  for (let round = 0; round < rounds; round++) {
    lines.push(event("iteration_next", { id: "i", node_id: "i", index: round }));
    for (const node of ["Fetch", "Sum up"]) {
      const shared = { node_id: node, title: node, inputs_truncated: false, iteration_id: "i" };
      const id = `${node} ${round}`;
      lines.push(event("node_started", { id, ...shared }));
      at += 10;
      const failed = node === "Fetch" && round === rounds - 1;
      lines.push(
        event("node_finished", {
          id,
          ...shared,
          status: failed ? "failed" : "succeeded",
          error: failed ? "no route\nto host" : null,
          elapsed_time: 0.01,
          execution_metadata: { iteration_index: round, total_tokens: 3 },
        }),
      );
    }
  }
  lines.push(
    event("iteration_completed", {
      id: "i",
      node_id: "i",
      status: "failed",
      elapsed_time: at / 1000,
    }),
    event("workflow_finished", { id: "r", status: "failed", error: "no route", outputs: {} }),
  );
  return `${lines.join("\n")}\n`;
}

describe("the timeline of a recorded run", () => {
  test("shows rounds inside their iteration", async () => {
    const path = await fileOf("iteration: iteration_flatten_output_enabled_workflow");
    expect(rowsOf((await timeline([path])).out)).toEqual([
      "# Run dcd4f396-5a25-4203-ac4b-f7626769eaa2 succeeded, 637 ms, 7 nodes",
      "node | state | start | took",
      "Start | succeeded | 0 ms | 1 ms",
      "Generate Array | succeeded | 14 ms | 62 ms",
      "Iteration with Flatten Enabled | succeeded | 70 ms | 529 ms",
      "  #1 Generate Pair | succeeded | 76 ms | 80 ms",
      "  #2 Generate Pair | succeeded | 263 ms | 89 ms",
      "  #3 Generate Pair | succeeded | 452 ms | 45 ms",
      "End | succeeded | 611 ms | 0 ms",
      "# Iteration with Flatten Enabled took 83 % of the time; inside it, 3× Generate Pair took 214 ms.",
    ]);
  });

  test("counts retries and shows errors", async () => {
    const path = await fileOf("node that is retried twice, then fails");
    expect(rowsOf((await timeline([path])).out)).toEqual([
      "# Run 05e5b499-6fcf-48ec-86ed-3f5cc150a195 failed, 681 ms, 2 nodes",
      "node | state | start | took | retries",
      "Start | succeeded | 1 ms | 0 ms | ",
      "Unsteady | failed | 6 ms | 656 ms | 2",
      "# Unsteady took 96 % of the time.",
      "# Unsteady: [Errno 111] Connection refused",
    ]);
  });

  test("shows a node that waited for human input once, with its wait", async () => {
    // Attached 22 s after the run began; the form was answered 3 s later.
    const title = "paused run, snapshot and continue_on_pause, form submitted after 3 s";
    const path = await fileOf(title, 1_795_219_658);
    expect(rowsOf((await timeline([path])).out)).toEqual([
      "# Run b0855b80-60aa-4a71-8c51-c175d049a1c7 succeeded, 25.04 s, 3 nodes",
      "node | state | start | took",
      "Start | succeeded | 0 ms | 0 ms",
      "Review | succeeded | 0 ms | 25.01 s",
      "End | succeeded | 25.02 s | 0 ms",
      "# Review took 100 % of the time.",
      "# Review waited 25.00 s for human input.",
    ]);
  });

  test.each([0, 3600, -3600])(
    "places nodes that began before following, with clocks %d s apart",
    async (apart) => {
      const title = "slow run: attach in the middle with snapshot";
      const path = await fileOf(title, 1_795_219_620 + apart);
      expect(rowsOf((await timeline([path])).out)).toEqual([
        "# Run e4b65e6a-59ea-4e84-994c-ea0eaef6dd0c succeeded, 6.03 s, 3 nodes",
        "node | state | start | took",
        "Start | succeeded | 0 ms | 0 ms",
        "Fetch | succeeded | 0 ms | 6.01 s",
        "End | succeeded | 6.02 s | 0 ms",
        "# Fetch took 100 % of the time.",
      ]);
    },
  );

  test("shows a node without an end as unfinished, and a stopped run as stopped", async () => {
    const { out } = await timeline([await fileOf("slow run that is stopped after 2 s")]);
    expect(rowsOf(out)[0]).toContain("stopped, 2.25 s, 2 nodes");
    expect(rowsOf(out)[3]).toBe("Fetch | unfinished | 12 ms | 2.24 s");
  });

  test("computes the times of a file without them from the server's", async () => {
    const path = await fileOf("iteration: iteration_flatten_output_enabled_workflow");
    const { out: plain } = await cli(["wf", "replay", path, "-o", "jsonl"]);
    const rows = rowsOf((await timeline(["-"], { stdin: plain })).out);
    expect(rows.slice(2, 6)).toEqual([
      "Start | succeeded | 0 ms | 1 ms",
      "Generate Array | succeeded | 1 ms | 62 ms",
      "Iteration with Flatten Enabled | succeeded | 63 ms | 529 ms",
      "  #1 Generate Pair | succeeded | 63 ms | 80 ms",
    ]);
    expect(rows.at(-1)).toBe(
      "# The file has no times: they are computed from whole seconds and node durations.",
    );
  });
});

test("a run takes at least as long as each of its nodes", async () => {
  const path = join(home, "jitter.jsonl");
  const event = (at: number, kind: string, data: object) =>
    JSON.stringify({ at, event: { event: kind, workflow_run_id: "r", data } });
  const node = { id: "n", node_id: "n", title: "Loop", inputs_truncated: false };
  const lines = [
    event(0, "workflow_started", { id: "r" }),
    event(1, "node_started", node),
    event(396, "node_finished", { ...node, status: "succeeded", elapsed_time: 0.403 }),
    event(397, "workflow_finished", { id: "r", status: "succeeded" }),
  ];
  await writeFile(path, lines.join("\n"));
  expect(rowsOf((await timeline([path])).out)).toEqual([
    "# Run r succeeded, 404 ms, 1 node",
    "node | state | start | took",
    "Loop | succeeded | 0 ms | 403 ms",
    "# Loop took 100 % of the time.",
  ]);
});

test("bars, sentences and durations have the server's clock if events arrive in lumps", async () => {
  const path = join(home, "lumps.jsonl");
  const event = (at: number, kind: string, data: object) =>
    JSON.stringify({ at, event: { event: kind, workflow_run_id: "r", data } });
  const node = (id: string) => ({ id, node_id: id, title: id, inputs_truncated: false });
  const ended = (id: string, seconds: number) => ({
    ...node(id),
    status: "succeeded",
    elapsed_time: seconds,
  });
  const lines = [
    event(0, "workflow_started", { id: "r" }),
    event(0, "node_started", node("Start")),
    event(94, "node_finished", ended("Start", 0)),
    event(94, "node_started", node("Search")),
    event(94, "node_finished", ended("Search", 0.06)),
    event(94, "workflow_finished", { id: "r", status: "succeeded" }),
  ];
  await writeFile(path, lines.join("\n"));
  expect(rowsOf((await timeline([path])).out)).toEqual([
    "# Run r succeeded, 94 ms, 2 nodes",
    "node | state | start | took",
    "Start | succeeded | 0 ms | 0 ms",
    "Search | succeeded | 34 ms | 60 ms",
    "# Search took 64 % of the time.",
    "# Events arrived up to 94 ms late; durations are those of the server.",
  ]);
  const { nodes } = JSON.parse((await timeline([path, "-o", "json"])).out) as { nodes: object[] };
  expect(nodes).toMatchObject([
    { start_ms: 0, end_ms: 0, took_ms: 0 },
    { start_ms: 34, end_ms: 94, took_ms: 60 },
  ]);
  // A quarter of 94 ms is 23.5 ms; two digits are 24 ms.
  const { out: page } = await timeline([path, "-o", "html"]);
  expect(page.match(/<span class="ticks"[^]*?<\/span><\/span>/)?.[0]).toContain(
    "<span>0 ms</span><span>24 ms</span><span>48 ms</span><span>72 ms</span><span>96 ms</span>",
  );
});

describe("many rounds", () => {
  test("share one row per node, or have their own with --expand", async () => {
    const path = join(home, "rounds.jsonl");
    await writeFile(path, iterated(200));
    const { out } = await timeline([path]);
    expect(rowsOf(out)).toEqual([
      "# Run r failed, 4.00 s, 401 nodes",
      "node | state | start | took | tokens",
      "Each | failed | 0 ms | 4.00 s | ",
      "  200× Fetch | 199 succeeded, 1 failed | 0 ms | 2.00 s | 600",
      "  200× Sum up | succeeded | 10 ms | 2.00 s | 600",
      "# Each took 100 % of the time; inside it, 200× Fetch took 2.00 s.",
      "# #200 Fetch: no route to host",
      "# More than 5 rounds share a row with their total time; --expand shows each.",
    ]);
    const expanded = rowsOf((await timeline([path, "--expand"])).out);
    expect(expanded).toHaveLength(2 + 401 + 2);
    expect(expanded[401]).toBe("  #200 Fetch | failed | 3.98 s | 10 ms | 3");
  });

  test("of a nested loop share one row too", async () => {
    const path = join(home, "nested.jsonl");
    let at = 0;
    const event = (kind: string, data: object) =>
      JSON.stringify({ at: at++, event: { event: kind, workflow_run_id: "r", data } });
    const step = (round: number) => {
      const node = { id: `s${round}`, node_id: "s", title: "Step", loop_id: "in" };
      return [
        event("node_started", { ...node, inputs_truncated: false }),
        event("node_finished", { ...node, inputs_truncated: false, status: "succeeded" }),
      ];
    };
    const inner = (round: number) => [
      event("loop_next", { id: "out", node_id: "out", index: round }),
      event("loop_started", { id: "in", node_id: "in", title: "Inner", loop_id: "out" }),
      ...step(2 * round),
      event("loop_next", { id: "in", node_id: "in", index: 1 }),
      ...step(2 * round + 1),
      event("loop_completed", { id: "in", node_id: "in", status: "succeeded" }),
    ];
    const lines = [
      event("workflow_started", { id: "r" }),
      event("loop_started", { id: "out", node_id: "out", title: "Outer" }),
      ...Array.from({ length: 10 }, (_, round) => inner(round)).flat(),
      event("loop_completed", { id: "out", node_id: "out", status: "succeeded" }),
      event("workflow_finished", { id: "r", status: "succeeded" }),
    ];
    await writeFile(path, lines.join("\n"));
    const labels = async (...flags: readonly string[]) =>
      rowsOf((await timeline([path, ...flags])).out)
        .filter((row) => !row.startsWith("#"))
        .map((row) => row.split(" | ")[0]);
    expect(await labels()).toEqual(["node", "Outer", "  10× Inner", "    20× Step"]);
    expect((await labels("--expand")).slice(0, 6)).toEqual([
      "node",
      "Outer",
      "  #1 Inner",
      "    #1 Step",
      "    #2 Step",
      "  #2 Inner",
    ]);
  });

  test("are shown up to five", async () => {
    const path = join(home, "five.jsonl");
    await writeFile(path, iterated(5));
    expect(rowsOf((await timeline([path])).out).filter((row) => /^ {2}#/.test(row))).toHaveLength(
      10,
    );
  });
});

test("JSON has every node, with times in ms", async () => {
  const path = join(home, "data.jsonl");
  await writeFile(path, iterated(6));
  const { out } = await timeline([path, "-o", "json"]);
  const data = JSON.parse(out) as { nodes: unknown[] };
  expect(data).toMatchObject({
    run: "r",
    workflow: "w",
    status: "failed",
    error: "no route",
    started_at: "2026-11-21T12:00:00.000Z",
    took_ms: 120,
    gaps: 0,
    timed: true,
  });
  expect(data.nodes).toHaveLength(13);
  expect(data.nodes[1]).toEqual({
    node: "Fetch",
    node_id: "Fetch",
    type: "",
    status: "succeeded",
    error: null,
    depth: 1,
    within: "i",
    round: 1,
    start_ms: 0,
    end_ms: 10,
    took_ms: 10,
    waited_ms: 0,
    retries: 0,
    tokens: 3,
    rounds: null,
  });
});

test("a terminal shows a waterfall that fits its width", async () => {
  const path = join(home, "screen.jsonl");
  await writeFile(path, iterated(2));
  const { out } = await timeline([path, "--color", "never"], {
    tty: true,
    columns: 66,
    env: { LANG: "C", TERM: "xterm" },
  });
  expect(out.split("\n").slice(2, 7)).toEqual([
    "-----------  ---------  -----  -----  ------  --------------------",
    "Each         failed      0 ms  40 ms          |------------------|",
    "  #1 Fetch   succeeded   0 ms  10 ms       3  |---|",
    "  #1 Sum up  succeeded  10 ms  10 ms       3       |---|",
    "  #2 Fetch   failed     20 ms  10 ms       3            |---|",
  ]);
});

describe("the timeline of a run ID", () => {
  const played = async (title: string, upTo: number) => {
    const run = recordedRun(title);
    const size = endsOf(run).at(-1) ?? 0;
    const server = await playedRun(run, [{ at: upTo * size, how: "end", lost: 0, failures: [] }]);
    const env = { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-x" };
    return { id: String(run[0]?.data["workflow_run_id"]), env };
  };

  test("follows an active run to its end", async () => {
    const sandbox = await testSandbox();
    const app = ["wf", "--app", "slow"];
    const input = ["--input", "query=x", "--input", "seconds=30"];
    const ran = await sandbox.cli([...app, "run", ...input, "--detach", "-o", "name"]);
    const { exit, out, err } = await sandbox.cli([...app, "timeline", ran.out.trim()]);
    expect(exit, err).toBe(0);
    expect(rowsOf(out)[0]).toContain(" succeeded, ");
    expect(rowsOf(out).slice(2, 5)).toEqual([
      expect.stringMatching(/^Start \| succeeded/),
      expect.stringMatching(/^Wait \| succeeded .* \| 30\.\d\d s/),
      expect.stringMatching(/^End \| succeeded/),
    ]);
  });

  test("fails for an ended run, with a hint to record it", async () => {
    const { id, env } = await played("run, streaming", 1);
    await cli(["wf", "events", id], { env });
    const ran = await timeline([id], { env });
    expect(ran.exit).toBe(6);
    expect(ran.err).toContain(`the nodes of ${id} (succeeded) are unknown`);
    expect(ran.err).toContain("wf run --record FILE");
  });

  test("shows the nodes so far after an interrupt", async () => {
    const sandbox = await testSandbox();
    const app = ["wf", "--app", "slow"];
    const input = ["--input", "query=x", "--input", "seconds=600"];
    const started = await sandbox.cli([...app, "run", ...input, "--detach", "-o", "name"]);
    const ran = await sandbox.cli([...app, "timeline", started.out.trim()], {
      signal: AbortSignal.timeout(700),
    });
    expect(ran.exit).toBe(130);
    expect(rowsOf(ran.out)[3]).toMatch(/^Wait \| running/);
  });

  test("needs no settings for a recording", async () => {
    const path = await fileOf("run, streaming");
    expect((await timeline([path], { env: {} })).exit).toBe(0);
  });
});
