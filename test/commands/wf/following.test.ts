import { describe, expect, test } from "vitest";
import { cutAt, eventEnds, followsThrough, runs } from "../../lib/following.ts";
import { sampled } from "../../lib/sampled.ts";
import { seeded } from "../../lib/seeded.ts";
import { endsOf, gateway, playedRun, recordedRun } from "../../lib/played-run.ts";
import type { Played } from "../../lib/played-run.ts";
import { cli } from "../../lib/support.ts";

describe.each(runs)("%s", (title, flags) => {
  const run = recordedRun(title);

  test("without a lost connection", () => followsThrough(run, flags, []));

  // After every event, and at many bytes: test/long/following.test.ts.
  test("connection lost after every twelfth event", async () => {
    const random = seeded(title.length);
    for (const at of eventEnds(run).filter((_, index) => index % 12 === 0))
      await followsThrough(run, flags, [cutAt(at, random)]);
  });

  test("connection lost repeatedly", async () => {
    const random = seeded(title.length + 2);
    for (let turn = 0; turn < 2; turn++) {
      const size = endsOf(run).at(-1) ?? 0;
      const places = Array.from({ length: 4 }, () => 1 + Math.floor(random() * (size - 1)));
      const cuts = places.sort((a, b) => a - b).map((at) => cutAt(at, random));
      await followsThrough(run, flags, cuts);
    }
  });

  test("reconnects after silence", () =>
    followsThrough(run, flags, [cutAt(eventEnds(run)[2] ?? 1, seeded(1), true)]));
});

