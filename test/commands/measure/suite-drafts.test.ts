/** `wf test init` from every source against the sandbox; what it writes is run. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { write } from "../../lib/directory.ts";
import { root } from "../../lib/paths.ts";
import { json, runServer } from "../../lib/run-server.ts";
import { rareTest } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";

const sandbox = await testSandbox();
const folder = await temporaryDirectory();
const file = (name: string) => join(folder, name);

const wf = (app: string, ...args: readonly string[]) =>
  sandbox.cli(["wf", "--app", app, ...args], { folder });
const done = (app: string, ...args: readonly string[]) =>
  sandbox.done(["wf", "--app", app, ...args], { folder });
const init = (app: string, ...args: readonly string[]) =>
  wf(app, "test", "init", "--from", ...args);

/** Runs a suite, each of whose tests must pass. Returns their names. */
async function passing(app: string, suite: string): Promise<readonly unknown[]> {
  const ran = await done(app, "test", "run", suite, "-o", "json");
  const { tests } = JSON.parse(ran.out) as { tests: readonly { test: string; status: string }[] };
  expect(tests.map(({ status }) => status)).toEqual(tests.map(() => "passed"));
  return tests.map(({ test: name }) => name);
}

const reply = (query: string) => `You said: ${query}. This is a fixed answer.`;

test("annotations become tests, the same question once with all of its answers", async () => {
  const annotate = (question: string, answer: string) =>
    done("chat", "annotation", "create", "--question", question, "--answer", answer);
  await annotate("Where is the office?", "Main street 1.");
  await annotate("hello", reply("hello"));
  await annotate("  Hello\n", "Hi!");
  const { out, err, exit } = await init("chat", "annotations");
  expect(exit, err).toBe(0);
  expect(out).toBe(
    [
      '# Tests made from annotations of the application "chat".',
      "# The expected answers are drafts: read them before you rely on them.",
      "",
      "app: chat",
      "tests:",
      "  - name: Hello",
      "    query: Hello",
      "    answer:",
      "      - Hi!",
      `      - "${reply("hello")}"`,
      "    compare: similar",
      "",
      "  - name: Where is the office?",
      "    query: Where is the office?",
      "    answer: Main street 1.",
      "    compare: similar",
      "",
    ].join("\n"),
  );
  expect(err).toBe('2 tests from annotations of the application "chat"; 1 duplicate dropped\n');
  const one = await init("chat", "annotations", "--keyword", "office", "--out", file("one.yaml"));
  expect(one.out).toContain(file("one.yaml"));
  const text = await readFile(file("one.yaml"), "utf8");
  expect((parse(text) as { tests: unknown[] }).tests).toHaveLength(1);
});

test("liked messages become tests, after the messages before them", async () => {
  const say = async (query: string, user: string, conversation?: string) => {
    const more = conversation === undefined ? [] : ["--conversation-id", conversation];
    const args = ["chat", "send", query, "--user", user, "--blocking", "-o", "json", ...more];
    const { out } = await done("chat", ...args);
    return JSON.parse(out) as { message_id: string; conversation_id: string };
  };
  const rate = (message: string, user: string, rating: string) =>
    done("chat", "message", "feedback", message, "--rating", rating, "--user", user);
  const first = await say("How many days?", "ann");
  const second = await say("And for parents?", "ann", first.conversation_id);
  const third = await say("Thanks", "ann", first.conversation_id);
  await rate(second.message_id, "ann", "like");
  await rate(third.message_id, "ann", "dislike");
  const other = await say("Where?", "bob");
  await rate(other.message_id, "bob", "like");
  const disputed = await say("When?", "bob");
  await rate(disputed.message_id, "bob", "like");
  await rate(disputed.message_id, "carl", "dislike");
  const { exit, err } = await init("chat", "feedback", "--out", file("liked.yaml"));
  expect(exit, err).toBe(0);
  expect(err).toContain("2 tests from liked messages of");
  expect(err).toContain("; 1 skipped: with a dislike, too\n");
  expect(parse(await readFile(file("liked.yaml"), "utf8"))).toEqual({
    app: "chat",
    tests: [
      { name: "Where?", query: "Where?", answer: reply("Where?"), compare: "similar" },
      {
        name: "And for parents?",
        turns: [
          { query: "How many days?" },
          { query: "And for parents?", answer: reply("And for parents?"), compare: "similar" },
        ],
      },
    ],
  });
  expect(await passing("chat", file("liked.yaml"))).toEqual(["Where?", "And for parents?"]);
});

