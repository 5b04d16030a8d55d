import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { serverEvent } from "../../src/lib/server-event.ts";
import type { ServerEvent } from "../../src/lib/server-event.ts";
import { readEvents } from "../../src/api/sse.ts";
import type { Host, Output } from "../../src/host/host.ts";
import { events, pastEvents, someEvents } from "../../src/operations/operation.ts";
import type { Returns } from "../../src/operations/operation.ts";
import { render } from "../../src/output/print/print.ts";
import type { Style } from "../../src/output/print/print.ts";
import { TerminalWriter } from "../../src/output/live/terminal-writer.ts";
import { widthOf } from "../../src/output/display-width.ts";
import { manualClock } from "../lib/manual-clock.ts";
import { plain } from "../lib/printed.ts";
import { bodyText, exchanges } from "../lib/recordings.ts";
import { sampled } from "../lib/sampled.ts";
import { terminalOf } from "../lib/terminal.ts";

/** A step while a run is followed: an event, or another action. */
type Happening = ServerEvent | (() => unknown);

interface Size {
  readonly columns?: number;
  readonly rows?: number;
}

/** A run that is followed on a terminal with a manual clock. */
function followed({ columns = 80, rows = 24 }: Size = {}, style: Partial<Style> = {}) {
  const terminal = terminalOf(columns, rows);
  const clock = manualClock("2026-11-21T00:00:00Z");
  const size = { columns, rows };
  const writes: string[] = [];
  const output = (before: (text: string) => void | Promise<void>): Output => ({
    async write(text) {
      await before(String(text));
      terminal.write(String(text));
    },
    isTTY: true,
    get columns() {
      return size.columns;
    },
    terminal: size as unknown as NodeJS.WriteStream, // its rows are all that is read
    closed: false,
  });
  const live = new TerminalWriter({
    stdout: output((text) => void writes.push(text)),
    // Slow enough for a redraw in between.
    stderr: output(() => clock.sleep(150)),
    sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal),
  } as unknown as Host);
  const { host } = live;

  return {
    clock,
    /** All text written to stdout. */
    written: () => writes.join(""),
    async notices(...texts: string[]) {
      const written = Promise.all(texts.map((text) => host.stderr.write(`${text}\n`)));
      await clock.advance(200 * texts.length);
      await written;
    },
    lines: () => terminal.lines(),
    /** Waits for the next redraw; resolves to the screen without empty rows at its end. */
    async look() {
      await clock.advance(100);
      const rowsShown = await terminal.screen();
      return rowsShown.join("\n").trimEnd().split("\n");
    },
    resize(width: number, height: number) {
      terminal.resize(width, height);
      Object.assign(size, { columns: width, rows: height });
    },

    async run(
      happenings: Iterable<Happening> | AsyncIterable<Happening>,
      returns: Returns<never> = events,
    ) {
      async function* batches() {
        for await (const each of happenings) {
          if (typeof each === "function") await each();
          else yield [each];
        }
      }
      const whole = { ...plain, now: clock.now, terminal: live, ...style };
      await render(returns, batches(), whole, host.stdout);
      return terminal.lines();
    },
  };
}

