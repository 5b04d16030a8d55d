/** Files of other tools become suites that run: promptfoo, RAGAS and plain CSV, with 60 questions each. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { expectedKeys } from "../../../src/commands/measure/suites/drafts/promptfoo-tests.ts";
import { write } from "../../lib/directory.ts";
import { rareTest } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const sandbox = await testSandbox({ models: true });
const folder = await temporaryDirectory();
const at = (name: string) => join(folder, name);
const wf = (app: string, ...args: readonly string[]) =>
  sandbox.cli(["wf", "--app", app, "test", ...args], { folder });

/** Makes a suite and runs it; returns what it said on the way, and the numbers of tests and passes. */
async function imported(app: string, ...args: readonly string[]) {
  const made = await wf(app, "init", "--out", at("made.yaml"), "--overwrite", ...args);
  expect(made.exit, made.err).toBe(0);
  const ran = await wf(app, "run", at("made.yaml"), "-o", "json");
  expect(ran.exit, ran.err).toBe(0);
  const { tests } = JSON.parse(ran.out) as { tests: readonly { status: string }[] };
  const passed = tests.filter(({ status }) => status === "passed").length;
  return { err: made.err, tests: tests.length, passed };
}
const sixty = Array.from({ length: 60 }, (_, index) => `Question ${index + 1}`);

test.each([
  ["equals", "a", undefined, { expect: ['text is "a"'] }],
  ["not-equals", "a", undefined, { expect: ['not (text is "a")'] }],
  ["equals", { a: 1 }, undefined, { answer: '{"a":1}', compare: "json" }],
  ["contains", 'a "b"\n', undefined, { expect: ['text contains "a \\"b\\"\\n"'] }],
  ["icontains", "a.b/c", undefined, { expect: ["text matches /a\\.b\\/c/i"] }],
  ["contains-all", "a, b", undefined, { expect: ['text contains "a"', 'text contains "b"'] }],
  [
    "not-contains-all",
    ["a", "b"],
    undefined,
    { expect: ['not (text contains "a" and text contains "b")'] },
  ],
  ["contains-any", ["a", "b+"], undefined, { expect: ["text matches /a|b\\+/"] }],
  ["icontains-any", "a,b", undefined, { expect: ["text matches /a|b/i"] }],
  ["starts-with", "(a)", undefined, { expect: ["text matches /^\\(a\\)/"] }],
  ["regex", "\\d+/x", undefined, { expect: ["text matches /\\d+\\/x/"] }],
  ["regex", "(", undefined, "a pattern that JavaScript does not know"],
  ["is-json", undefined, undefined, { expect: ["text is valid json"] }],
  ["not-contains-json", undefined, undefined, { expect: ["not (text contains json)"] }],
  ["is-json", { type: "object" }, undefined, "no equivalent"],
  ["latency", undefined, 1500, { expect: ["run took at most 1500ms"] }],
  ["latency", undefined, undefined, "without a threshold"],
  ["similar", "a", undefined, { answer: "a", compare: "similar", similarity: 0.75 }],
  ["similar", ["a", "b"], 0.9, { answer: ["a", "b"], compare: "similar", similarity: 0.9 }],
  ["levenshtein", "0123456789", 2, { answer: "0123456789", compare: "similar", similarity: 0.8 }],
  ["levenshtein", "0123456789", 0, { answer: "0123456789", compare: "similar", similarity: 1 }],
  [
    "llm-rubric",
    "is polite",
    0.7,
    { judge: { app: "grader", criteria: "is polite", at_least: 0.7 } },
  ],
  ["not-llm-rubric", "is polite", undefined, "no equivalent"],
  ["contains", undefined, undefined, "no equivalent"],
  ["cost", undefined, 0.1, "no equivalent"],
  ["constructor", "a", undefined, "no equivalent"],
  ["contains-any", [], undefined, "no equivalent"],
  ["contains-all", [], undefined, "no equivalent"],
  ["similar", "a", 5, "a threshold of 5"],
  ["llm-rubric", "is polite", -1, "a threshold of -1"],
  ["context-faithfulness", undefined, 0.7, { supported: { at_least: 0.7, judge: "grader" } }],
  ["context-faithfulness", null, undefined, { supported: { judge: "grader" } }],
  ["context-faithfulness", undefined, 7, "a threshold of 7"],
  ["not-context-faithfulness", undefined, 0.7, "no equivalent"],
  ["context-recall", undefined, 0.7, "no equivalent"],
  ["latency", undefined, 1e22, "a threshold of 1e+22"],
])("%s %j %s", (type, value, threshold, expected) => {
  expect(expectedKeys({ type, value, threshold }, "grader")).toEqual(expected);
});

