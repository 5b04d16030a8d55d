/** Tests in rows of CSV and JSON Lines, against the sandbox. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { readSuite } from "../../../src/commands/measure/suite-file/read-suite.ts";
import { diskFiles } from "../../../src/host/node-files.ts";
import { write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const folder = await temporaryDirectory();

async function run(app: string, name: string, text: string) {
  const sandbox = await testSandbox();
  await write(folder, { [name]: text });
  return sandbox.cli(["wf", "--app", app, "test", "run", join(folder, name), "-o", "tsv"]);
}

test("each row of CSV is a test; its name is that of its query", async () => {
  const ran = await run(
    "chat",
    "questions.csv",
    'query,expect,tags,skip\nHello there,"text contains ""Hello""",smoke,\nAgain,"[""text contains \\""Nothing\\"""", ""no retries""]",,false\nLater,,,true\n',
  );
  expect(ran.exit, ran.err).toBe(14);
  expect(ran.out).toContain("# 1 of 2 tests passed\n");
  expect(ran.out).toContain("passed\tquestions: Hello there\t");
  expect(ran.out).toContain('questions: Again\ttext contains "Nothing"\t');
});

test("columns of inputs have the types of the form", async () => {
  const ran = await run(
    "inputs",
    "inputs.csv",
    'inputs.name,inputs.kind,inputs.count,expect\n5,a,3,"output name is ""5"" and output count is 3"\nx,b,,output count is null\n',
  );
  expect(ran.exit, ran.out + ran.err).toBe(0);
  expect(ran.out).toContain("passed\tinputs: row 1\t");
  expect(ran.out).toContain("passed\tinputs: row 2\t");
});

test("JSON Lines hold values as they are", async () => {
  await write(folder, {
    "rows.jsonl": [
      { name: "a", query: "b", answer: ["c", 1], compare: "exact", inputs: { x: 1 }, skip: null },
      { turns: [{ query: "a" }], "judge.app": "grader", "judge.criteria": "d", "inputs.x": 2 },
    ]
      .map((row) => JSON.stringify(row))
      .join("\n"),
  });
  expect(await readSuite(join(folder, "rows.jsonl"), diskFiles)).toMatchObject({
    name: "rows",
    app: undefined,
    tests: [
      {
        name: "a",
        from: { line: 1 },
        turns: [{ query: "b", answer: ["c", "1"], compare: "exact", inputs: { x: 1 } }],
      },
      {
        name: "row 2",
        from: { line: 2 },
        turns: [{ query: "a", judge: { app: "grader", criteria: "d" }, inputs: { x: 2 } }],
      },
    ],
  });
});

test("cells of CSV are text, lists and mappings JSON", async () => {
  await write(folder, {
    "cells.csv":
      'query,answer,tags,repeat,judge,similarity,inputs\nA,30,"[""x"", ""y""]",3,grader,0.5,"{""n"": 1}"\nB,"{""a"": 1}",x,,"{""app"": ""g""}",,\n',
  });
  expect(await readSuite(join(folder, "cells.csv"), diskFiles)).toMatchObject({
    tests: [
      {
        tags: ["x", "y"],
        repeat: 3,
        turns: [{ answer: ["30"], judge: { app: "grader" }, similarity: 0.5, inputs: { n: 1 } }],
      },
      { tags: ["x"], repeat: undefined, turns: [{ answer: ['{"a": 1}'], judge: { app: "g" } }] },
    ],
  });
});

test("columns of checks are keys, and keys of their mappings", async () => {
  await write(folder, {
    "checks.csv":
      'query,supported,supported.share,context_recall,context_recall.documents,check.run,schema,weights\nA,true,0.5,0.25,leave.md,"[""a"", ""b.py""]",a.json,"{""judge"": 2}"\n',
  });
  expect(await readSuite(join(folder, "checks.csv"), diskFiles)).toMatchObject({
    tests: [
      {
        weights: { judge: 2 },
        turns: [
          {
            supported: { share: 0.5, atLeast: 1, judge: undefined },
            context: [{ measure: "recall", atLeast: 0.25, documents: ["leave.md"] }],
            program: { words: ["a", "b.py"], files: [join(folder, "b.py")], timeout: 30 },
            schema: { file: join(folder, "a.json"), of: undefined },
          },
        ],
      },
    ],
  });
});

test.each([
  ["a.csv", "query,anwser\na,b\n", 'a.csv line 1: unknown column "anwser"', "did you mean answer?"],
  ["a.csv", "rubric\na\n", 'line 1: unknown column "rubric"', "inputs.NAME for an input"],
  ["a.csv", "question\na\n", 'line 1: unknown column "question"', "did you mean query?"],
  ["a.csv", "query,judge.criterai\na,b\n", 'column "judge.criterai"', "mean judge.criteria?"],
  ["a.csv", "query,input.x\na,b\n", 'unknown column "input.x"', "inputs.NAME"],
  [
    "a.csv",
    "query,repeat\na,1\nb,0\n",
    "row 2 (line 3), column repeat: expected a whole number",
    "",
  ],
  ["a.csv", "query,skip\na,yes\n", "row 1 (line 2), column skip: expected true or false", ""],
  ["a.csv", "query,compare\na,simlar\n", 'column compare: "simlar" is not', "mean similar?"],
  ["a.csv", "query,expect\na,run is\n", "row 1 (line 2), column expect:", ""],
  ["a.csv", "query\na\na\n", 'a.csv line 3: another test is named "a"', ""],
  ["a.csv", "query\n", "a.csv line 1: the suite has no tests", ""],
  ["a.csv", 'query\n"a\n', "line 2, column query: missing closing quote", ""],
  ["a.jsonl", '{"query":"a"}\n{"quer":"b"}\n', "row 2 (line 2): unknown column", "mean query?"],
  ["a.jsonl", '{"query":["a"]}\n', "row 1 (line 1), column query: expected a text", ""],
  ["a.jsonl", "[]\n", "a.jsonl line 1: expected one JSON object per line, not an array", ""],
])("%s %j is refused", async (name, text, problem, hint) => {
  const ran = await run("chat", name, text);
  expect(ran.exit, ran.out).toBe(2);
  expect(ran.err).toContain(problem);
  expect(ran.err).toContain(hint);
});

test.each([
  [
    "wrong.csv",
    "query,repeat,skip\na,0,yes\nb,1,\nc,x,\n",
    [
      "row 1 (line 2), column repeat: expected a whole number",
      "row 1 (line 2), column skip: expected true or false",
      "row 3 (line 4), column repeat: expected a number",
    ],
  ],
  [
    "head.csv",
    "qery,tag\na,b\n",
    ['line 1: unknown column "qery"', 'line 1: unknown column "tag"'],
  ],
  [
    "cells.csv",
    "query,tags\na\nb,c\nd,e,f\n",
    ["line 2, column tags: number", "line 4, column 3: number"],
  ],
  [
    "wrong.jsonl",
    '{"quer":1}\n{"query":[]}\n',
    ["row 1 (line 1): unknown", "row 2 (line 2), column query"],
  ],
  ["broken.jsonl", '{"query":1\n{}\n[]\n', ["line 1", "line 3: expected one JSON object"]],
])("all mistakes of %s are reported at once", async (name, text, problems) => {
  const { exit, err } = await run("echo", name, text);
  expect(exit).toBe(2);
  const lines = err.split("\n").filter((line) => line.includes(name));
  expect(lines).toEqual(problems.map((problem) => expect.stringContaining(problem) as unknown));
});
