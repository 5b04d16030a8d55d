/** The keys of a suite: what is read, and what the documentation says about them. */
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { suiteKeyTable } from "../../../scripts/reference/suites.ts";
import { readSuite } from "../../../src/commands/measure/suite-file/read-suite.ts";
import { diskFiles } from "../../../src/host/node-files.ts";
import { write } from "../../lib/directory.ts";
import { root } from "../../lib/paths.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";

test("docs/reference.md has the table of keys", () => {
  const page = readFileSync(join(root, "docs/reference.md"), "utf8");
  expect(page).toContain(`\n## Keys of a suite\n\n`);
  expect(page).toContain(`\n${suiteKeyTable()}\n\n`);
  expect(page).toContain("| `skip` | test | leaves the test out |\n");
});

const folder = await temporaryDirectory();

async function read(text: string) {
  await write(folder, { "suite.yaml": text });
  return readSuite(join(folder, "suite.yaml"), diskFiles);
}

test("the context of a test that only searches is its own, else that of its turns", async () => {
  const { tests } = await read(`
defaults: { context_recall: { documents: a.md } }
tests:
  - { name: searched, search: { kb: Base, query: x, documents: a.md } }
  - { name: asked, query: x }
`);
  const context = [{ measure: "recall", atLeast: 1, documents: ["a.md"] }];
  expect(tests).toMatchObject([
    { turns: [], context },
    { turns: [{ context }], context: [] },
  ]);
});

test("a test takes over the defaults and adds its own", async () => {
  const { tests } = await read(`
defaults:
  inputs: { a: 1, b: 1 }
  expect: [run succeeded]
  compare: contains
  similarity: 0.9
  judge: { app: grader, at_least: 0.7 }
  tags: all
  repeat: 2
tests:
  - name: one
    inputs: { b: 2 }
    expect: { checks: ['node "LLM" ran'] }
    answer: 30 days
    judge: { criteria: Names a number. }
    tags: [smoke]
  - name: two
    repeat: 5
    compare: exact
    turns:
      - { query: a, answer: [b, c], judge: other }
      - { query: d, compare: json, inputs: { a: 3 } }
`);
  expect(tests).toMatchObject([
    {
      from: { line: 11 },
      tags: ["all", "smoke"],
      repeat: 2,
      turns: [
        {
          inputs: { a: 1, b: 2 },
          expectations: [{ name: "run succeeded" }, { name: 'node "LLM" ran' }],
          answer: ["30 days"],
          compare: "contains",
          similarity: 0.9,
          judge: { app: "grader", criteria: "Names a number.", atLeast: 0.7 },
        },
      ],
    },
    {
      repeat: 5,
      turns: [
        { from: { line: 21 }, answer: ["b", "c"], compare: "exact", judge: { app: "other" } },
        { inputs: { a: 3, b: 1 }, answer: [], compare: "json", judge: { app: "grader" } },
      ],
    },
  ]);
});

test("a merge key adds what a mapping has not, the first of a list before others", async () => {
  const { tests } = await read(`
x-one: &one { tags: [one], repeat: 2, inputs: { a: 1 } }
x-two: &two { tags: [two], query: two }
tests:
  - { name: a, repeat: 3, <<: [*one, *two] }
  - { name: b, inputs: { <<: { c: 1, d: 1 }, c: 2 } }
`);
  const input = (inputs: object) => [{ inputs }];
  expect(tests).toMatchObject([
    { repeat: 3, tags: ["one"], turns: [{ query: "two", inputs: { a: 1 } }] },
    { turns: input({ c: 2, d: 1 }) },
  ]);
});

test("merge keys that name their own mapping, or double at each step, are refused", async () => {
  const steps = Array.from(
    { length: 40 },
    (_, n) => `x-${n + 1}: &s${n + 1} { <<: [*s${n}, *s${n}] }\n`,
  );
  const doubled = `x-0: &s0 { tags: [a] }\n${steps.join("")}tests: [{ name: a, <<: *s40 }]\n`;
  for (const text of [doubled, "tests: [&a { name: a, <<: *a }]"])
    await expect(read(text)).rejects.toMatchObject({ kind: "usage" });
});