/** The events of a recorded stream. */
async function* recorded(name: string): AsyncGenerator<ServerEvent> {
  const exchange = exchanges.find((each) => each.name === name);
  if (!exchange) throw new Error(`no recording ${name}`);
  for await (const batch of readEvents(bytesOf(bodyText(exchange)))) yield* batch;
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

const event = (kind: string, data: object, more: object = {}): ServerEvent =>
  serverEvent({ event: kind, workflow_run_id: "run-1", ...more, data });
const began = event("workflow_started", { id: "run-1", reason: "initial" });
const ended = (more: object = {}) =>
  event("workflow_finished", {
    status: "succeeded",
    elapsed_time: 3.25,
    total_tokens: 7,
    total_steps: 2,
    outputs: {},
    ...more,
  });
const node = (id: string, title: string, more: object = {}) => ({
  id,
  node_id: `${id}-node`,
  node_type: "llm",
  title,
  ...more,
});
const starts = (id: string, title: string, more: object = {}) =>
  event("node_started", node(id, title, more));
const ends = (id: string, title: string, more: object = {}) =>
  event("node_finished", node(id, title, { status: "succeeded", elapsed_time: 1.5, ...more }));
const says = (text: string) => event("text_chunk", { text });
const thinks = (reasoning: string) => event("reasoning_chunk", { reasoning });

test.each<[string, readonly string[]]>([
  [
    "streams.json: run, streaming",
    [
      "✓ succeeded     0 ms  Start",
      "✓ succeeded     0 ms  End",
      "",
      "héllo 世界",
      "",
      "✓ succeeded    46 ms  run f0814fd6  2 steps",
    ],
  ],
  [
    "streams.json: run of increment_loop_with_break_condition_workflow",
    [
      "✓ succeeded     0 ms  Start",
      "▸ started             Loop  at most 10 rounds",
      "✓ succeeded     0 ms    Variable Assigner  round 1",
      "✓ succeeded     1 ms    Variable Assigner  round 2",
      "✓ succeeded     4 ms    Variable Assigner  round 3",
      "✓ succeeded     1 ms    Variable Assigner  round 4",
      "✓ succeeded   423 ms  Loop  4 rounds",
      "✓ succeeded     0 ms  End",
      "",
      "5",
      "",
      "✓ succeeded   452 ms  run 24c67668  3 steps",
    ],
  ],
  [
    "streams-more.json: iteration: iteration_flatten_output_enabled_workflow",
    [
      "✓ succeeded     1 ms  Start",
      "✓ succeeded    62 ms  Generate Array",
      "▸ started             Iteration with Flatten Enabled  3 rounds",
      "✓ succeeded    80 ms    Generate Pair  round 1",
      "✓ succeeded    89 ms    Generate Pair  round 2",
      "✓ succeeded    45 ms    Generate Pair  round 3",
      "✓ succeeded   529 ms  Iteration with Flatten Enabled  3 rounds",
      "✓ succeeded     0 ms  End",
      "",
      "- 1",
      "- 2",
      "- 2",
      "- 4",
      "- 3",
      "- 6",
      "",
      "✓ succeeded   638 ms  run dcd4f396  4 steps",
    ],
  ],
  [
    "streams-more.json: node that is retried twice, then fails",
    [
      "✓ succeeded     0 ms  Start",
      "↻ retry       326 ms  Unsteady  retry 1  [Errno 111] Connection refused",
      "↻ retry       304 ms  Unsteady  retry 2  [Errno 111] Connection refused",
      "✗ failed      656 ms  Unsteady  2 retries  [Errno 111] Connection refused",
      "✗ failed      681 ms  run 05e5b499  4 steps  [Errno 111] Connection refused",
    ],
  ],
  [
    "streams-more.json: node that fails with a default value: partial-succeeded",
    [
      "✓ succeeded     0 ms  Start",
      "✗ exception     3 ms  Fetch  [Errno 111] Connection refused (HttpRequestNodeError)",
      "✓ succeeded     0 ms  End",
      "",
      "fallback",
      "",
      "✓ partial-succeeded   57 ms  run b020c494  3 steps",
    ],
  ],
  [
    "streams.json: slow run that is stopped after 2 s",
    [
      "✓ succeeded     0 ms  Start",
      "• unfinished   0.0 s  Fetch",
      "✗ failed       2.3 s  run adfad552  2 steps  Aborted: User requested stop",
    ],
  ],
  [
    "streams.json: run with human input, streaming: ends at the pause",
    [
      "✓ succeeded     0 ms  Start",
      "‖ paused       0.0 s  Review",
      "  Please review: invoice 42",
      '  input    comment (paragraph, default "looks fine")',
      "  action   approve: Approve",
      "  action   reject: Reject",
      "  expires in 67 minutes (01:07 UTC)",
      "  form     pbd0XGPuYgrshMbvy8wxrM",
      "‖ paused       62 ms  run b0855b80  2 steps",
    ],
  ],
])("%s", async (name, expected) => {
  expect(await followed({ columns: 120 }).run(recorded(name))).toEqual(expected);
});

test("running times advance, rounds are counted, and text grows below", async () => {
  const run = followed();
  const looks: string[][] = [];
  const look = async () => void looks.push(await run.look());
  const last = await run.run([
    began,
    starts("a", "Fetch"),
    event("loop_started", node("l", "Loop", { id: "l-node", metadata: { loop_length: 5 } })),
    starts("b", "Inner", { loop_id: "l-node" }),
    look,
    () => run.clock.advance(1000),
    ends("b", "Inner", { loop_id: "l-node", execution_metadata: { loop_index: 0 } }),
    event("loop_next", node("l", "Loop", { id: "l-node", index: 1 })),
    thinks("hm\nwell"),
    says("Hello\n"),
    says("world"),
    look,
    ends("a", "Fetch"),
    event(
      "loop_completed",
      node("l", "Loop", { id: "l-node", status: "succeeded", elapsed_time: 70 }),
    ),
    look,
    ended(),
  ]);
  expect(looks).toEqual([
    [
      "▸ started             Loop  at most 5 rounds",
      "⠙ running      0.1 s  Fetch",
      "⠙ running      0.1 s  Loop  round 1 of at most 5",
      "⠙ running      0.1 s    Inner  round 1",
      "⠙ running      0.1 s  run run-1",
    ],
    [
      "▸ started             Loop  at most 5 rounds",
      "✓ succeeded    1.5 s    Inner  round 1",
      "⠹ running      1.2 s  Fetch",
      "⠹ running      1.2 s  Loop  round 2 of at most 5",
      "",
      "reasoning: hm",
      "well",
      "Hello",
      "world",
      "",
      "⠹ running      1.2 s  run run-1",
    ],
    [
      "▸ started             Loop  at most 5 rounds",
      "✓ succeeded    1.5 s    Inner  round 1",
      "✓ succeeded    1.5 s  Fetch",
      "✓ succeeded   1m 10s  Loop  2 rounds",
      "",
      "reasoning: hm",
      "well",
      "Hello",
      "world",
      "",
      "⠸ running      1.3 s  run run-1",
    ],
  ]);
  expect(last.slice(4)).toEqual([
    "",
    "reasoning: hm",
    "well",
    "Hello",
    "world",
    "",
    "✓ succeeded    3.3 s  run run-1  7 tokens  2 steps",
  ]);
});

test("a paused chatflow continues after its form is submitted", async () => {
  const run = followed();
  const form = { node_id: "a-node", node_title: "Review", form_token: "t", actions: [] };
  let waiting: string[] = [];
  const lines = await run.run([
    began,
    starts("a", "Review"),
    says("Before."),
    event("human_input_required", form),
    event("workflow_paused", { status: "paused", elapsed_time: 0.5, reasons: [] }),
    async () => void (waiting = await run.look()),
    event("human_input_form_filled", { node_title: "Review", action_id: "yes" }),
    event("workflow_started", { id: "run-1", reason: "resumption" }, { conversation_id: "c" }),
    starts("a", "Review"),
    ends("a", "Review"),
    says("Before."),
    ended({ outputs: { answer: "Before. After." } }),
  ]);
  const paused = [
    "‖ paused       0.0 s  Review",
    "  form     t",
    "",
    "Before.",
    "",
    "‖ paused      500 ms  run run-1",
  ];
  expect(waiting).toEqual(paused);
  expect(lines).toEqual([
    ...paused,
    "• submitted           Review  yes",
    "✓ succeeded    1.5 s  Review",
    "",
    "Before.",
    "",
    "  answer: Before. After.",
    "✓ succeeded    3.3 s  run run-1  7 tokens  2 steps",
  ]);
});

test("the text of a workflow that was paused is not repeated", async () => {
  const run = followed();
  const lines = await run.run([
    began,
    event("workflow_paused", { status: "paused", reasons: [] }),
    event("workflow_started", { id: "run-1", reason: "resumption" }),
    says("After."),
    ended({ outputs: { result: "After.", count: 2 } }),
  ]);
  expect(lines.slice(-5)).toEqual([
    "",
    "After.",
    "",
    '  outputs  {"result":"After.","count":2}',
    "✓ succeeded    3.3 s  run run-1  7 tokens  2 steps",
  ]);
});

test("a node of a snapshot has been running since its start", async () => {
  const run = followed();
  const seconds = Date.parse("2026-11-21T00:00:00Z") / 1000;
  let shown: string[] = [];
  await run.run([
    event("workflow_started", { id: "run-1", created_at: seconds - 100 }),
    starts("a", "Fetch", { created_at: seconds - 90 }),
    starts("b", "New", { created_at: seconds - 1 }),
    async () => void (shown = await run.look()),
    ended(),
  ]);
  expect(shown).toEqual([
    "⠙ running     1m 30s  Fetch",
    "⠙ running      0.1 s  New",
    "⠙ running     1m 40s  run run-1",
  ]);
});

test("in a recording, times count from its display", async () => {
  const run = followed();
  let shown: string[] = [];
  const old = { created_at: 1_700_000_000 };
  await run.run(
    [
      event("workflow_started", { id: "run-1", ...old }),
      starts("a", "Fetch", old),
      async () => void (shown = await run.look()),
      ended(),
    ],
    pastEvents,
  );
  expect(shown).toEqual(["⠙ running      0.1 s  Fetch", "⠙ running      0.1 s  run run-1"]);
});

test("live lines never exceed the screen, and all lines are there in the end", async () => {
  const run = followed({ columns: 40, rows: 8 });
  const many = Array.from({ length: 20 }, (_, index) => String(index));
  const text = many.map((index) => `line ${index}\n`);
  const looks: string[][] = [];
  const look = async () => void looks.push(await run.look());
  const lines = await run.run([
    began,
    ...many.map((id) => starts(id, `Node ${id}`)),
    look,
    ...text.map(says),
    look,
    ...many.map((id) => ends(id, `Node ${id}`)),
    ended(),
  ]);
  expect(looks).toEqual([
    [
      ...many.slice(0, 5).map((id) => `⠙ running      0.1 s  Node ${id}`),
      "  15 more nodes are running",
      "⠙ running      0.1 s  run run-1",
    ],
    [
      "⠹ running      0.2 s  Node 0",
      "  19 more nodes are running",
      "",
      "line 18",
      "line 19",
      "",
      "⠹ running      0.2 s  run run-1",
    ],
  ]);
  expect(lines).toEqual([
    ...many.map((id) => `✓ succeeded    1.5 s  Node ${id}`),
    "",
    ...many.map((index) => `line ${index}`),
    "",
    "✓ succeeded    3.3 s  run run-1",
    "    7 tokens  2 steps",
  ]);
});

test("a notice is printed above live lines and below final ones", async () => {
  const run = followed();
  let shown: string[] = [];
  await run.run([
    began,
    starts("a", "Start"),
    starts("b", "Fetch"),
    () => run.look(),
    ends("a", "Start"),
    () => run.notices("the line was cut; reconnecting"),
    async () => void (shown = await run.look()),
    () => run.notices("one", "two"),
  ]);
  expect(shown).toEqual([
    "✓ succeeded    1.5 s  Start",
    "the line was cut; reconnecting",
    "⠼ running      0.4 s  Fetch",
    "⠼ running      0.4 s  run run-1",
  ]);
  expect(await run.lines()).toEqual([
    "✓ succeeded    1.5 s  Start",
    "the line was cut; reconnecting",
    "one",
    "two",
    "• running      0.8 s  Fetch",
  ]);
});

test("when the connection is lost, final lines stay and nothing else", async () => {
  const run = followed();
  const cut = run.run([
    began,
    starts("a", "Fetch"),
    says("half a sen"),
    () => run.look(),
    () => {
      throw new Error("cut");
    },
  ]);
  await expect(cut).rejects.toThrow("cut");
  expect(await run.lines()).toEqual(["• running      0.1 s  Fetch", "", "half a sen", ""]);
});

const long = (name: string) => `${name} node with a title that fills its line to the end of it`;
const resized = [
  `✓ succeeded    1.5 s  ${long("A")}`,
  `✓ succeeded    1.5 s  ${long("Another")}`,
  "",
  "one two three four five six seven eight nine ten eleven twelve",
  "世界世界世界世界世界世界",
  "",
  "✓ succeeded    3.3 s  run run-1  7 tokens  2 steps",
];

/** Lines without their breaks, whose next lines are indented, and with single blanks. */
const unwrapped = (lines: readonly string[]) =>
  lines
    .join("\n")
    .replaceAll(/ *\n {4,}/g, " ")
    .replaceAll(/ {2,}/g, " ")
    .split("\n");

async function resizedTo(run: ReturnType<typeof followed>, columns: number, rows: number) {
  return run.run([
    began,
    starts("a", long("A")),
    ends("a", long("A")),
    starts("b", long("Another")),
    ...resized.slice(3, 5).map((line) => says(`${line}\n`)),
    () => run.look(),
    () => run.resize(columns, rows),
    async () => {
      const shown = await run.look();
      expect(Math.max(...shown.map((line) => widthOf(line)))).toBeLessThanOrEqual(columns);
      expect(shown.filter((line) => /running +\d/.test(line))).toHaveLength(2);
    },
    ends("b", long("Another")),
    ended(),
  ]);
}

test.each([
  [80, 24, 30, 24],
  [40, 24, 25, 15],
  [30, 8, 100, 30],
])("resized from %dx%d to %dx%d", async (columns, rows, width, height) => {
  const lines = await resizedTo(followed({ columns, rows }), width, height);
  expect(unwrapped(lines)).toEqual(unwrapped(resized));
});

test("a screen that becomes too small loses no line", async () => {
  const lines = await resizedTo(followed({ columns: 40, rows: 10 }), 25, 6);
  expect(lines.slice(-6)).toEqual([
    ...resized.slice(3, -1),
    "✓ succeeded    3.3 s",
    "    run run-1  7 tokens",
    "    2 steps",
  ]);
  expect(unwrapped(lines)[0]).toBe(unwrapped(resized)[0]);
});

const recordings = exchanges.filter((each) => bodyText(each).includes('"workflow_started"'));
const timeless = (lines: readonly string[]) =>
  lines.map((line) => line.replace(/ +\d+(\.\d)? s /, " 1s "));

test.each(sampled(6, recordings))(
  "$name: the number of redraws does not change the result",
  async ({ name }) => {
    const quiet = await followed({ columns: 34 }).run(recorded(name));
    const small = followed({ columns: 34, rows: 7 });
    async function* watched() {
      for await (const each of recorded(name)) {
        yield each;
        yield () => small.look();
      }
    }
    expect(timeless(await small.run(watched()))).toEqual(timeless(quiet));
  },
);

test("names and texts from a server are made safe, and wide characters keep their width", async () => {
  const run = followed({ columns: 40 });
  let shown: string[] = [];
  const lines = await run.run([
    began,
    starts("a", "\u001b[2J\u001b[31m日本語".repeat(4)),
    says("\u001b[1Aup\r\u202e\n" + "👍世".repeat(12)),
    async () => void (shown = await run.look()),
    ended({ error: "\u0007\nbell" }),
  ]);
  expect(shown).toEqual([
    "⠙ running      0.1 s  ␛[2J␛[31m日本語␛…",
    "",
    "␛[1Aup␍<U+202E>",
    `${"👍世".repeat(9)}👍`,
    `世${"👍世".repeat(2)}`,
    "",
    "⠙ running      0.1 s  run run-1",
  ]);
  expect(lines.slice(-2)).toEqual([
    "✓ succeeded    3.3 s  run run-1",
    "    7 tokens  2 steps  ␇⏎bell",
  ]);
  expect(
    stripVTControlCharacters(run.written()).replaceAll("\n", "").replaceAll("\r", ""),
  ).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
});

test("characters of ambiguous width leave no remains", async () => {
  const run = followed({ columns: 40, rows: 10 });
  const happenings = Array.from({ length: 6 }, () => [says("👨‍👩‍👧".repeat(15)), () => run.look()]);
  const lines = await run.run([began, starts("a", "👨‍👩‍👧".repeat(9)), ...happenings.flat(), ended()]);
  expect(lines).toEqual([
    `• unfinished   0.6 s  ${"👨‍👩‍👧".repeat(9)}`,
    "",
    "👨‍👩‍👧".repeat(90),
    "",
    "✓ succeeded    3.3 s  run run-1",
    "    7 tokens  2 steps",
  ]);
});

test("only changed lines are rewritten", async () => {
  const run = followed();
  let before = 0;
  let drawn = "";
  await run.run([
    began,
    starts("a", "Fetch"),
    says("text that stays as it is"),
    () => run.look(),
    () => void (before = run.written().length),
    () => run.look(),
    () => void (drawn = run.written().slice(before)),
    ended(),
  ]);
  expect(drawn).toBe(
    "\u001b[5A\u001b[?7l⠹ running      0.2 s  Fetch\u001b[K\n\n\n\n⠹ running      0.2 s  run run-1\u001b[K\n\u001b[?7h",
  );
});

test("ASCII only", async () => {
  const run = followed({}, { unicode: false });
  let shown: string[] = [];
  const lines = await run.run([
    began,
    starts("a", "Fetch"),
    async () => void (shown = await run.look()),
    ends("a", "Fetch", { status: "failed", error: "no" }),
    ended({ status: "stopped" }),
  ]);
  expect(shown).toEqual(["/ running      0.1 s  Fetch", "/ running      0.1 s  run run-1"]);
  expect(lines).toEqual([
    "x failed       1.5 s  Fetch  no",
    "# stopped      3.3 s  run run-1  7 tokens  2 steps",
  ]);
});

test("color adds only color", async () => {
  const story = [
    began,
    starts("a", "Fetch"),
    thinks("hm"),
    says("Hello"),
    ends("a", "Fetch", { status: "failed", error: "no" }),
    ended(),
  ];
  const [colored, grey] = [followed({}, { color: true }), followed()];
  expect(await colored.run(story)).toEqual(await grey.run(story));
  expect(colored.written()).toContain("\u001b[31m✗ failed    \u001b[39m");
  expect(colored.written()).toContain("\u001b[2mreasoning: hm\u001b[22m\n");
  expect(stripVTControlCharacters(colored.written())).toBe(
    stripVTControlCharacters(grey.written()),
  );
});

const lineByLine = ["00:00:00  workflow_started", "00:00:00  node_started       Start"];

test("filtered kinds and a partial stream are printed line by line", async () => {
  const two = [event("workflow_started", {}), starts("a", "Start")];
  expect(await followed().run(two, someEvents)).toEqual(lineByLine);
  expect(await followed().run(two.slice(1))).toEqual(lineByLine.slice(1));
});
