/** Runs of applications with models, against the sandbox: marks in the inputs steer its model. */
import { beforeAll, describe, expect, test } from "vitest";
import { testSandbox, type TestSandbox } from "../../lib/sandbox.ts";

let server: TestSandbox;
beforeAll(async () => {
  server = await testSandbox({ models: true });
  await server.done(["kb", "create", "Handbook", "--indexing-technique", "high_quality"]);
  const text = "Everybody has 31 days of paid leave. Leave is asked for two weeks ahead.";
  await server.done(["kb", "doc", "add", "Handbook", "leave.md", "--text", text]);
  await server.done(["kb", "doc", "wait", "Handbook"]);
  await server.done(["kb", "doc", "wait", "Handbook"]);
});

const run = (app: string, input: string, ...more: readonly string[]) =>
  server.cli(["wf", "run", "--app", app, "--input", input, ...more]);

/** The words of live lines without times and durations. */
const lines = (out: string) =>
  out.split("\n").map((line) =>
    line
      .replace(/^\S+Z +/, "")
      .replace(/\b[\d.]+ m?s\b/, "…")
      .replace(/\s+/g, " ")
      .trim(),
  );

describe("a model that fails in the middle of its text and is asked again", () => {
  test("only the text of the last try is printed", async () => {
    const { exit, out, err } = await run("write", "query=[[flaky:2-a]] [[words:5]]", "--text");
    expect(out).toBe("word1 word2 word3 word4 word5\n");
    expect(err).toContain("partial-succeeded: 2 failed attempts were retried");
    expect(exit).toBe(0);
  });

  test("the live lines show each try", async () => {
    const { exit, out } = await run("write", "query=[[flaky:1-b]] [[words:5]]");
    expect(lines(out).slice(3, 8)).toEqual([
      "node_started Write",
      "word1 word2 word3",
      "node_retry Write retry 1 … Rate limit reached for stub-chat: 3 requests per minute",
      "word1 word2 word3 word4 word5",
      "node_finished Write succeeded …",
    ]);
    expect(exit).toBe(0);
  });

  test("an expectation judges the outputs", async () => {
    const matches = "text matches /^word1 word2 word3 word4/";
    const judged = await run("write", "query=[[flaky:1-c]] [[words:5]]", "--expect", matches);
    expect(judged.exit).toBe(0);
  });
});

describe("a model that fails", () => {
  const rate = "Rate limit reached for stub-chat: 3 requests per minute";

  test.each([[[]], [["--blocking"]], [["-o", "json"]], [["-o", "jsonl"]], [["--text"]]])(
    "ends with 9: %j",
    async (more) => {
      const { exit, err } = await run("write", "query=[[error:rate]]", ...more);
      expect(err).toContain(rate);
      expect(exit).toBe(9);
    },
  );

  test("does so after some of its text", async () => {
    const { exit, out, err } = await run("write", "query=[[error:mid-bad]] [[words:8]]", "--text");
    expect(out).not.toContain("word4");
    expect(err).toContain("failed at node Write: This model's maximum context length");
    expect(exit).toBe(9);
  });

  test("is told apart from a wrong key by its text only", async () => {
    const { exit, err } = await run("write", "query=[[error:auth]]");
    expect(err).toContain(
      "[Stub] Incorrect model credentials provided, please check and try again.",
    );
    expect(exit).toBe(9);
  });

  test("leaves a chat with the same exit code, streaming", async () => {
    const { exit, err } = await server.cli([
      "wf",
      "chat",
      "send",
      "--app",
      "ask",
      "[[error:rate]]",
    ]);
    expect(err).toContain(`failed at node Answer: ${rate}`);
    expect(exit).toBe(9);
  });
});

test("reasoning is part of the text", async () => {
  const { out } = await run("write", "query=[[think]] [[say:Yes.]]", "--text");
  expect(out).toBe("<think>\nFirst I look at the question.\nThen I decide.\n</think>\n\nYes.\n");
});

