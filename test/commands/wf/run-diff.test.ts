import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runs } from "../../lib/following.ts";
import { endsOf, playedRun, recordedRun } from "../../lib/played-run.ts";
import { recordedFile } from "../../lib/recorded-file.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const home = await temporaryDirectory();
const diff = (argv: readonly string[], world?: World) => cli(["wf", "diff", ...argv], world);
let number = 0;
const fileOf = (title: string, change?: (raw: string) => string) =>
  recordedFile(join(home, `${++number}.jsonl`), title, { ...(change && { change }) });
const rowsOf = (out: string) => out.trimEnd().replaceAll("\t", " | ").split("\n");

/** Events of a run by hand: `[at, kind, data]`. */
type Line = readonly [at: number, event: string, data: object];
async function written(lines: readonly Line[]): Promise<string> {
  const path = join(home, `${++number}.jsonl`);
  const text = lines.map(([at, event, data]) =>
    JSON.stringify({ at, event: { event, workflow_run_id: "r", data } }),
  );
  await writeFile(path, `{"recording":1}\n${text.join("\n")}\n`);
  return path;
}
const node = (title: string, from: number, to: number, more: object = {}): readonly Line[] => {
  const shared = { id: title, node_id: title.toLowerCase(), title, inputs_truncated: false };
  return [
    [from, "node_started", shared],
    [
      to,
      "node_finished",
      { ...shared, status: "succeeded", elapsed_time: (to - from) / 1000, ...more },
    ],
  ];
};
/** Events of nodes in the order of their times, and the end of the run. */
const runOf = (nodes: readonly (readonly Line[])[], end: object = {}): readonly Line[] => {
  const lines = nodes.flat().toSorted(([a], [b]) => a - b);
  const at = lines.at(-1)?.[0] ?? 0;
  const finished = { id: "r", status: "succeeded", outputs: {}, elapsed_time: at / 1000, ...end };
  return [[0, "workflow_started", { id: "r" }], ...lines, [at, "workflow_finished", finished]];
};

test.each(runs)("%s does not differ from itself", async (title) => {
  const path = await fileOf(title);
  const ran = await diff([path, path, "--exit-code", "-o", "json"]);
  expect(ran.exit, ran.err).toBe(0);
  expect(JSON.parse(ran.out)).toMatchObject({ same: true, differences: [], outputs: [] });
});

test("reports the differences of two recorded runs", async () => {
  const a = await fileOf("node that fails with a default value: partial-succeeded");
  const b = await fileOf("node that is retried twice, then fails");
  const ran = await diff([a, b, "--exit-code"]);
  expect(ran.exit).toBe(14);
  expect(ran.err).toContain("error: the runs differ in status, path, outputs");
  expect(rowsOf(ran.out)).toEqual([
    " | a | b | change",
    "run | b020c494-84b4-44ac-9257-0b3742c9ac3d | 05e5b499-6fcf-48ec-86ed-3f5cc150a195 | ",
    "status | partial-succeeded | failed | ",
    "time | 57 ms | 681 ms | ×12",
    "tokens | 0 | 0 | ",
    "nodes | 3 | 2 | ",
    "error |  | [Errno 111] Connection refused | ",
    "# The runs differ in status, path, outputs.",
    "",
    "# Nodes",
    "node | a | b | a took | b took | change",
    "Start | succeeded | succeeded | 0 ms | 0 ms | ",
    "Fetch | exception | failed (2 retries) | 3 ms | 656 ms | ×232",
    "End | succeeded | did not run | 0 ms |  | ",
    "",
    "# Outputs that differ",
    "path | a | b",
    "result | fallback",
  ]);
});

test("a loop is one row with all its rounds", async () => {
  const rounds = (count: number) =>
    runOf(
      Array.from({ length: count }, (_, round) =>
        node("Step", round * 10, round * 10 + 10, {}).map(([at, event, data]): Line => [
          at,
          event,
          { ...data, id: String(round) },
        ]),
      ),
    );
  const ran = await diff([await written(rounds(4)), await written(rounds(5)), "-o", "json"]);
  expect(ran.exit).toBe(0);
  expect(JSON.parse(ran.out)).toMatchObject({
    differences: ["path"],
    nodes: [
      {
        node: "Step",
        node_id: "step",
        a: { runs: 4, state: "succeeded", took_ms: 40 },
        b: { runs: 5, state: "succeeded", took_ms: 50 },
        change: 0.25,
      },
    ],
  });
});