const follow = async (run: readonly Played[], at: number, flags: readonly string[] = []) => {
  const server = await playedRun(run, [{ at, how: "end", lost: 0, failures: [] }]);
  const id = String(run[0]?.data["workflow_run_id"]);
  return cli(["wf", "events", id, "--follow", ...flags], {
    env: { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-x" },
  });
};

/** The same on a terminal, without a lost connection. */
const watchedLive = async (run: readonly Played[], flags: readonly string[]) => {
  const server = await playedRun(run, []);
  const id = String(run[0]?.data["workflow_run_id"]);
  return cli(["wf", "events", id, "--follow", ...flags], {
    env: { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-x" },
    tty: true,
  });
};

/** A run that sends these pieces, one event each, and has these outputs; other events unchanged. */
function talking(pieces: readonly (string | Said)[], outputs: object, ids = {}): readonly Played[] {
  const id = "5b1c1b8e-6d0f-4a52-9f1e-2f1f0a3f7c11";
  const events: readonly Said[] = [
    { event: "workflow_started", data: { id, reason: "initial" } },
    ...pieces.map((piece) => (typeof piece === "string" ? chunk(["llm", "text"], piece) : piece)),
    { event: "workflow_finished", data: { id, status: "succeeded", outputs } },
  ];
  return events.map(({ event, data: inner, ...more }) => {
    const data = { event, workflow_run_id: id, ...ids, ...more, ...(inner && { data: inner }) };
    return { event, raw: JSON.stringify(data), data };
  });
}

interface Said {
  readonly event: string;
  readonly data?: object;
}

const chunk = (from_variable_selector: readonly string[], text: string): Said => ({
  event: "text_chunk",
  data: { text, from_variable_selector },
});

const node = (event: string, node_id: string, more: object = {}): Said => ({
  event,
  data: { id: `${node_id}-1`, node_id, node_type: "llm", ...more },
});

describe("--text", () => {
  const pieces = ["Leave ", "is ", "30 days", ",\n", "in the first ", "year 25 — ", "plus ", "1."];
  const whole = pieces.join("");

  // Outputs in order, separated by newlines; objects and lists as the server formats them.
  test.each<[string, readonly (string | Said)[], object, string]>([
    ["one output", pieces, { answer: whole }, whole],
    [
      "several outputs",
      [
        ...pieces,
        chunk(["end", "answer"], "\n"),
        chunk(["llm", "usage"], '{\n  "tokens": 3\n}'),
        chunk(["end", "answer"], "\n"),
        chunk(["code", "list"], "- a\n- 2"),
        chunk(["end", "answer"], "\n"),
        chunk(["code", "count"], "3"),
      ],
      { answer: whole, usage: { tokens: 3 }, list: ["a", 2], count: 3 },
      `${whole}\n{\n  "tokens": 3\n}\n- a\n- 2\n3`,
    ],
  ])("is complete wherever the connection is lost: %s", async (_, said, outputs, text) => {
    const run = talking(said, outputs);
    for (let at = 1; at < (endsOf(run).at(-1) ?? 0); at += 131) {
      const ran = await follow(run, at, ["--text"]);
      expect(ran.exit, ran.err).toBe(0);
      expect(ran.out, `cut at ${at}`).toBe(`${text}\n`);
    }
  });

  test("exits with 10 if the text is incomplete and no output holds it", async () => {
    const other = talking(pieces, { answer: `${whole} Ask people.` });
    const cut = (eventEnds(other)[3] ?? 0) + 5;
    const ran = await follow(other, cut, ["--text"]);
    expect(ran.out).toBe(`${whole} Ask people.\n`);
    const id = String(other[0]?.data["workflow_run_id"]);
    // The server's format of a list of objects is unknown.
    const hidden = talking(pieces, { answer: whole, list: [{}] });
    const lost = await follow(hidden, cut, ["--text"]);
    expect([lost.exit, lost.out]).toEqual([10, "Leave is 30 daysin the first year 25 — plus 1.\n"]);
    expect(lost.err).toContain(
      `error: the text of run ${id} is incomplete: the connection was lost\nhint: read its outputs: \`wf show ${id} --jq .outputs\`\n`,
    );
    const json = await follow(hidden, cut, ["-o", "jsonl"]);
    expect([json.exit, json.err]).toEqual([
      0,
      expect.stringContaining("events sent while disconnected, such as text, may be missing here"),
    ]);
  });

  test("prints the outputs if the run streamed no text", async () => {
    const ran = await follow(talking([], { answer: "42 days", count: 3 }), 1, ["--text"]);
    expect(ran.out).toBe("42 days\n3\n");
  });

  // A retried node sends its text again from the start; a failed one sends its default value.
  const retried = [
    node("node_started", "llm"),
    "word1 ",
    "word2 ",
    node("node_retry", "llm", { status: "retry", retry_index: 1 }),
    "word1 ",
    "word2 ",
    "word3",
    node("node_finished", "llm", { status: "succeeded", outputs: { text: "word1 word2 word3" } }),
  ];
  const fellBack = [
    node("node_started", "llm"),
    "word1 ",
    "word2 ",
    node("node_finished", "llm", { status: "exception", outputs: { text: "a fallback" } }),
    "a fallback",
  ];
  const silent = fellBack.slice(0, -1);
  const behind = [chunk(["start", "first"], "Before."), "\n", ...silent];
  const branched = [
    node("node_started", "llm"),
    "word1 ",
    chunk(["llm", "error_type"], "RateLimit"),
    node("node_finished", "llm", { status: "exception", outputs: { error_type: "RateLimit" } }),
  ];
  const asMessages = (said: readonly (string | Said)[]) =>
    said.map((piece) =>
      typeof piece === "string"
        ? { event: "message", answer: piece, from_variable_selector: ["llm", "text"] }
        : piece,
    );
  const broken: readonly [string, readonly Played[], string][] = [
    ["a retry", talking(retried, { result: "word1 word2 word3" }), "word1 word2 word3"],
    ["a default value", talking(fellBack, { result: "a fallback" }), "a fallback"],
    // Servers since 1.16 send it only of a node that has sent nothing (server §15.5).
    ["a default value that is not sent", talking(silent, { result: "a fallback" }), "a fallback"],
    [
      "a default value that is not sent, behind a text",
      talking(behind, { first: "Before.", result: "a fallback" }),
      "Before.\na fallback",
    ],
    ["a fail branch", talking(branched, { error: "RateLimit" }), "RateLimit"],
    [
      "a retry in a chatflow",
      talking(asMessages(retried), { answer: "word1 word2 word3" }, { conversation_id: "c" }),
      "word1 word2 word3",
    ],
  ];

  test.each(sampled(5, broken))("of a run started by wf run: %s", async (_, run, text) => {
    const server = await playedRun(run, []);
    const env = { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-x" };
    const line = ["wf", "run", "--inputs", "{}", "--text"];
    const ran = await cli(line, { env });
    expect([ran.exit, ran.out], ran.err).toEqual([0, `${text}\n`]);
    const shown = await cli(line, { env: { ...env, TERM: "dumb" }, tty: true });
    expect([shown.exit, shown.out.endsWith(`${text}\n`)], shown.out).toEqual([0, true]);
  });

  test.each(sampled(5, broken))("excludes discarded pieces: %s", async (_, run, text) => {
    const expected = ["--expect", `text matches /^${text}$/`];
    const live = await watchedLive(run, ["--text", ...expected]);
    expect([live.exit, live.out.endsWith(`${text}\n`)], live.out).toEqual([0, true]);
    expect(live.err).toContain("ignore the text of node llm above: the node failed");
    for (const at of eventEnds(run)) {
      const ran = await follow(run, at, ["--text", ...expected]);
      expect([ran.exit, ran.out], `cut at ${at}: ${ran.err}`).toEqual([0, `${text}\n`]);
      const { out } = await follow(run, at, ["-o", "jsonl"]);
      expect(out, `cut at ${at}`).not.toMatch(/"_gap_filled".*"from":(?!0).*word1 word2/);
    }
  });

  test.each([
    [["--text", "--only", "node_started"], "--only filters events"],
    [["--text", "-o", "json"], "cannot be used with -o, --json or --jq"],
  ])("is rejected with %j", async (flags, message) => {
    const ran = await follow(talking(pieces, { answer: whole }), 1, flags);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(message);
  });
});

test("--only filters kinds but keeps gaps", async () => {
  const title = "slow run, streaming, a node takes 6 s";
  const [, , third = 0] = eventEnds(recordedRun(title));
  const ran = await follow(recordedRun(title), third, [
    "--only",
    "workflow_finished, node_started",
    "-o",
    "jsonl",
  ]);
  const kinds = ran.out.match(/(?<="event": ?")\w+/g);
  expect(kinds).toEqual([
    "node_started",
    "_gap",
    "node_started",
    "node_started",
    "workflow_finished",
  ]);
});

test("prints a summary line", async () => {
  const title = "slow run, streaming, a node takes 6 s";
  const [, , third = 0] = eventEnds(recordedRun(title));
  const ran = await follow(recordedRun(title), third, ["-o", "jsonl"]);
  expect(ran.err).toMatch(
    /\n9 events, 1 reconnect, 3 duplicates dropped, 1 gap in (\d+ ms|\d+\.\d s)\n$/,
  );
});

describe("several runs", () => {
  /** Two recorded runs behind one URL; each loses its connection once. */
  const both = ["run, streaming", "slow run, streaming, a node takes 6 s"].map(recordedRun);

  async function together(flags: readonly string[], titles = both) {
    const servers = await Promise.all(
      titles.map((run) =>
        playedRun(run, [{ at: eventEnds(run)[2] ?? 1, how: "reset", lost: 1, failures: [503] }]),
      ),
    );
    const ids = titles.map((run) => String(run[0]?.data["workflow_run_id"]));
    const front = await gateway(new Map(ids.map((id, at) => [id, servers[at]?.baseUrl ?? ""])));
    return cli(["wf", "events", ...ids, "--follow", ...flags], {
      env: { KB_BASE_URL: front, KB_APP_KEY: "app-x", TZ: "UTC" },
    });
  }

  test("are interleaved, each line with its run, each event once", async () => {
    const ran = await together([]);
    expect(ran.exit, ran.err).toBe(0);
    const lines = ran.out.trimEnd().split("\n");
    expect(lines.filter((line) => !/^[0-9a-f]{8} {2}/.test(line))).toEqual([]);
    for (const run of both) {
      const name = String(run[0]?.data["workflow_run_id"]).slice(0, 8);
      const started = lines.filter((line) => line.startsWith(name) && /node_started/.test(line));
      expect(started).toHaveLength(run.filter(({ event }) => event === "node_started").length);
    }
  });

  test("exit with the worst outcome", async () => {
    const failing = recordedRun("run that fails, streaming");
    const ran = await together(["-o", "jsonl"], [...both, failing]);
    expect(ran.exit).toBe(9);
    expect(ran.err).toContain("1 of 3 runs: run ");
    const line = ran.err.split("\n").find((each) => each.startsWith('{"error"')) ?? "";
    const { error } = JSON.parse(line) as { error: { details: { ends: object[] } } };
    expect(error.details.ends.map((end) => Object.keys(end).toSorted())).toEqual([
      ["code", "details", "hint", "kind", "message", "verdict"],
    ]);
  });
});