test("without a judge, rubrics are not taken", () => {
  const assertion = { type: "factuality", value: "a", threshold: undefined };
  expect(expectedKeys(assertion, undefined)).toBe("needs --judge NAME");
  expect(expectedKeys(assertion, "grader")).toMatchObject({
    answer: "a",
    judge: { app: "grader" },
  });
});

test("faithfulness is decided by words without a judge, and once", async () => {
  const type = "context-faithfulness";
  await write(folder, {
    "faithful.yaml": JSON.stringify({
      defaultTest: { assert: [{ type, threshold: 0.9 }] },
      tests: [{ vars: { q: "a" }, assert: [{ type, threshold: 0.7 }] }, { vars: { q: "b" } }],
    }),
    "faithful.csv": "q,__expected\na,context-faithfulness(0.7)\n",
    "cells.yaml": "prompts: ['{{q}}']\ntests: file://faithful.csv\n",
  });
  const made = async (name: string) => {
    const { out, err } = await wf("chat", "init", "--from", "promptfoo", at(name));
    const { tests } = parse(out) as { tests: readonly { supported: unknown }[] };
    return { err, supported: tests.map(({ supported }) => supported) };
  };
  const two = await made("faithful.yaml");
  expect(two.supported).toEqual([{ at_least: 0.9 }, { at_least: 0.9 }]);
  expect(two.err).toContain("context-faithfulness (a second one)");
  expect((await made("cells.yaml")).supported).toEqual([{ at_least: 0.7 }]);
});

test.each([
  ["description: d\nprompts: ['{{q}}']\nproviders: [echo]\ntests: [{ vars: { q: a } }]\n"],
  ['{"targets": ["echo"], "tests": "file://tests.csv"}'],
])("a configuration of promptfoo is not taken as a suite: %j", async (text) => {
  await write(folder, { "promptfoo.yaml": text });
  const ran = await wf("chat", "run", at("promptfoo.yaml"));
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain("is a configuration of promptfoo, not a suite");
  expect(ran.err).toContain(`test init ${at("promptfoo.yaml")} --from promptfoo`);
});

rareTest(
  "60 questions of promptfoo: in the configuration, a YAML file and a CSV file",
  async () => {
    const asserts = (index: number) =>
      [
        { type: "icontains", value: "{{said}} {{ question }}" },
        { type: "regex", value: `said: Question ${index + 1}\\b` },
        { type: "contains-any", value: ["never", "fixed answer"] },
        { type: "llm-rubric", value: "A fixed answer" },
      ][index % 4];
    const cases = sixty.map((question, index) => ({
      vars: { question },
      assert: [asserts(index)],
    }));
    await write(folder, {
      "promptfooconfig.yaml": JSON.stringify({
        prompts: ["Answer: {{question}}"],
        defaultTest: {
          vars: { said: "you SAID:" },
          assert: [{ type: "not-contains", value: "error" }],
        },
        tests: [...cases.slice(0, 20), "file://more/tests.yaml", "file://more/tests.csv"],
      }),
      "more/tests.yaml": JSON.stringify(cases.slice(20, 40)),
      "more/tests.csv": `question,__expected,__expected2\n${sixty
        .slice(40)
        .map(
          (question) =>
            `${question},"contains-all: You said, ${question}",similar(0.7): You said: ${question}. A fixed answer\n`,
        )
        .join("")}`,
    });
    const from = ["--from", "promptfoo", at("promptfooconfig.yaml"), "--judge", "grader"];
    const { tests, passed } = await imported("chat", ...from);
    expect([tests, passed]).toEqual([60, 60]);
    const { out } = await wf("chat", "init", ...from, "--query", "prompt", "--limit", "1");
    expect((parse(out) as { tests: unknown[] }).tests).toEqual([
      {
        name: "Answer: Question 1",
        query: "Answer: Question 1",
        expect: ['not (text contains "error")', "text matches /you SAID: Question 1/i"],
      },
    ]);
  },
);