test("nodes match by title if the runs share no node IDs", async () => {
  const one = await written(runOf([node("A", 0, 10), node("B", 10, 20)]));
  const text = (await readFile(one, "utf8")).replace(/"node_id":"(\w)"/g, '"node_id":"$1$1"');
  const other = join(home, "copy.jsonl");
  await writeFile(other, text);
  expect((await diff([one, other, "--exit-code"])).exit).toBe(0);
});

describe("outputs", () => {
  const withOutputs = (outputs: unknown) => written(runOf([node("A", 0, 10)], { outputs }));
  test("are compared field by field", async () => {
    const a = await withOutputs({ n: 1, list: [1, { x: "a" }], gone: null, same: { k: [] } });
    const b = await withOutputs({ same: { k: [] }, n: "1", list: [1, { x: "b" }, 3] });
    const ran = await diff([a, b, "-o", "json"]);
    expect((JSON.parse(ran.out) as { outputs: unknown }).outputs).toEqual([
      { path: "n", a: 1, b: "1" },
      { path: "list.1.x", a: "a", b: "b" },
      { path: "list.2", b: 3 },
      { path: "gone", a: null },
    ]);
  });

  test("show long texts from their first difference", async () => {
    const [a, b] = ["x", "y"].map((end) => ({ answer: `${"word ".repeat(100)}${end} and more` }));
    const ran = await diff([await withOutputs(a), await withOutputs(b)]);
    expect(rowsOf(ran.out).at(-1)).toBe(
      "answer | …word word word word x and more | …word word word word y and more",
    );
  });

  test("compare streamed text if they are equal", async () => {
    const said = (text: string) =>
      written([[0, "text_chunk", { text }], ...runOf([node("A", 0, 10)])]);
    const ran = await diff([await said("yes"), await said("no"), "--exit-code", "-o", "json"]);
    expect(ran.exit).toBe(14);
    expect(JSON.parse(ran.out)).toMatchObject({
      differences: ["text"],
      text: { a: "yes", b: "no" },
    });
  });
});

test("compares what is known of an ended run", async () => {
  const title = "run, streaming";
  const run = recordedRun(title);
  const size = endsOf(run).at(-1) ?? 0;
  const server = await playedRun(run, [{ at: size, how: "end", lost: 0, failures: [] }]);
  const env = { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-x" };
  const id = String(run[0]?.data["workflow_run_id"]);
  await cli(["wf", "events", id], { env });
  const ran = await diff([await fileOf(title), id, "--exit-code"], { env });
  expect(ran.exit, ran.err).toBe(14); // An incomplete comparison must not pass as equal.
  expect(ran.err).toContain("the runs cannot be compared completely: path unknown");
  expect(ran.out).toContain("# No difference in status and outputs.\n");
  expect(ran.out).toContain(`# The nodes of ${id} are unknown: the run had already ended.\n`);
  expect(ran.out).not.toContain("# Nodes");
});

describe("outputs and text of redacted recordings are not compared", () => {
  const said = (text: string) =>
    written([[0, "text_chunk", { text }], ...runOf([node("A", 0, 10)], { outputs: { x: text } })]);
  const redacted = async (text: string) => {
    const path = await said(`<${text.length} characters>`);
    const plain = await readFile(path, "utf8");
    await writeFile(path, plain.replace('{"recording":1}', '{"recording":1,"redacted":true}'));
    return path;
  };
  const note = (path: string) =>
    `# The texts of ${path} are redacted, so outputs cannot be compared.`;

  test("if both are redacted", async () => {
    const [a, b] = [await redacted("abcdef"), await redacted("ghijkl")];
    const ran = await diff([a, b, "--exit-code"]);
    expect(ran.exit, ran.err).toBe(0);
    expect(rowsOf(ran.out)).toEqual(
      expect.arrayContaining(["# No difference in status and path.", note(a), note(b)]),
    );
    const data = JSON.parse((await diff([a, b, "-o", "json"])).out) as object;
    expect(data).toMatchObject({ differences: [], outputs: null, text: null });
  });

  test("if one is redacted", async () => {
    const [a, b] = [await said("abcdef"), await redacted("abcdef")];
    const ran = await diff([a, b, "--exit-code"]);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.out).toContain(note(b));
    expect(ran.out).not.toContain(note(a));
  });
});