test("a key of expect besides checks is refused with the conditions that say the same", async () => {
  await write(folder, {
    "former.yaml": `
x-fast: &fast { within: { run: 2s } }
tests:
  - name: a
    expect: { <<: *fast, required: [LLM] }
  - { name: b, expect: { checks: [no gaps], tokens: { max: 5 } } }
`,
    "former.csv": 'query,expect\nhello,"{""outputs"": {""a"": {""equals"": 1}}}"\n',
  });
  const refusal = async (file: string) => {
    const ran = await cli(["wf", "test", "run", join(folder, file)]);
    expect(ran.exit).toBe(2);
    return ran.err.replaceAll(`${folder}/`, "").split("\n").slice(0, -2);
  };
  expect(await refusal("former.yaml")).toEqual([
    'error: former.yaml line 5: "required" is no longer a key: use checks',
    `  - 'node "LLM" ran'`,
    '  former.yaml line 2: "within" is no longer a key: use checks',
    "  - 'run took at most 2s'",
    '  former.yaml line 6: "tokens" is no longer a key: use checks',
    "  - 'run used at most 5 tokens'",
  ]);
  expect(await refusal("former.csv")).toEqual([
    'error: former.csv row 1 (line 2), column expect: "outputs" is no longer a key: use checks',
    `  - 'output "a" is 1'`,
  ]);
});

test("all mistakes of a file are reported at once, with their lines", async () => {
  const text = `
nam: a
tests:
  - { name: a, quer: b }
  - c
  - name: d
    repeat: 0
    turns: [{ similarity: 2 }]
`;
  await write(folder, { "wrong.yaml": text });
  const ran = await cli(["wf", "test", "run", join(folder, "wrong.yaml")]);
  expect(ran.exit).toBe(2);
  expect(
    ran.err
      .replaceAll(`${folder}/`, "")
      .replaceAll(/is not one of .*/g, "…")
      .split("\n"),
  ).toEqual([
    'error: wrong.yaml line 2: "nam" …',
    '  wrong.yaml line 4: "quer" …',
    "  wrong.yaml line 5: expected a mapping",
    "  wrong.yaml line 7: expected a whole number from 1 to 1000",
    "  wrong.yaml line 8: expected a number from 0 to 1",
    "hint: did you mean name?",
    "",
  ]);
  const names = read("tests: [{ query: a }, { name: b, turns: [] }, { name: c }]");
  await expect(names).rejects.toMatchObject({
    info: {
      details: {
        mistakes: [
          expect.stringContaining("line 1: the test has no name"),
          expect.stringContaining("line 1: the test has no turns"),
        ],
      },
    },
  });
});

test.each([
  ["UTF-16", Buffer.from("\ufefftests: [{ name: a }]", "utf16le"), "is not UTF-8 (UTF-16?)"],
  [
    "two documents",
    "tests: [{ name: a }]\n---\na: 1\n",
    "line 2: expected one document, not a second one",
  ],
])("%s is refused in plain words", async (_, content, problem) => {
  await writeFile(join(folder, "suite.yaml"), content);
  const reading = readSuite(join(folder, "suite.yaml"), diskFiles);
  await expect(reading).rejects.toThrow(problem);
});

test("without defaults, answers are compared by similarity and nothing judges", async () => {
  const { tests } = await read("tests: [{ name: a }, { name: b, judge: grader }]");
  expect(tests).toMatchObject([
    {
      repeat: undefined,
      skip: false,
      only: false,
      turns: [{ answer: [], compare: "similar", similarity: 0.8, judge: undefined }],
    },
    { turns: [{ judge: { app: "grader", criteria: undefined, atLeast: 0.5 } }] },
  ]);
});