test("assertions about JSON", async () => {
  const assert = (...types: string[]) => types.map((type) => ({ type }));
  await write(folder, {
    "json.yaml": JSON.stringify({
      tests: [
        { vars: { q: '{"a": [1]}' }, assert: assert("is-json", "contains-json") },
        {
          vars: { q: "See\n```json\n[1, 2]\n```" },
          assert: assert("not-is-json", "contains-json"),
        },
        { vars: { q: "See [1" }, assert: assert("not-is-json", "not-contains-json") },
      ],
    }),
  });
  const from = ["--from", "promptfoo", at("json.yaml"), "--input", "query"];
  expect(await imported("echo", ...from)).toMatchObject({ tests: 3, passed: 3 });
});

test("what is not taken is listed with its line, and code is not run", async () => {
  await write(folder, {
    "code.yaml": `prompts: ['{{ question }} {{ place }}', file://prompt.js]
providers: [openai:gpt]
defaultTest: { options: {}, assert: [{ type: cost, threshold: 1 }] }
tests:
  - vars: { question: Where?, place: here, expected: x }
    threshold: 0.5
    assert:
      - { type: javascript, value: "require('fs').writeFileSync('ran', '')" }
      - { type: contains, value: '{{ expected }}', metric: m, weight: 2 }
      - type: equals
        value: file://check.py
      - { type: contains, value: '{{ expected | upper }}' }
  - vars: { question: [a, b], place: here }
  - file://generate.py
`,
  });
  const { out, err } = await wf(
    "chat",
    "init",
    "--from",
    "promptfoo",
    at("code.yaml"),
    "--query",
    "question",
  );
  const listed = [
    "1: prompts that are code",
    "2: providers",
    "3: options",
    "3: cost (no equivalent)",
    "5: threshold",
    "8: javascript (no equivalent)",
    "9: contains with weight",
    "10: equals (code, which is not run)",
    "12: contains (a template with logic or without its variables)",
    "13: a test with a list of values",
    "14: tests of file://generate.py",
  ].map((each) => `not taken: ${at("code.yaml")} line ${each}`);
  const byLine = (lines: string[]) => lines.toSorted();
  expect(byLine(err.split("\n").filter((line) => line.startsWith("not taken")))).toEqual(
    byLine(listed),
  );
  for (const line of listed) expect(out).toContain(`# ${line}\n`);
  const [only] = (parse(out) as { tests: unknown[] }).tests;
  expect(only).toEqual({
    name: "Where?",
    query: "Where?",
    inputs: { place: "here" },
    expect: ['text contains "x"'],
  });
  await expect(stat(at("ran"))).rejects.toThrow("ENOENT");
});

test("variables of any kind, and assertions with an empty value", async () => {
  const init = async (q: unknown, query = "q") => {
    const tests = [{ vars: { q, r: 1 }, assert: [{ type: "is-json", value: null }] }];
    await write(folder, { "kinds.yaml": JSON.stringify({ tests }) });
    const from = ["--from", "promptfoo", at("kinds.yaml"), "--query", query];
    const { out, err } = await wf("chat", "init", ...from);
    return out === "" ? err : (parse(out) as { tests: unknown[] }).tests[0];
  };
  const rest = { inputs: { r: 1 }, expect: ["text is valid json"] };
  const question = '{"a":[1]}';
  expect(await init({ a: [1] })).toEqual({ name: question, query: question, ...rest });
  expect(await init(5)).toEqual({ name: "5", query: "5", ...rest });
  expect(await init(null)).toContain("1 skipped: without a question");
  expect(await init("a", "constructor")).toContain("1 skipped: without a question");
});

test("several variables without a named question are inputs, none make no test", async () => {
  const assert = [{ type: "similar", value: "z" }];
  const tests = [{ vars: { a: "x", b: "y" }, assert }, { vars: {} }];
  await write(folder, { "vars.yaml": JSON.stringify({ tests }) });
  const { out, err } = await wf("echo", "init", "--from", "promptfoo", at("vars.yaml"));
  expect((parse(out) as { tests: unknown[] }).tests).toMatchObject([
    { inputs: { a: "x", b: "y" }, answer: "z" },
  ]);
  expect(out).not.toContain("expect:");
  expect(err).toContain("1 skipped: without variables");
});

test("a long expected answer makes no test", async () => {
  const tests = [{ vars: { q: "a" }, assert: [{ type: "similar", value: "x".repeat(20_001) }] }];
  await write(folder, { "long.yaml": JSON.stringify({ tests }) });
  const { err } = await wf("chat", "init", "--from", "promptfoo", at("long.yaml"));
  expect(err).toContain("1 skipped: with an answer of more than 20000 characters");
});