test("the first message of each conversation becomes a test, and the others are counted", async () => {
  const say = async (query: string, user: string, conversation?: string) => {
    const more = conversation === undefined ? [] : ["--conversation-id", conversation];
    const args = ["chat", "send", query, "--user", user, "--blocking", "-o", "json", ...more];
    return JSON.parse((await done("chat", ...args)).out) as Record<string, string>;
  };
  const first = await say("Where is it?", "cleo");
  await say("And on Sundays?", "cleo", first["conversation_id"]);
  await say("Really?", "cleo", first["conversation_id"]);
  const wrong = await say("Who are you?", "cleo");
  const rating = ["--rating", "dislike", "--user", "cleo"];
  await done("chat", "message", "feedback", wrong["message_id"] ?? "", ...rating);
  await say("Of another user", "dora");
  const { out, err, exit } = await init("chat", "conversations", "--user", "cleo");
  expect([exit, err]).toEqual([
    0,
    '1 test from conversations of "cleo", end user of the application "chat"; 1 skipped: with a dislike; 2 skipped: that continue a conversation\n',
  ]);
  expect(out).toBe(
    [
      '# Tests made from conversations of "cleo", end user of the application "chat".',
      "# The expected answers are drafts: read them before you rely on them.",
      "",
      "app: chat",
      "tests:",
      "  - name: Where is it?",
      "    query: Where is it?",
      `    answer: "${reply("Where is it?")}"`,
      "    compare: similar",
      "",
    ].join("\n"),
  );
  const suite = file("asked.yaml");
  await done("chat", "test", "init", "--from", "conversations", "--user", "cleo", "--out", suite);
  expect(await passing("chat", suite)).toEqual(["Where is it?"]);
});

test("an end user without conversations is an error, and so is a workflow", async () => {
  const none = await init("chat", "conversations", "--user", "nobody");
  expect([none.exit, none.err]).toEqual([
    3,
    'error: no tests to create: 0 tests from conversations of "nobody", end user of the application "chat"\n',
  ]);
  expect((await init("echo", "conversations")).exit).toBe(6);
});