test("tokens are counted in the run, its log and the statistics", async () => {
  const alone = await testSandbox({ models: true });
  const argv = ["--app", "write"];
  // 22 characters of instructions and 11 of the input, 47 of the reply: four are a token.
  await alone.done(["wf", "run", ...argv, "--input", "query=[[words:8]]"]);
  const logs = await alone.done(["wf", "logs", ...argv, "-o", "json"]);
  const [row] = JSON.parse(logs.out) as { workflow_run: { id: string; total_tokens: number } }[];
  expect(row?.workflow_run.total_tokens).toBe(9 + 12);
  const shown = await alone.done([
    "wf",
    "show",
    ...argv,
    row?.workflow_run.id ?? "",
    "--jq",
    ".total_tokens",
  ]);
  expect(shown.out).toBe("21\n");
  const stats = await alone.done(["wf", "stats", ...argv]);
  expect(stats.out).toMatch(/^tokens\t21\t/m);
});

describe("branches", () => {
  test("a complaint is answered without a search", async () => {
    const { out } = await run("triage", "query=A complaint [[say:Sorry]]");
    expect(lines(out).filter((line) => line.startsWith("node_started"))).toEqual(
      ["Start", "Kind", "Apologize", "End"].map((title) => `node_started ${title}`),
    );
  });

  test("a question is answered from the knowledge base", async () => {
    const asked = "query=A question: how many days of paid leave?";
    const { out } = await run("triage", asked, "--only-output", "reply");
    expect(out).toBe("Everybody has 31 days of paid leave.\n");
  });
});

test("failed rounds of an iteration have no place in its output", async () => {
  const text = "text=[[say:one]]\n[[error:rate]]\n[[say:three]]";
  const { exit, out } = await run("summarize", text, "--only-output", "sentences");
  expect(JSON.parse(out)).toEqual(["one", "three"]);
  expect(exit).toBe(0);
});

test("an answer of a chat names its sources", async () => {
  const question = "How many days of paid leave?";
  const { out, err } = await server.done(["wf", "chat", "send", "--app", "ask", question]);
  expect(out).toBe("Everybody has 31 days of paid leave.\n");
  expect(err).toMatch(/^source 1 {2}leave\.md {2}\(Handbook\) {2}0\.\d+$/m);
});

test("a chat sends its earlier messages along", async () => {
  const first = await server.done([
    "wf",
    "chat",
    "send",
    "--app",
    "ask",
    "[[say:Noted.]] My name is Ann",
    "-o",
    "json",
  ]);
  const { conversation_id } = JSON.parse(first.out) as { conversation_id: string };
  const next = ["--conversation-id", conversation_id, "-o", "jsonl"];
  const { out } = await server.done(["wf", "chat", "send", "--app", "ask", "And now?", ...next]);
  const prompts = out
    .split("\n")
    .filter((line) => line.includes('"prompts"'))
    .flatMap((line) => (JSON.parse(line) as Finished).data.process_data.prompts);
  expect(prompts.map(({ role, text }) => `${role}: ${text}`).slice(1)).toEqual([
    "user: [[say:Noted.]] My name is Ann",
    "assistant: Noted.",
    "user: And now?",
  ]);
});

interface Finished {
  readonly data: {
    readonly process_data: { readonly prompts: readonly { role: string; text: string }[] };
  };
}

test("a run that is stopped while a model speaks is known as stopped, whatever its record says", async () => {
  const started = await run("write", "query=[[words:400]] [[slow:500]]", "--detach", "-o", "json");
  const { workflow_run_id: id } = JSON.parse(started.out) as { workflow_run_id: string };
  const stopped = await server.done(["wf", "stop", id, "--app", "write"]);
  expect(stopped.out).toBe("result\tstopped\nverified\ttrue\nstatus\tstopped\n");
  expect(stopped.err).toContain("its record still shows running");
  const waited = await server.cli(["wf", "wait", id, "--app", "write"]);
  expect(waited.exit).toBe(9);
});

test("without models the application cannot be run", async () => {
  const stock = await testSandbox();
  const ran = await stock.cli(["wf", "run", "--app", "write", "--input", "query=Hello"]);
  expect(ran.err).toContain("Model is not configured (400 invalid_param)");
  expect(ran.exit).toBe(5);
});

test("neither with a model that was disabled", async () => {
  const other = await testSandbox({ models: true });
  other.sandbox.models.disabled.add("stub-chat");
  const ran = await other.cli(["wf", "run", "--app", "write", "--input", "query=Hello"]);
  expect(ran.err).toContain("Model is disabled (400 invalid_param)");
  expect(ran.exit).toBe(5);
});