test("a file that is named again and again is read once", async () => {
  const lists = Array.from({ length: 30 }, (_, index) => [
    `${index}.yaml`,
    `- file://${index + 1}.yaml\n- file://${index + 1}.yaml\n`,
  ]);
  await write(folder, {
    ...(Object.fromEntries(lists) as Record<string, string>),
    "30.yaml": "- vars: { q: a }\n",
    "twice.yaml": "tests: [file://0.yaml]",
  });
  const { out, err } = await wf("chat", "init", "--from", "promptfoo", at("twice.yaml"));
  expect(err).toBe(`1 test from promptfoo ${at("twice.yaml")}\n`);
  expect((parse(out) as { tests: unknown[] }).tests).toHaveLength(1);
});

test("a list that names itself is refused", async () => {
  await write(folder, {
    "loop.yaml": "tests: file://list.yaml",
    "list.yaml": "- file://list.yaml",
  });
  const ran = await wf("chat", "init", "--from", "promptfoo", at("loop.yaml"));
  expect([ran.exit, ran.err]).toEqual([2, expect.stringContaining("list.yaml names itself")]);
});

test.each(["file://../secret.txt", "file:///etc/hostname.txt"])("%s is not read", async (path) => {
  await write(folder, {
    "secret.txt": "s3cret",
    "in/config.yaml": JSON.stringify({ tests: [{ vars: { q: path } }] }),
  });
  const ran = await wf("chat", "init", "--from", "promptfoo", at("in/config.yaml"));
  expect([ran.exit, ran.out]).toEqual([2, ""]);
  expect(ran.err).toMatch(/which is outside the directory of that file|file not found/);
});

rareTest(
  "60 rows of RAGAS, as JSON Lines and as CSV: the contexts are searched with --kb",
  async () => {
    const context = "Thirty days of leave a year.";
    await write(folder, { "leave.md": `${context}\n` });
    for (const line of [
      "create Handbook --indexing-technique high_quality",
      `doc upload Handbook ${at("leave.md")}`,
      "doc wait Handbook",
    ])
      await sandbox.done(["kb", ...line.split(" ")], { folder });
    const rows = sixty
      .map((question) => `${question}: days of leave a year?`)
      .map((user_input) => ({
        user_input,
        response: "unused",
        reference: `You said: ${user_input}. This is a fixed answer.`,
        retrieved_contexts: ["x"],
        reference_contexts: [context],
      }));
    const cells = (row: object) =>
      Object.values(row).map(
        (cell) =>
          `"${(typeof cell === "string" ? cell : JSON.stringify(cell)).replaceAll('"', '""')}"`,
      );
    await write(folder, {
      "ragas.jsonl": rows.map((row) => `${JSON.stringify(row)}\n`).join(""),
      "ragas.csv": [Object.keys(rows[0] ?? {}), ...rows.map(cells)]
        .map((row) => `${row.join(",")}\n`)
        .join(""),
      "python.csv": `user_input,reference,reference_contexts\nWhere?,Here,"['a', 'b']"\n`,
    });
    const lines = await imported("chat", "--from", "rows", at("ragas.jsonl"));
    expect([lines.tests, lines.passed]).toEqual([60, 60]);
    expect(lines.err).toContain("; not used: response, retrieved_contexts, reference_contexts\n");
    expect(await readFile(at("made.yaml"), "utf8")).not.toContain("search");
    const table = await imported(
      "chat",
      "--from",
      "rows",
      at("ragas.csv"),
      "--kb",
      "Handbook",
      "--limit",
      "60",
    );
    expect([table.tests, table.passed]).toEqual([60, 60]);
    expect(await readFile(at("made.yaml"), "utf8")).toContain("kb: Handbook");
    const python = await wf("chat", "init", "--from", "rows", at("python.csv"), "--kb", "Handbook");
    expect(python.err).toContain("1 skipped: with contexts that are not a JSON list of texts");
  },
);

rareTest("60 rows of CSV for a workflow", async () => {
  await write(folder, {
    "plain.csv": `Question,Expected Answer\n${sixty.map((text) => `${text},${text}\n`).join("")}`,
  });
  const { tests, passed } = await imported(
    "echo",
    "--from",
    "rows",
    at("plain.csv"),
    "--input",
    "query",
  );
  expect([tests, passed]).toEqual([60, 60]);
});