test("fields of messages that are missing make no test, or one without them", async () => {
  const message = { query: "Where?", answer: "Here", inputs: null, created_at: 2 };
  const list = (data: readonly object[]) => json({ data, has_more: false, limit: 20 });
  const idOf = (number: number) => `0000000${number}-0000-4000-8000-000000000000`;
  const conversations = [
    [{ ...message, id: idOf(0) }],
    [
      { ...message, id: idOf(9), query: null, created_at: 1 },
      { ...message, id: idOf(1) },
    ],
    [{ ...message, id: idOf(2), query: 5 }],
  ];
  const server = await runServer({
    "GET /v1/info": json({ name: "A", mode: "chat" }),
    "GET /v1/app/feedbacks": list(
      [0, 1, 2].map((n) => ({
        id: idOf(n),
        message_id: idOf(n),
        conversation_id: idOf(n),
        rating: "like",
      })),
    ),
    "GET /v1/messages": (socket, _, request) => {
      const [, id = ""] = /conversation_id=0{7}(\d)/.exec(request) ?? [];
      list(conversations[Number(id)] ?? [])(socket, 0, request);
    },
  });
  const line = ["wf", "test", "init", "--from", "feedback"];
  const { out, err } = await cli(line, {
    env: { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-a" },
    folder,
  });
  expect(err).toContain("1 skipped: after a message without a question; 1 skipped: without a");
  expect((parse(out) as { tests: unknown[] }).tests).toEqual([
    { name: "Where?", query: "Where?", answer: "Here", compare: "similar" },
  ]);
});

test("succeeded runs become tests of what is likely to be the same again", async () => {
  const run = (app: string, query: string) =>
    done(app, "run", "--inputs", JSON.stringify({ query }));
  const long = `A long text.\n${"word ".repeat(30)}`;
  for (const query of ["hello", " Hello", "#: - [x]", "2026-11-22", long, "@report.pdf"])
    await run("echo", query);
  const { exit, err } = await init("echo", "logs", "--out", file("runs.yaml"));
  expect(exit, err).toBe(0);
  expect(err).toContain("4 tests from runs of the application");
  expect(err).toContain("1 duplicate dropped; 1 skipped: with an input that starts with @");
  const { tests } = parse(await readFile(file("runs.yaml"), "utf8")) as { tests: unknown[] };
  // Runs of the same second have no order.
  const expected: unknown[] = [
    {
      name: expect.stringMatching(/^A long text\. word .*…$/) as unknown,
      inputs: { query: long },
      answer: long,
      compare: "similar",
    },
    {
      name: "2026-11-22",
      inputs: { query: "2026-11-22" },
      answer: "2026-11-22",
      compare: "similar",
    },
    {
      name: "#: - [x]",
      inputs: { query: "#: - [x]" },
      expect: ['output "query" is "#: - [x]"'],
    },
    // The two runs differ in their only output.
    {
      name: expect.stringMatching(/^hello$/i) as unknown,
      inputs: { query: expect.stringMatching(/^ ?hello$/i) as unknown },
    },
  ];
  expect(tests).toHaveLength(expected.length);
  expect(tests).toEqual(expect.arrayContaining(expected));
  expect(await passing("echo", file("runs.yaml"))).toHaveLength(4);
  const few = await init("echo", "logs", "--limit", "1", "--where", "elapsed<60");
  expect((parse(few.out) as { tests: unknown[] }).tests).toHaveLength(1);
  expect(few.err).toContain("; there are more: use --limit\n");
});

test("rows become tests by the names of their columns", async () => {
  await write(folder, {
    "faq.csv":
      "ID,Question,Expected Answer,team\n7,hello,hello,people\n8,,x,people\n9,Hi,,people\n",
    "faq.jsonl": '{"prompt":"hello","output":"hello"}\n{"prompt":"HELLO","output":"hello"}\n',
    "other.csv": "subject,text\na,b\n",
  });
  const csv = await init(
    "echo",
    "rows",
    file("faq.csv"),
    "--input",
    "query",
    "--out",
    file("f.yaml"),
  );
  expect(csv.exit, csv.err).toBe(0);
  expect(csv.err).toContain(
    'question from column "Question", answer from column "Expected Answer", name from column "ID"; not used: team\n',
  );
  expect(csv.err).toContain("; 1 skipped: without a question; 1 skipped: without an answer\n");
  expect(await passing("echo", file("f.yaml"))).toEqual(["7"]);
  const lines = await init("chat", "rows", file("faq.jsonl"));
  expect(parse(lines.out)).toEqual({
    app: "chat",
    tests: [{ name: "hello", query: "hello", answer: "hello", compare: "similar" }],
  });
  const directory = await init("chat", "rows", folder);
  expect([directory.exit, directory.err]).toEqual([2, `error: ${folder}: is a directory\n`]);
  const other = await init("chat", "rows", file("other.csv"));
  expect(other.exit).toBe(2);
  expect(other.err).toContain(
    "other.csv: no column for the question\nhint: name it one of query, ",
  );
  await write(folder, { "half.csv": "q\na\n" });
  const half = await init("chat", "rows", file("half.csv"));
  const page = await readFile(join(root, "docs/test-suites.md"), "utf8");
  const [row = ""] = /^\| `rows` .*/m.exec(page) ?? [];
  const named = [other, half].flatMap(
    ({ err }) => /name it one of (.*)/.exec(err)?.[1]?.split(", ") ?? [],
  );
  expect(named).toHaveLength(16);
  expect(named.filter((name) => !row.includes(`\`${name}\``))).toEqual([]);
});

test("an existing file is kept, and wrong flags are errors", async () => {
  await write(folder, { "kept.yaml": "mine\n" });
  const from = ["rows", file("faq.jsonl"), "--out", file("kept.yaml")];
  const refused = await init("chat", ...from);
  expect(refused.exit).toBe(2);
  expect(refused.err).toContain("kept.yaml already exists\n");
  expect(await readFile(file("kept.yaml"), "utf8")).toBe("mine\n");
  expect((await init("chat", ...from, "--overwrite")).exit).toBe(0);
  expect(await readFile(file("kept.yaml"), "utf8")).toContain("query: hello");
  expect((await init("chat", "feedback", "--since", "1d")).err).toContain(
    "error: --from feedback cannot be used with --since\n",
  );
  expect((await init("chat", "rows")).err).toContain(
    "error: --from rows needs a file\nhint: name a CSV or JSON Lines file\n",
  );
  expect((await init("review", "annotations")).err).toContain(
    "error: no tests to create: 0 tests from ",
  );
  expect((await init("chat", "logs")).exit).toBe(6);
  expect((await init("echo", "feedback")).exit).toBe(6);
});

rareTest("hostile texts are read as they were, and show nothing that they are not", async () => {
  const texts = [
    "- a\n- b",
    "a: b # c",
    "*alias &anchor !!tag",
    "\u001b[2J\u0000\u009b\u202e",
    "---\n...\n",
    "'\"\\",
    "  \n ",
    "null",
    "{{ x }} %d",
    "x".repeat(20_000),
    "y".repeat(1_000_000),
  ];
  const rows = texts.map((text, index) => ({ query: `${text}${index}`, answer: text }));
  await write(folder, { "hostile.jsonl": rows.map((row) => `${JSON.stringify(row)}\n`).join("") });
  const { out, err, exit } = await init("chat", "rows", file("hostile.jsonl"));
  expect(exit, err).toBe(0);
  expect(err).toContain("9 tests from");
  expect(err).toContain(
    "1 skipped: without an answer; 1 skipped: with an answer of more than 20000",
  );
  const { tests } = parse(out) as { tests: readonly { query: string; answer: string }[] };
  const kept = rows
    .map(({ query, answer }) => ({ query: query.trim(), answer: answer.trim() }))
    .filter(({ answer }) => answer !== "" && answer.length <= 20_000);
  expect(tests.map(({ query, answer }) => ({ query, answer }))).toEqual(kept);
  expect(out).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
  await write(folder, { "hostile.yaml": out });
  expect((await wf("chat", "test", "run", file("hostile.yaml"), "-o", "json")).exit).not.toBe(2);
});

test("a suite that would be too large is not written", async () => {
  const row = (index: number) => ({ query: `q${index}`, answer: `${index} `.repeat(5000) });
  const rows = Array.from({ length: 80 }, (_, index) => JSON.stringify(row(100 + index)));
  await write(folder, { "large.jsonl": rows.join("\n") });
  const { err, exit } = await init(
    "chat",
    "rows",
    file("large.jsonl"),
    "--out",
    file("large.yaml"),
  );
  expect(exit).toBe(2);
  expect(err).toMatch(/error: the suite would have \d+ bytes; one may have 1048576\n/);
});

test("a terminal asks for the source, which must suit the application", async () => {
  const questions: string[] = [];
  const line = ["wf", "--app", "chat", "test", "init"];
  const { err } = await sandbox.cli(line, {
    folder,
    tty: true,
    questions,
    answers: ["annotations"],
  });
  expect(questions).toEqual(["Which questions and answers? (1-3) [feedback]: "]);
  expect(err).toContain("from annotations of the application");
  expect(await sandbox.cli(line, { folder })).toMatchObject({
    exit: 2,
    err: "error: --from is required\nhint: add --from (one of: annotations, conversations, feedback, logs, rows, promptfoo)\n",
  });
  expect((await init("chat", "logs")).err).toContain(
    "chats have no logs: use `wf test init --from feedback --app chat` or",
  );
});