test("reports missing events of damaged recordings", async () => {
  const whole = await fileOf("run, streaming");
  const damaged = await fileOf("run, streaming", (raw) =>
    raw.includes('"workflow_finished"') ? raw.slice(0, -20) : raw,
  );
  await writeFile(
    damaged,
    `${await readFile(damaged, "utf8")}{"end":{"exit":0,"why":"succeeded"}}\n`,
  );
  const ran = await diff([whole, damaged, "--exit-code"]);
  expect(ran.exit, ran.err).toBe(14);
  expect(ran.err).toContain("the runs cannot be compared completely: outputs unknown");
  expect(rowsOf(ran.out)).toEqual(
    expect.arrayContaining([
      "# No difference in status and path.",
      `# Events of ${damaged} are missing; nodes and loop rounds may be missing too.`,
      `# The outputs of ${damaged} are unknown.`,
    ]),
  );
});

test("reads one of the two runs from stdin", async () => {
  const path = await fileOf("run, streaming");
  const stdin = await readFile(path, "utf8");
  expect((await diff([path, "-", "--exit-code"], { stdin })).exit).toBe(0);
  expect((await diff(["-", "-"], { stdin })).exit).toBe(2);
});

describe("replies of a chat without nodes", () => {
  const of = { task_id: "t", message_id: "m", conversation_id: "c", created_at: 1 };
  async function reply(words: readonly string[], ...more: readonly object[]) {
    const path = join(home, `${++number}.jsonl`);
    const events = [
      ...words.map((answer) => ({ event: "message", ...of, answer })),
      ...more,
      { event: "message_end", ...of, metadata: { usage: { total_tokens: 3 } } },
    ];
    const text = events.map((event, at) => JSON.stringify({ at, event }));
    await writeFile(
      path,
      `{"recording":1}\n${text.join("\n")}\n{"end":{"exit":0,"why":"succeeded"}}\n`,
    );
    return path;
  }

  test("are equal if their texts are", async () => {
    const [a, b] = [await reply(["good ", "answer"]), await reply(["good", " answer"])];
    const ran = await diff([a, b, "--exit-code"]);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.out).toContain("# No difference in status and text.\n");
    expect(ran.out).not.toContain("Nodes");
    expect(ran.out).not.toContain("unknown");
  });

  test("differ if their texts do", async () => {
    const [a, b] = [await reply(["good answer"]), await reply(["bad answer"])];
    const ran = await diff([a, b, "--exit-code"]);
    expect(ran.exit).toBe(14);
    expect(ran.err).toContain("error: the runs differ in text");
    expect(rowsOf(ran.out).slice(-3)).toEqual([
      "# Text, from where it differs",
      "a | b",
      "good answer | bad answer",
    ]);
  });

  test("cannot be compared if events are missing, or with a workflow", async () => {
    const [a, b] = [await reply(["good"]), await reply(["good"])];
    await writeFile(b, (await readFile(b, "utf8")).replace(/^(.*\n.*\n)/, "$1{damaged\n"));
    const ran = await diff([a, b, "--exit-code"]);
    expect(ran.exit).toBe(14);
    expect(ran.err).toContain("the runs cannot be compared completely: text unknown");
    expect(ran.err).not.toContain("hint:");
    expect(ran.out).toContain(`# Events of ${b} are missing, so its text is unknown.\n`);
    const mixed = await diff([a, await written(runOf([node("A", 0, 1)])), "--exit-code"]);
    expect(mixed.err).toContain("the runs differ in text");
    expect(mixed.out).toContain(
      `# ${a} is the reply of a chat, which has no nodes and no outputs.\n`,
    );
  });
});
