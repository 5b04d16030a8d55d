/** `wf test review` and `wf test accept` of results from the sandbox. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { write } from "../../lib/directory.ts";
import { axeViolations, invalidParts, openedPage, textsOf } from "../../lib/opened-page.ts";
import { rareTest } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const sandbox = await testSandbox();
const folder = await temporaryDirectory();
const file = (name: string) => join(folder, name);
const read = (name: string) => readFile(file(name), "utf8");

const wf = (args: readonly string[], world: World = {}, app = "echo") =>
  sandbox.cli(["wf", "--app", app, "test", ...args], { folder, ...world });
const save = async (suite: string, results: string, app?: string) => {
  const ran = await wf(["run", file(suite), "--save", file(results), "-q"], {}, app);
  expect([0, 14], ran.err).toContain(ran.exit);
};

const suite = `# Answers of the application echo
app: echo
tests:
  - name: same        # stays
    inputs: { query: hello }
    answer: hello

  # The wording changes.
  - name: days
    inputs: { query: You have thirty days of leave. }
    answer: "You have twenty days of leave."   # draft
    compare: exact
  - name: pattern
    inputs: { query: 30 days }
    answer: '/\\d+ weeks/'
    compare: regex
  - name: strict
    inputs: { query: x }
    answer: y
    expect: [output query is "z"]
  - name: new
    inputs: { query: first }
`;
await write(folder, { "suite.yaml": suite });
await save("suite.yaml", "results.json");

rareTest("a page marks the words that changed, by more than color", async () => {
  const days = "You have <b>20</b> days of leave.";
  await write(folder, {
    "page.yaml": `tests: [{ name: days, inputs: { query: "You have <b>30</b> days." }, answer: "${days}" }]\n`,
  });
  await save("page.yaml", "page.json");
  const { out, exit, err } = await wf(["review", file("page.json"), "-o", "html"]);
  expect(exit, err).toBe(0);
  const page = openedPage(out);
  expect(textsOf(page, "h2")).toEqual(["1 changed answer", "1 of 1: page: days"]);
  expect(textsOf(page, ".compared")).toEqual([
    "You have <b>only here:20</b> daysonly here:of leave.",
    "You have <b>only here:30</b> days.",
  ]);
  expect(textsOf(page, ".side > h3")).toEqual(["expected", "answer"]);
  expect(await invalidParts(out)).toEqual([]);
  expect(await axeViolations(out, false)).toEqual([]);
});

test("changed answers are shown beside the expected ones", async () => {
  const { out, err, exit } = await wf(["review", file("results.json")]);
  expect(exit, err).toBe(0);
  expect(out).toBe(
    [
      "# 3 changed answers",
      "test\texpected\tanswer\ttimes\truns",
      "suite: days\tYou have twenty days of leave.\tYou have thirty days of leave.\t1\t1",
      "suite: pattern\t/\\\\d+ weeks/\t30 days\t1\t1",
      "suite: strict\ty\tx\t1\t1",
      "# 1 test with the expected answer, 1 test without an expected answer",
      "",
    ].join("\n"),
  );
  const json = await wf(["review", file("results.json"), "--test", "strict", "-o", "json"]);
  expect(JSON.parse(json.out)).toMatchObject({
    changed: [
      {
        name: "suite: strict",
        path: file("suite.yaml"),
        line: 17,
        expected: ["y"],
        answer: "x",
        unmet: ['output query is "z"'],
        obstacle: null,
      },
    ],
  });
});

test("an answer that holds the expected part, or fits the pattern, has not changed", async () => {
  const codes = '"GAMMA\\n5"';
  await write(folder, {
    "parts.yaml": `tests:
  - { name: part, inputs: { query: ${codes} }, answer: GAMMA, compare: contains }
  - { name: pattern, inputs: { query: ${codes} }, answer: '/[0-9]/', compare: regex }
  - { name: other, inputs: { query: ${codes} }, answer: DELTA, compare: contains }
`,
  });
  await save("parts.yaml", "parts.json");
  const { out } = await wf(["review", file("parts.json")]);
  expect(out.split("\n").slice(2)).toEqual([
    "parts: other\tDELTA\tGAMMA\\n5\t1\t1",
    "# 2 tests with the expected answer",
    "",
  ]);
});

test("a terminal shows the words that differ, side by side from 120 columns", async () => {
  const at = (columns: number) =>
    wf(["review", file("results.json"), "--test", "days", "-o", "grid", "--color", "never"], {
      tty: true,
      columns,
    });
  const narrow = (await at(80)).out;
  expect(narrow).not.toContain("if its test is named"); // nothing speaks against it
  expect(narrow).toContain(
    [
      "1 of 1: suite: days",
      "expected:",
      "  You have [-twenty-] days of leave.",
      "answer:",
      "  You have {+thirty+} days of leave.",
      "",
    ].join("\n"),
  );
  expect((await at(120)).out).toMatch(
    /^expected {50} │ answer\nYou have \[-twenty-\] days of leave\. {24} │ You have \{\+thirty\+\} days of leave\.$/m,
  );
});

test("a terminal is asked nothing if no answer has changed", async () => {
  await write(folder, { "same.yaml": "tests: [{ name: a, inputs: { query: x }, answer: x }]\n" });
  await save("same.yaml", "same.json");
  const { out, err } = await wf(["review", file("same.json")], { tty: true });
  expect(out).toContain("1 test with the expected answer");
  expect(err).not.toContain("accepted");
});

test("accepting writes the named answers and nothing else", async () => {
  await write(folder, { "suite.yaml": suite });
  const dry = await wf(["accept", file("results.json"), "--all", "--dry-run"]);
  expect(dry.exit, dry.err).toBe(0);
  expect(dry.out).toContain("suite: days\tacceptable\t\t");
  expect(dry.err).toContain("1 answer would be accepted; nothing was written");
  expect(await read("suite.yaml")).toBe(suite);
  const args = ["--test", "days", "--test", "suite: new"];
  const { out, err, exit } = await wf(["accept", file("results.json"), ...args]);
  expect(exit, err).toBe(0);
  expect(out).toBe(
    `suite: days\taccepted\t\t${file("suite.yaml")}\t9\nsuite: new\taccepted\t\t${file("suite.yaml")}\t21\n`,
  );
  const [before, after] = [suite.split("\n"), (await read("suite.yaml")).split("\n")];
  expect(after.filter((line) => !before.includes(line))).toEqual([
    "    answer: You have thirty days of leave.   # draft",
    "    answer: first",
  ]);
  expect(before.filter((line) => !after.includes(line))).toEqual([
    '    answer: "You have twenty days of leave."   # draft',
  ]);
  const again = await wf(["accept", file("results.json"), "--all"]);
  expect(again.out).toContain('suite: strict\tskipped\tit does not meet: output query is "z"\t');
  expect(again.out).toContain("suite: pattern\tskipped\tits expected answer is a pattern");
  expect(again.err).toContain("0 answers accepted; 3 tests with the expected answer\n");
});

test("what cannot be accepted is an error, and nothing is written", async () => {
  await write(folder, { "suite.yaml": suite });
  const error = async (...args: readonly string[]) => {
    const { err, exit } = await wf(["accept", file("results.json"), ...args]);
    expect(exit).toBe(2);
    return err;
  };
  expect(await error()).toContain("error: no test is named\n");
  expect(await error("--all", "--test", "days")).toContain("--all cannot be used with --test");
  expect(await error("--test", "nope")).toContain('results.json has no test "nope"\n');
  expect(await error("--test", "pattern", "--test", "days")).toContain(
    "the answer of suite: pattern cannot be accepted: its expected answer is a pattern",
  );
  expect(await read("suite.yaml")).toBe(suite);
  await write(folder, { "suite.yaml": suite.replace("name: days", "name: weeks") });
  expect(await error("--all")).toContain(
    'has no test "days": it has changed since these results\n',
  );
  await write(folder, { "suite.yaml": "a: 1\n" });
  expect(await error("--all")).toContain("suite.yaml line 1: ");
});

test("an answer that others share through an alias is not replaced", async () => {
  const shared = `tests:
  - name: a
    inputs: { query: x }
    answer: &old y
  - name: b
    inputs: { query: y }
    answer: *old
`;
  await write(folder, { "alias.yaml": shared });
  await save("alias.yaml", "alias.json");
  const { err, exit } = await wf(["accept", file("alias.json"), "--all"]);
  expect(exit).toBe(2);
  expect(err).toContain('alias.yaml line 2: the answer of test "a" is shared with other parts');
  expect(await read("alias.yaml")).toBe(shared);
});

test("the most frequent changed answer is shown with its count", async () => {
  const results = JSON.parse(await read("results.json")) as {
    tests: { test: string; results: Record<string, unknown>[] }[];
  };
  const days = results.tests.find(({ test: name }) => name === "days");
  const [run] = days?.results ?? [];
  const answers = ["one", "two", "You have twenty days of leave.\n", "two", "three"];
  days?.results.splice(0, 1, ...answers.map((answer) => ({ ...run, answer })));
  days?.results.push({ ...run, status: "error", answer: "error" }, { ...run, answer: null });
  await write(folder, { "suite.yaml": suite, "repeats.json": JSON.stringify(results) });
  const { out } = await wf(["review", file("repeats.json"), "--test", "days"]);
  expect(out).toContain("suite: days\tYou have twenty days of leave.\ttwo\t2\t5\n");
});

const exact = (passed: boolean) => ({ turn: 1, check: 'answer is "old"', passed, actual: "" });
const runs = (count: number, answer: string, passed: boolean) =>
  Array.from({ length: count }, () => ({
    status: passed ? "passed" : "failed",
    answer,
    checks: [exact(passed)],
  }));

test.each([
  [
    "a rare answer",
    [...runs(19, "old", true), ...runs(1, "new", false)],
    "19 of 20 runs met the expected answer",
  ],
  [
    "the most frequent of many",
    [...runs(2, "new", false), ...runs(1, "x", false), ...runs(1, "y", false)],
    "only 2 of 4 runs gave this answer",
  ],
  ["another wording that passes", runs(1, "Old.", true), "1 of 1 run met the expected answer"],
  ["what most runs said", [...runs(3, "new", false), ...runs(2, "old", true)], ""],
])("--all accepts only what most runs say instead: %s", async (_, results, reason) => {
  const text = "tests: [{ name: a, query: x, answer: old }]\n";
  const saved = {
    wf_test: 1,
    tests: [{ name: "few: a", path: file("few.yaml"), test: "a", results }],
  };
  await write(folder, { "few.yaml": text, "few.json": JSON.stringify(saved) });
  const { out, exit, err } = await wf(["accept", file("few.json"), "--all"]);
  expect(exit, err).toBe(0);
  expect(out).toContain(`few: a\t${reason === "" ? "accepted" : "skipped"}\t${reason}\t`);
  expect(await read("few.yaml")).toBe(reason === "" ? text.replace("old", '"new"') : text);
  if (reason === "") return;
  await wf(["accept", file("few.json"), "--test", "a"]);
  expect(await read("few.yaml")).not.toBe(text);
});

test("answers can be compared with those of earlier results", async () => {
  const text = await read("results.json");
  await write(folder, {
    "suite.yaml": suite,
    "before.json": text.replace('"answer":"first"', '"answer":"1st"'),
  });
  const args = ["review", file("results.json"), "--baseline", file("before.json")];
  const { out, err } = await wf(args);
  expect(out, err).toContain("suite: new\t1st\tfirst\t1\t1\n");
  expect(out).toContain("# 4 tests with the expected answer\n");
  expect((await wf(["review", file("suite.yaml")])).err).toContain(
    "suite.yaml is not the result of a run of tests\n",
  );
});

test("the last turn of a conversation, and one more of several answers", async () => {
  await write(folder, {
    "chat.yaml": `app: chat
tests:
  - name: turns
    turns:
      - query: hello
      - query: again
  - name: either
    query: hi
    answer:
      - one
      - two # or so
`,
  });
  await save("chat.yaml", "chat.json");
  const ran = await wf(["accept", file("chat.json"), "--test", "turns", "--test", "either"]);
  expect(ran.exit, ran.err).toBe(0);
  expect(await read("chat.yaml")).toBe(`app: chat
tests:
  - name: turns
    turns:
      - query: hello
      - query: again
        answer: "You said: again. This is a fixed answer."
  - name: either
    query: hi
    answer:
      - one
      - two # or so
      - "You said: hi. This is a fixed answer."
`);
});

rareTest("hostile answers stay text: in the suite, and on a terminal", async () => {
  const hostile = "\u001b[2Jx\u009b\u202e\n- a: b # c\n---\n'\"";
  const text = await read("results.json");
  const results = (answer: string) =>
    text.replace('"answer":"hello"', () => `"answer":${JSON.stringify(answer)}`);
  await write(folder, { "suite.yaml": suite, "hostile.json": results(hostile) });
  const shown = await wf(
    ["review", file("hostile.json"), "--test", "same", "-o", "grid", "--color", "never"],
    {
      tty: true,
      columns: 80,
    },
  );
  expect(shown.out).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
  expect(shown.out).toContain("{+␛[2Jx<U+009B><U+202E>+}");
  const ran = await wf(["accept", file("hostile.json"), "--test", "same"]);
  expect(ran.exit, ran.err).toBe(0);
  const { tests } = parse(await read("suite.yaml")) as { tests: readonly { answer: string }[] };
  expect(tests.map(({ answer }) => answer)).toEqual([
    hostile,
    "You have twenty days of leave.",
    "/\\d+ weeks/",
    "y",
    undefined,
  ]);
  expect(await read("suite.yaml")).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
  await write(folder, { "suite.yaml": suite, "large.json": results("word ".repeat(250_000)) });
  const large = await wf(["accept", file("large.json"), "--test", "same"]);
  expect(large.exit).toBe(2);
  expect(large.err).toContain("suite.yaml would be larger than 1048576 bytes");
  expect(
    (
      await wf(["review", file("large.json"), "-o", "grid", "--color", "never"], {
        tty: true,
        columns: 80,
      })
    ).exit,
  ).toBe(0);
  expect(await read("suite.yaml")).toBe(suite);
});

test.each<readonly [name: string, before: string, after: string]>([
  [
    "rows.csv",
    'query,answer,tags\r\nhello,old,"a,b"\r\nx,"[""1"",""2""]",\r\nsame,same,\r\n',
    'query,answer,tags\r\nhello,hello,"a,b"\r\nx,"[""1"",""2"",""x""]",\r\nsame,same,\r\n',
  ],
  [
    "semicolons.csv",
    "query;answer;tags\r\nhello;old;a,b\r\nsame;same;\r\n",
    "query;answer;tags\r\nhello;hello;a,b\r\nsame;same;\r\n",
  ],
  [
    "turns.csv",
    'name,turns\r\na,"[{""query"":""z""},{""query"":""x"",""answer"":""y""}]"\r\n',
    'name,turns\r\na,"[{""query"":""z""},{""query"":""x"",""answer"":""You said: x. This is a fixed answer.""}]"\r\n',
  ],
  [
    "rows.jsonl",
    '{"query": "hello", "answer": "old"}\n{"query":"x","answer":["1"]}\n{"query": "same", "answer": "same"}\n',
    '{"query":"hello","answer":"hello"}\n{"query":"x","answer":["1","x"]}\n{"query": "same", "answer": "same"}\n',
  ],
])("answers are written into the rows of %s", async (name, before, after) => {
  const isChat = name.startsWith("turns");
  const inputs = (text: string) => (isChat ? text : text.replaceAll("query", "inputs.query"));
  await write(folder, { [name]: inputs(before) });
  await save(name, "rows.json", isChat ? "chat" : "echo");
  const ran = await wf(["accept", file("rows.json"), "--all"]);
  expect(ran.exit, ran.err).toBe(0);
  expect(await read(name)).toBe(inputs(after));
});

test("an answer that looks like a list stays a text in CSV", async () => {
  await write(folder, { "list.csv": 'name,inputs.query,answer\na,"[1, 2]",x\n' });
  await save("list.csv", "list.json");
  expect((await wf(["accept", file("list.json"), "--all"])).exit).toBe(0);
  const again = await wf(["run", file("list.csv")]);
  expect(again.exit, again.out).toBe(0);
});

test("an answer to a question that has changed is not accepted", async () => {
  const asking = (query: string) =>
    `tests: [{ name: a, inputs: { query: ${query} }, answer: b }]\n`;
  await write(folder, { "asked.yaml": asking("one") });
  await save("asked.yaml", "asked.json");
  await write(folder, { "asked.yaml": asking("two") });
  const all = await wf(["accept", file("asked.json"), "--all"]);
  expect(all.out).toContain("asked: a\tskipped\tits question has changed since these results\t");
  const named = await wf(["accept", file("asked.json"), "--test", "a"]);
  expect([named.exit, named.err]).toEqual([
    2,
    expect.stringContaining("cannot be accepted: its question has changed since these results"),
  ]);
  expect(await read("asked.yaml")).toBe(asking("two"));
});

test("a suite with two spellings of its path gets all answers", async () => {
  const text = (one: string, two: string) =>
    `tests: [{ name: a, inputs: { query: 1a }, answer: ${one} }, { name: b, inputs: { query: 2b }, answer: ${two} }]\n`;
  await write(folder, { "paths.yaml": text("x", "x") });
  await save("paths.yaml", "paths.json");
  const saved = JSON.parse(await read("paths.json")) as { tests: { path: string }[] };
  const [, second] = saved.tests;
  if (second) second.path = `${folder}/./paths.yaml`;
  await write(folder, { "paths.json": JSON.stringify(saved) });
  expect((await wf(["accept", file("paths.json"), "--all"])).exit).toBe(0);
  expect(await read("paths.yaml")).toBe(text('"1a"', '"2b"'));
});

test("a CSV file without the column is not changed", async () => {
  await write(folder, { "bare.csv": "inputs.query\nhello\n" });
  await save("bare.csv", "bare.json");
  const { err, exit } = await wf(["accept", file("bare.json"), "--test", "row 1"]);
  expect(exit).toBe(2);
  expect(err).toContain("bare.csv has no column answer\n");
  expect(await read("bare.csv")).toBe("inputs.query\nhello\n");
});
